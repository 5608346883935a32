//! Services.

use serde_json::Value;

use super::error::{Errors, Raw};
use super::opaque::{Written, has, items, text};
use super::path::Path;
use super::{format, metadata};
use crate::model::{Opaque, Service, ServiceSpec};

/// Words that a Service's type may be.
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// The longest time that a client may stick to a pod, in seconds.
const AFFINITY_TIMEOUT_MAX: i64 = 86_400;

fn service_type(spec: &ServiceSpec) -> &str {
    spec.service_type.as_ref().map_or("ClusterIP", |word| word.as_str())
}

fn is_headless(spec: &ServiceSpec) -> bool {
    spec.cluster_ip.is_some_and(|address| address == "None")
}

/// Whether it can be reached from outside of the cluster by a port of nodes or a balancer.
fn is_external(spec: &ServiceSpec) -> bool {
    let has_addresses = !items(&Written::of(spec.external_ips)).is_empty();
    match service_type(spec) {
        "LoadBalancer" | "NodePort" => true,
        kind => kind == "ClusterIP" && has_addresses,
    }
}

/// # Source
///
/// kube-apiserver, `validateService`; address families are not modelled.
pub(super) fn validate(service: &Service, e: &mut Errors) {
    let path = &Path::ROOT.child("spec");
    let spec = &service.spec;
    let written = Written::of(spec.ports);
    let list = items(&written);
    let kind = service_type(spec);
    if list.is_empty() && !is_headless(spec) && kind != "ExternalName" {
        e.required(&path.child("ports"), "");
    }
    if is_headless(spec) && matches!(kind, "LoadBalancer" | "NodePort") {
        let detail = std::format!("may not be set to 'None' for {kind} services");
        e.invalid(&path.child("clusterIPs").index(0), "None", detail);
    }
    if kind == "ExternalName" {
        external_name(spec, path, e);
    }
    let ports = path.child("ports");
    for (index, port) in list.iter().enumerate() {
        self::port(port, &list[..index], list.len() > 1, &ports.index(index), e);
    }
    metadata::labels(&spec.selector, &path.child("selector"), e);
    session_affinity(spec, path, e);
    cluster_address(spec, path, e);
    addresses(spec, path, e);
    if !TYPES.contains(&kind) {
        e.not_supported(&path.child("type"), kind, &TYPES);
    }
    node_ports(list, kind, &ports, e);
    balancer(spec, kind, path, e);
    traffic(spec, path, e);
}

fn external_name(spec: &ServiceSpec, path: &Path<'_>, e: &mut Errors) {
    let name = spec.external_name.unwrap_or_default();
    let name = name.as_str().strip_suffix('.').unwrap_or(name.as_str());
    if name.is_empty() {
        e.required(&path.child("externalName"), "");
    } else {
        e.texts(&path.child("externalName"), name, format::dns_subdomain(name));
    }
}

/// # Source
///
/// kube-apiserver, `validateServicePort` and `ValidatePortNumOrName`.
fn port(port: &Value, earlier: &[Value], needs_name: bool, path: &Path<'_>, e: &mut Errors) {
    let name = text(port, "name");
    if name.is_empty() && needs_name {
        e.required(&path.child("name"), "");
    } else if !name.is_empty() {
        e.texts(&path.child("name"), name, format::dns_label(name));
        if earlier.iter().any(|other| text(other, "name") == name) {
            e.duplicate(&path.child("name"), name);
        }
    }
    let number = port["port"].as_i64().unwrap_or(0);
    if let Some(problem) = format::port_number(number) {
        e.invalid(&path.child("port"), &number, problem);
    }
    let protocol = text(port, "protocol");
    if !matches!(protocol, "" | "TCP" | "UDP" | "SCTP") {
        e.not_supported(&path.child("protocol"), protocol, &["SCTP", "TCP", "UDP"]);
    }
    let target = path.child("targetPort");
    match &port["targetPort"] {
        Value::String(name) if !name.is_empty() => e.texts(&target, name, format::port_name(name)),
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(0);
            if let Some(problem) = format::port_number(number).filter(|_| number != 0) {
                e.invalid(&target, &number, problem);
            }
        }
        _ => {}
    }
    let protocol = text(port, "appProtocol");
    if has(port, "appProtocol") {
        e.texts(&path.child("appProtocol"), protocol, format::qualified_name(protocol));
    }
}

/// What of ports depends on each other and on the type.
fn node_ports(list: &[Value], kind: &str, ports: &Path<'_>, e: &mut Errors) {
    let of_nodes = |port: &Value| port["nodePort"].as_i64().filter(|number| *number != 0);
    let protocol = |port: &Value| match text(port, "protocol") {
        "" => "TCP".to_owned(),
        protocol => protocol.to_owned(),
    };
    if kind == "ClusterIP" {
        for (index, _) in list.iter().enumerate().filter(|(_, port)| of_nodes(port).is_some()) {
            let path = ports.index(index);
            e.forbidden(&path.child("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    for (index, port) in list.iter().enumerate() {
        let Some(number) = of_nodes(port) else { continue };
        let is_taken = |other: &Value| of_nodes(other) == Some(number) && protocol(other) == protocol(port);
        if list[..index].iter().any(is_taken) {
            e.duplicate(&ports.index(index).child("nodePort"), &number);
        }
    }
    for (index, port) in list.iter().enumerate() {
        let key = |port: &Value| (port["port"].as_i64().unwrap_or(0), protocol(port));
        if list[..index].iter().any(|other| key(other) == key(port)) {
            // The server prints its own form of a port, whose fields have the names of the code.
            let (number, protocol) = key(port);
            let shown = std::format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            e.duplicate(&ports.index(index), &Raw(shown));
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateClientIPAffinityConfig`; who asks for no affinity has no configuration of it, as defaulting drops
/// what stands there.
fn session_affinity(spec: &ServiceSpec, path: &Path<'_>, e: &mut Errors) {
    let word = spec.session_affinity.unwrap_or_default();
    if !matches!(word.as_str(), "" | "None" | "ClientIP") {
        e.not_supported(&path.child("sessionAffinity"), word.as_str(), &["ClientIP", "None"]);
    }
    if word != "ClientIP" {
        return;
    }
    let config = Written::of(spec.session_affinity_config);
    if let Some(seconds) = config["clientIP"]["timeoutSeconds"].as_i64()
        && !(1..=AFFINITY_TIMEOUT_MAX).contains(&seconds)
    {
        let path = path.child("sessionAffinityConfig");
        let path = path.child("clientIP");
        let detail = std::format!("must be greater than 0 and less than {AFFINITY_TIMEOUT_MAX}");
        e.invalid(&path.child("timeoutSeconds"), &seconds, detail);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateService`: addresses of others.
fn addresses(spec: &ServiceSpec, path: &Path<'_>, e: &mut Errors) {
    let list = path.child("externalIPs");
    for (index, address) in items(&Written::of(spec.external_ips)).iter().enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address.parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            e.invalid(&list.index(index), address, detail);
        }
    }
    let list = path.child("loadBalancerSourceRanges");
    for (index, range) in items(&Written::of(spec.load_balancer_source_ranges)).iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        let is_range = range.split_once('/').is_some_and(|(address, length)| {
            let bits = match address.parse::<std::net::IpAddr>() {
                Ok(address) if address.is_ipv4() => 32,
                Ok(_) => 128,
                Err(_) => return false,
            };
            length.parse::<u8>().is_ok_and(|length| length <= bits)
        });
        if !is_range {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            e.invalid(&list.index(index), range, detail);
        }
    }
}

fn cluster_address(spec: &ServiceSpec, path: &Path<'_>, e: &mut Errors) {
    let Some(address) = spec.cluster_ip.filter(|address| !matches!(address.as_str(), "" | "None")) else { return };
    if service_type(spec) == "ExternalName" {
        e.forbidden(&path.child("clusterIPs"), "may not be set for ExternalName services");
    } else if address.as_str().parse::<std::net::IpAddr>().is_err() {
        let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        e.invalid(&path.child("clusterIPs").index(0), &address, detail);
    }
}

fn balancer(spec: &ServiceSpec, kind: &str, path: &Path<'_>, e: &mut Errors) {
    if kind == "LoadBalancer" {
        return;
    }
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    if !items(&Written::of(spec.load_balancer_source_ranges)).is_empty() {
        e.forbidden(&path.child("LoadBalancerSourceRanges"), ONLY);
    }
    if !spec.allocate_load_balancer_node_ports.is_none() {
        e.forbidden(&path.child("allocateLoadBalancerNodePorts"), ONLY);
    }
    if !spec.load_balancer_class.is_none() {
        e.forbidden(&path.child("loadBalancerClass"), ONLY);
    }
}

/// # Source
///
/// kube-apiserver, `validateServiceExternalTrafficPolicy`, `validateServiceInternalTrafficFieldsValue` and
/// `validateServiceTrafficDistribution`.
fn traffic(spec: &ServiceSpec, path: &Path<'_>, e: &mut Errors) {
    let word = |written: Opaque| Written::of(written).as_str().unwrap_or_default().to_owned();
    let external = word(spec.external_traffic_policy);
    let at = path.child("externalTrafficPolicy");
    if !external.is_empty() && !is_external(spec) {
        e.invalid(&at, external.as_str(), "may only be set for externally-accessible services");
    } else if !matches!(external.as_str(), "" | "Cluster" | "Local") {
        e.not_supported(&at, &external, &["Cluster", "Local"]);
    }
    let health = Written::of(spec.health_check_node_port).as_i64().unwrap_or(0);
    let needs_health = service_type(spec) == "LoadBalancer" && external == "Local";
    let at = path.child("healthCheckNodePort");
    if !needs_health && health != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        e.invalid(&at, &health, detail);
    } else if let Some(problem) = format::port_number(health).filter(|_| health != 0) {
        e.invalid(&at, &health, problem);
    }
    let internal = word(spec.internal_traffic_policy);
    if !matches!(internal.as_str(), "" | "Cluster" | "Local") {
        e.not_supported(&path.child("internalTrafficPolicy"), &internal, &["Cluster", "Local"]);
    }
    let distribution = word(spec.traffic_distribution);
    const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if !distribution.is_empty() && !DISTRIBUTIONS.contains(&distribution.as_str()) {
        e.not_supported(&path.child("trafficDistribution"), &distribution, &DISTRIBUTIONS);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateServiceUpdate` and `validateUpgradeDowngradeClusterIPs`. An address that is not written stays,
/// and one that the server gave is another than any that is written.
pub(super) fn validate_update(new: &Service, old: &Service, e: &mut Errors) {
    let is_name = |service: &Service| service_type(&service.spec) == "ExternalName";
    let written = |service: &Service| service.spec.cluster_ip.filter(|address| !address.is_empty());
    if !is_name(new) && !is_name(old) {
        let path = Path::ROOT.child("spec");
        let path = path.child("clusterIPs");
        match (written(new), written(old)) {
            // Addresses are not given out here: the server has one for a Service that names none.
            (Some(now), before) if before.is_none_or(|before| before != now) => {
                e.invalid(&path.index(0), &super::error::Json(&[now]), "may not change once set");
            }
            (None, Some(_)) if is_headless(&old.spec) => {
                let none: [&str; 0] = [];
                e.invalid(&path.index(0), &super::error::Json(&none), "primary clusterIP can not be unset");
            }
            _ => {}
        }
    }
    let mut new = new.clone();
    new.spec.drop_type_dependent(&old.spec);
    validate(&new, e);
}
