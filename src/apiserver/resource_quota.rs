//! The admission plugin ResourceQuota: whether what is made fits, and what it then counts for.
//!
//! # Source
//! Admission plugin ResourceQuota. Quotas are gone through in the order of their names; the server's cache has none.
//!
//! # Differs
//! A request that is refused later on charges nothing; the real one leaves its charge until the quota is counted anew.

use std::collections::BTreeMap;

use super::session::Session;
use crate::arena::Symbol;
use crate::component::{ApiError, Counted, ErrorReason, add_quota_usage};
use crate::model::config::AdmissionPlugin;
use crate::model::{PodSpec, ResourceList};
use crate::state::{AdmittedSpec, Quota, QuotaKey, Store};
use crate::units::Quantity;

/// What quotas will have used once a request is carried out.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Charge(Vec<(QuotaKey, ResourceList)>);

impl Charge {
    /// Writes it down: the request was carried out.
    pub(super) fn commit(self, s: &mut Session<'_>) {
        for (key, used) in self.0 {
            if let Some(quota) = s.store.quotas.get_mut(&key) {
                quota.used = used;
                quota.version += 1;
            }
        }
    }
}

fn runs(s: &Session<'_>) -> bool {
    !s.store.quotas.is_empty() && s.config.kube_apiserver.admits_with(AdmissionPlugin::ResourceQuota)
}

fn of_namespace(store: &Store, namespace: Symbol) -> impl Iterator<Item = (QuotaKey, &Quota)> {
    let from = store.quotas.range((namespace, Symbol::empty())..);
    from.take_while(move |((of, _), _)| *of == namespace).map(|(key, quota)| (*key, quota))
}

/// A new pod.
///
/// # Errors
/// 403, if it does not fit.
pub(super) fn pod(s: &Session<'_>, namespace: Symbol, name: &str, spec: &AdmittedSpec) -> Result<Charge, ApiError> {
    charge(s, namespace, ("pods", name), Counted::Pod { spec, is_live: true }, None)
}

/// An object that is made, by its namespace, resource and name, if only the number of such objects counts.
///
/// # Errors
/// 403, if it does not fit.
pub(super) fn object(s: &Session<'_>, made: (Symbol, &str, &str)) -> Result<Charge, ApiError> {
    let (namespace, resource, name) = made;
    // These are charged where they are made, once their defaults are set.
    if matches!(resource, "pods" | "services" | "persistentvolumeclaims") {
        return Ok(Charge::default());
    }
    charge(s, namespace, (resource, name), Counted::Other(resource), None)
}

/// What an object, which is made or takes the place of another, does to the quotas of its namespace.
///
/// # Source
/// `CheckRequest`.
///
/// # Errors
/// 403, if it does not fit.
pub(super) fn charge(
    s: &Session<'_>,
    namespace: Symbol,
    (resource, name): (&str, &str),
    new: Counted<'_>,
    old: Option<Counted<'_>>,
) -> Result<Charge, ApiError> {
    if !runs(s) {
        return Ok(Charge::default());
    }
    let forbidden =
        |why: String| Err(ApiError::new(ErrorReason::Forbidden, format!("{resource} \"{name}\" is forbidden: {why}")));
    let mut interested = Vec::new();
    for (key, quota) in of_namespace(s.store, namespace) {
        let names: Vec<Symbol> = quota.hard.iter().map(|(name, _)| name).filter(|n| new.may_use(n.as_str())).collect();
        if names.is_empty() || !new.is_in_scope(&quota.spec) {
            continue;
        }
        if let Counted::Pod { spec, .. } = new
            && let Some(missing) = unnamed(spec, &names)
        {
            return forbidden(format!("failed quota: {}: must specify {missing}", key.1));
        }
        if names.iter().any(|name| !quota.used.contains(*name)) {
            let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
            return forbidden(format!("status unknown for quota: {}, resources: {}", key.1, names.join(",")));
        }
        interested.push((key, quota));
    }
    let mut charge = Charge::default();
    let usage = if interested.is_empty() { ResourceList::default() } else { new.usage() };
    let before = old.map(|old| (old, old.usage()));
    for (key, quota) in interested {
        let was_counted = before.as_ref().filter(|(old, _)| old.is_in_scope(&quota.spec)).map(|(_, usage)| usage);
        let more = more(&usage, was_counted, &quota.hard);
        if more.is_empty() {
            continue;
        }
        let mut used = quota.used.clone();
        let mut exceeded = Vec::new();
        for (name, amount) in &more {
            let sum = quota.used.get(*name).copied().unwrap_or_default() + *amount;
            used.insert(*name, sum);
            if quota.hard.get(*name).is_some_and(|hard| sum > *hard) {
                exceeded.push(*name);
            }
        }
        if !exceeded.is_empty() {
            let more: ResourceList = more.into_iter().collect();
            let [requested, used, limited] = [&more, &quota.used, &quota.hard].map(|list| shown(list, &exceeded));
            let why = format!("exceeded quota: {}, requested: {requested}, used: {used}, limited: {limited}", key.1);
            return forbidden(why);
        }
        charge.0.push((key, used));
    }
    Ok(charge)
}

/// What comes on top of what was counted, of the resources that are enforced.
fn more(usage: &ResourceList, before: Option<&ResourceList>, hard: &ResourceList) -> Vec<(Symbol, Quantity)> {
    let named = usage.iter().filter(|(name, _)| hard.contains(*name));
    named
        .filter_map(|(name, amount)| {
            let before = before.and_then(|before| before.get(name)).copied().unwrap_or_default();
            (*amount > before).then(|| (name, *amount - before))
        })
        .collect()
}

fn shown(list: &ResourceList, names: &[Symbol]) -> String {
    let amounts: Vec<String> =
        names.iter().filter_map(|name| list.get(*name).map(|amount| format!("{name}={amount}"))).collect();
    amounts.join(",")
}

/// What containers must name because a quota counts it, and which do not; none if all is named.
///
/// # Source
/// `podEvaluator.Constraints`.
fn unnamed(spec: &PodSpec, names: &[Symbol]) -> Option<String> {
    const NAMED: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
    let is_pod_level = |list: &ResourceList| {
        let mut names = list.iter().map(|(name, _)| name.as_str());
        names.any(|name| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-"))
    };
    if spec.resources.as_ref().is_some_and(|own| is_pod_level(&own.requests) || is_pod_level(&own.limits)) {
        return None;
    }
    let mut missing: BTreeMap<Symbol, Vec<&str>> = BTreeMap::new();
    for container in spec.containers.iter().chain(&spec.init_containers) {
        let mut usage = ResourceList::default();
        add_quota_usage(&mut usage, &container.resources.requests, &container.resources.limits);
        for name in names.iter().filter(|name| NAMED.contains(&name.as_str()) && !usage.contains(**name)) {
            missing.entry(*name).or_default().push(container.name.as_str());
        }
    }
    if missing.is_empty() {
        return None;
    }
    let each = missing.into_iter().map(|(name, mut containers)| {
        containers.sort_unstable();
        containers.dedup();
        format!("{name} for: {}", containers.join(","))
    });
    Some(each.collect::<Vec<_>>().join("; "))
}
