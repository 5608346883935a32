//! Probes and hooks.

use serde_json::Value;

use super::error::Errors;
use super::format;
use super::opaque::{Written, items, text};
use super::path::Path;
use crate::model::{Lifecycle, LifecycleHandler, Opaque, Probe};

/// # Source
///
/// kube-apiserver, `validateProbe`, `validateLivenessProbe`, `validateReadinessProbe`, `validateStartupProbe`.
pub(super) fn probe(probe: &Probe, is_readiness: bool, path: &Path<'_>, e: &mut Errors) {
    let handlers =
        [("exec", probe.exec), ("httpGet", probe.http_get), ("tcpSocket", probe.tcp_socket), ("grpc", probe.grpc)];
    let count = handle(&handlers, path, e);
    if count == 0 {
        e.required(path, "must specify a handler type");
    }
    for (field, value) in [
        ("initialDelaySeconds", Some(probe.initial_delay_seconds)),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        e.non_negative(&path.child(field), value.unwrap_or(0));
    }
    let grace = probe.termination_grace_period_seconds;
    let grace_path = path.child("terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| *grace <= 0) {
        e.invalid(&grace_path, &grace, "must be greater than 0");
    }
    match (is_readiness, grace) {
        (true, Some(grace)) => e.invalid(&grace_path, &grace, "must not be set for readinessProbes"),
        (true, None) => {}
        (false, _) => {
            // 0 is what the server puts 1 for.
            if let Some(threshold) = probe.success_threshold.filter(|threshold| !matches!(threshold, 0 | 1)) {
                e.invalid(&path.child("successThreshold"), &threshold, "must be 1");
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateLifecycle`.
pub(super) fn lifecycle(lifecycle: &Lifecycle, grace_period: i64, path: &Path<'_>, e: &mut Errors) {
    for (field, hook) in [("postStart", &lifecycle.post_start), ("preStop", &lifecycle.pre_stop)] {
        if let Some(hook) = hook {
            self::hook(hook, grace_period, &path.child(field), e);
        }
    }
}

fn hook(hook: &LifecycleHandler, grace_period: i64, path: &Path<'_>, e: &mut Errors) {
    let handlers = [("exec", hook.exec), ("httpGet", hook.http_get), ("tcpSocket", hook.tcp_socket)];
    let count = handle(&handlers, path, e);
    match &hook.sleep {
        None if count == 0 => e.required(path, "must specify a handler type"),
        None => {}
        Some(_) if count > 0 => e.forbidden(&path.child("sleep"), "may not specify more than 1 handler type"),
        Some(sleep) if (0..=grace_period).contains(&sleep.seconds) => {}
        Some(sleep) => {
            let detail = "must be non-negative and less than terminationGracePeriodSeconds";
            e.invalid(&path.child("sleep"), &sleep.seconds, std::format!("{detail} ({grace_period})"));
        }
    }
}

/// Checks handlers, of which only the first may be set; returns how many are.
///
/// # Source
///
/// kube-apiserver, `validateHandler`.
fn handle(handlers: &[(&str, Opaque)], path: &Path<'_>, e: &mut Errors) -> usize {
    let mut count = 0;
    for (field, handler) in handlers.iter().filter(|(_, handler)| !handler.is_none()) {
        let path = path.child(field);
        count += 1;
        if count > 1 {
            e.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        let handler = Written::of(*handler);
        match *field {
            "exec" if items(&handler["command"]).is_empty() => e.required(&path.child("command"), ""),
            "exec" => {}
            "httpGet" => http_get(&handler, &path, e),
            _ => port(&handler["port"], &path.child("port"), e),
        }
    }
    count
}

fn http_get(handler: &Value, path: &Path<'_>, e: &mut Errors) {
    port(&handler["port"], &path.child("port"), e);
    let scheme = text(handler, "scheme");
    if !matches!(scheme, "" | "HTTP" | "HTTPS") {
        e.not_supported(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in items(&handler["httpHeaders"]) {
        let name = text(header, "name");
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            let detail = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', \
                          regex used for validation is '[-A-Za-z0-9]+')";
            e.invalid(&path.child("httpHeaders"), name, detail);
        }
    }
}

/// A port by number or by name.
///
/// # Source
///
/// kube-apiserver, `ValidatePortNumOrName`.
pub(super) fn port(value: &Value, path: &Path<'_>, e: &mut Errors) {
    if let Some(name) = value.as_str() {
        return e.texts(path, name, format::port_name(name));
    }
    let number = value.as_i64().unwrap_or(0);
    if let Some(problem) = format::port_number(number) {
        e.invalid(path, &number, problem);
    }
}
