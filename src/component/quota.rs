//! What objects count for in resource quotas: admission charges it, the controller adds it up.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::arena::Symbol;
use crate::model::{
    self, Opaque, PersistentVolumeClaimSpec, PodAffinityTerm, QosClass, ResourceList, ResourceQuotaSpec,
    ScopedResourceSelectorRequirement, ServiceSpec,
};
use crate::state::{AdmittedSpec, Meta, Pod, Store};
use crate::units::{Quantity, SimTime};

/// An object as quotas see it.
#[derive(Copy, Clone, Debug)]
pub enum Counted<'a> {
    /// A pod; what has ended, or should long be gone, uses nothing but its place among the objects.
    Pod {
        /// Its spec.
        spec: &'a AdmittedSpec,
        /// Whether it uses anything.
        is_live: bool,
    },
    /// A Service.
    Service(&'a ServiceSpec),
    /// A PersistentVolumeClaim.
    Claim(&'a PersistentVolumeClaimSpec),
    /// Any other object, by its resource: `deployments.apps`.
    Other(&'a str),
}

/// Resources of containers that quotas count under names of their own: as asked for, as limited.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Kinds that had a name among resources before `count/` was there.
const ALIASES: [(&str, &str); 4] = [
    ("configmaps", "configmaps"),
    ("resourcequotas", "resourcequotas"),
    ("replicationcontrollers", "replicationcontrollers"),
    ("secrets", "secrets"),
];

const BY_CLASS: &str = ".storageclass.storage.k8s.io/";

impl Counted<'_> {
    /// Its resource in the API.
    fn resource(&self) -> &str {
        match self {
            Self::Pod { .. } => "pods",
            Self::Service(_) => "services",
            Self::Claim(_) => "persistentvolumeclaims",
            Self::Other(resource) => resource,
        }
    }

    /// Whether objects of this kind can use a resource that a quota names.
    ///
    /// # Source
    /// kube-apiserver, `MatchingResources` of the evaluators.
    #[must_use]
    pub fn may_use(&self, name: &str) -> bool {
        if name.strip_prefix("count/").is_some_and(|resource| resource == self.resource()) {
            return true;
        }
        match self {
            Self::Pod { .. } => {
                let of_containers = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits."));
                name == "pods"
                    || COMPUTE.contains(&of_containers.unwrap_or(name))
                    || name.starts_with("hugepages-")
                    || name.starts_with("requests.hugepages-")
                    || is_extended(name)
            }
            Self::Service(_) => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
            Self::Claim(_) => {
                let name = name.split_once(BY_CLASS).map_or(name, |(_, name)| name);
                matches!(name, "persistentvolumeclaims" | "requests.storage")
            }
            Self::Other(resource) => ALIASES.contains(&(*resource, name)),
        }
    }

    /// What it uses.
    ///
    /// # Source
    /// kube-apiserver, `Usage` of the evaluators.
    #[must_use]
    pub fn usage(&self) -> ResourceList {
        let one = Quantity::from_value(1);
        let mut usage = ResourceList::default();
        usage.insert(Symbol::new(&format!("count/{}", self.resource())), one);
        match self {
            Self::Pod { is_live: false, .. } => {}
            Self::Pod { spec, is_live: true } => {
                let (requests, limits) = (model::requested(spec, true), model::limited(spec, true));
                add_compute(&mut usage, &requests, &limits);
            }
            Self::Service(spec) => add_service(&mut usage, spec),
            Self::Claim(spec) => add_claim(&mut usage, spec),
            Self::Other(resource) => {
                if ALIASES.iter().any(|(of, _)| of == resource) {
                    usage.insert(Symbol::new(resource), one);
                }
            }
        }
        usage
    }

    /// Whether a quota's scopes take it in; a quota with scopes takes in no object of a kind that has none.
    ///
    /// # Source
    /// kube-apiserver, `podMatchesScopeFunc`, `MatchesNoScopeFunc`.
    ///
    /// # Differs
    /// Attribute classes of volumes are not modelled: a quota of that scope takes in no claim.
    #[must_use]
    pub fn is_in_scope(&self, quota: &ResourceQuotaSpec) -> bool {
        let selectors = quota.scope_selector.iter().flat_map(|selector| &selector.match_expressions);
        match self {
            Self::Pod { spec, .. } => {
                let exists = |scope: &Symbol| in_scope(spec, scope.as_str(), None);
                quota.scopes.iter().all(exists) && {
                    let mut selectors = selectors;
                    selectors.all(|selector| in_scope(spec, selector.scope_name.as_str(), Some(selector)))
                }
            }
            _ => quota.scopes.is_empty() && selectors.count() == 0,
        }
    }
}

/// `requests.example.com/gpu`.
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    name.starts_with("requests.") && (!is_native || name.starts_with("requests.deviceclass.resource.kubernetes.io/"))
}

/// What containers with these requests and limits count for.
///
/// # Source
/// kube-apiserver, `podComputeUsageHelper`.
pub fn add_compute(usage: &mut ResourceList, requests: &ResourceList, limits: &ResourceList) {
    usage.insert(Symbol::new("pods"), Quantity::from_value(1));
    for (name, amount) in requests.iter() {
        let text = name.as_str();
        let is_extended = text.contains('/') && !text.contains("kubernetes.io/") && !text.starts_with("requests.");
        if COMPUTE.contains(&text) || text.starts_with("hugepages-") {
            usage.insert(name, *amount);
        }
        if COMPUTE.contains(&text) || text.starts_with("hugepages-") || is_extended {
            usage.insert(Symbol::new(&format!("requests.{text}")), *amount);
        }
    }
    for (name, amount) in limits.iter().filter(|(name, _)| COMPUTE.contains(&name.as_str())) {
        usage.insert(Symbol::new(&format!("limits.{name}")), *amount);
    }
}

fn written(opaque: Opaque) -> Value {
    serde_json::from_str(opaque.as_json()).unwrap_or_default()
}

fn add_service(usage: &mut ResourceList, spec: &ServiceSpec) {
    let ports = written(spec.ports);
    let ports = ports.as_array().map_or(&[] as &[Value], Vec::as_slice);
    let with_node_port = ports.iter().filter(|port| port["nodePort"].as_i64().is_some_and(|number| number != 0));
    let allocates = written(spec.allocate_load_balancer_node_ports) != Value::Bool(false);
    let (node_ports, balancers) = match spec.service_type.map_or("", Symbol::as_str) {
        "NodePort" => (ports.len(), 0),
        "LoadBalancer" if allocates => (ports.len(), 1),
        "LoadBalancer" => (with_node_port.count(), 1),
        _ => (0, 0),
    };
    let counts = [("services", 1), ("services.nodeports", node_ports), ("services.loadbalancers", balancers)];
    for (name, count) in counts {
        usage.insert(Symbol::new(name), Quantity::from_value(i64::try_from(count).unwrap_or(i64::MAX)));
    }
}

fn add_claim(usage: &mut ResourceList, spec: &PersistentVolumeClaimSpec) {
    let class = spec.storage_class_name.filter(|class| !class.is_empty());
    let storage = spec.resources.requests.get(Symbol::new("storage"));
    // Bytes are whole.
    let storage = storage.map(|size| Quantity::from_value(size.value()).with_format(size.format()));
    let amounts = [("persistentvolumeclaims", Some(Quantity::from_value(1))), ("requests.storage", storage)];
    for (name, amount) in amounts {
        let Some(amount) = amount else { continue };
        usage.insert(Symbol::new(name), amount);
        if let Some(class) = class {
            usage.insert(Symbol::new(&format!("{class}{BY_CLASS}{name}")), amount);
        }
    }
}

fn in_scope(spec: &AdmittedSpec, scope: &str, selector: Option<&ScopedResourceSelectorRequirement>) -> bool {
    let is_terminating = spec.active_deadline_seconds.is_some_and(|seconds| seconds >= 0);
    let is_best_effort = spec.qos == QosClass::BestEffort;
    match scope {
        "Terminating" => is_terminating,
        "NotTerminating" => !is_terminating,
        "BestEffort" => is_best_effort,
        "NotBestEffort" => !is_best_effort,
        "PriorityClass" => {
            let class = spec.priority_class_name.filter(|class| !class.is_empty());
            let operator = selector.map_or("Exists", |selector| selector.operator.as_str());
            let is_listed = || selector.is_some_and(|s| class.is_some_and(|class| s.values.contains(&class)));
            match operator {
                "Exists" => class.is_some(),
                "DoesNotExist" => class.is_none(),
                "In" => is_listed(),
                _ => !is_listed(),
            }
        }
        "CrossNamespacePodAffinity" => reaches_other_namespaces(spec),
        _ => false,
    }
}

fn reaches_other_namespaces(spec: &AdmittedSpec) -> bool {
    let reaches = |term: &PodAffinityTerm| !term.namespaces.is_empty() || term.namespace_selector.is_some();
    let Some(affinity) = &spec.affinity else { return false };
    let terms = [&affinity.pod_affinity, &affinity.pod_anti_affinity].into_iter().flatten();
    terms.into_iter().any(|terms| {
        terms.required_during_scheduling_ignored_during_execution.iter().any(reaches)
            || terms
                .preferred_during_scheduling_ignored_during_execution
                .iter()
                .any(|weighted| reaches(&weighted.pod_affinity_term))
    })
}

/// Whether a pod uses what it asks for.
///
/// # Source
/// kube-apiserver, `QuotaV1Pod`: it has not ended, and the time by which it should be gone is not past by another grace period.
#[must_use]
pub fn is_live(pod: &Pod, now: SimTime) -> bool {
    !pod.phase.is_terminal() && pod.deletion.is_none_or(|deletion| now <= deletion.deadline + deletion.grace)
}

/// What the objects of a namespace use of what a quota names.
///
/// # Source
/// kube-controller-manager, resourcequota-controller, `CalculateUsage`.
#[must_use]
pub fn usage_in(store: &Store, namespace: Symbol, quota: &ResourceQuotaSpec, now: SimTime) -> ResourceList {
    let mut used: ResourceList = quota.hard.iter().map(|(name, _)| (name, Quantity::default())).collect();
    let mut add = |usage: &ResourceList| {
        for (name, amount) in usage.iter() {
            if let Some(sum) = used.get(name).copied() {
                used.insert(name, sum + *amount);
            }
        }
    };
    let tracks = |counted: Counted<'_>| quota.hard.iter().any(|(name, _)| counted.may_use(name.as_str()));
    // Pods of one template share a spec.
    let mut known: FxHashMap<(usize, bool), Option<ResourceList>> = FxHashMap::default();
    for pod in store.pods_in(namespace).iter().filter_map(|id| store.pod(*id)) {
        let is_live = is_live(pod, now);
        let usage = known.entry((Arc::as_ptr(&pod.spec) as usize, is_live)).or_insert_with(|| {
            let counted = Counted::Pod { spec: &pod.spec, is_live };
            (tracks(counted) && counted.is_in_scope(quota)).then(|| counted.usage())
        });
        if let Some(usage) = usage {
            add(usage);
        }
    }
    if !quota.scopes.is_empty() || quota.scope_selector.as_ref().is_some_and(|s| !s.match_expressions.is_empty()) {
        return used;
    }
    for (_, service) in store.services.iter().filter(|(_, service)| service.meta.namespace == namespace) {
        add(&Counted::Service(&service.spec).usage());
    }
    for (_, claim) in store.volumes.claims().filter(|(_, claim)| claim.meta.namespace == namespace) {
        add(&Counted::Claim(&claim.spec).usage());
    }
    for (name, _) in quota.hard.iter() {
        let text = name.as_str();
        let resource =
            text.strip_prefix("count/").or_else(|| ALIASES.iter().find(|(_, name)| *name == text).map(|of| of.0));
        if let Some(count) = resource.and_then(|resource| count_of(store, namespace, resource)) {
            used.insert(name, Quantity::from_value(i64::try_from(count).unwrap_or(i64::MAX)));
        }
    }
    used
}

/// How many objects of a resource a namespace holds; none for those that have been counted above.
fn count_of(store: &Store, namespace: Symbol, resource: &str) -> Option<usize> {
    let is_here = |meta: &Meta| meta.namespace == namespace;
    Some(match resource {
        "pods" | "services" | "persistentvolumeclaims" => return None,
        "deployments.apps" => store.deployments.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "daemonsets.apps" => store.daemon_sets.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "statefulsets.apps" => store.stateful_sets.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "jobs.batch" => store.jobs.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "cronjobs.batch" => store.cron_jobs.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "poddisruptionbudgets.policy" => store.budgets.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        "replicasets.apps" | "replicationcontrollers" => {
            let is_old = resource == "replicationcontrollers";
            let sets = store.replica_sets.iter();
            sets.filter(|(_, set)| is_here(&set.meta) && set.is_replication_controller == is_old).count()
        }
        "controllerrevisions.apps" => store.controller_revisions.iter().filter(|(_, o)| is_here(&o.meta)).count(),
        _ => {
            let stored = store.stored.iter().filter(|((_, of, _), _)| *of == namespace);
            stored.filter(|(_, stored)| stored.kind.resource() == *resource).count()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PodSpec;

    fn spec(text: &str) -> AdmittedSpec {
        let spec: PodSpec = serde_saphyr::from_str(text).expect("a spec");
        AdmittedSpec {
            annotations: Arc::default(),
            finalizers: Box::default(),
            requests: model::requests(&spec),
            non_zero_requests: model::non_zero_requests(&spec),
            non_zero_container_requests: model::non_zero_container_requests(&spec),
            qos: model::qos(&spec),
            priority: 0,
            spec,
        }
    }

    fn shown(list: &ResourceList) -> String {
        let amounts: Vec<String> = list.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        amounts.join(",")
    }

    #[test]
    fn a_pod_counts_under_every_name_that_quotas_have_for_it() {
        let spec = spec(
            "{containers: [{name: a, resources: {requests: {cpu: 100m, memory: 1Gi, example.com/gpu: 2}, limits: {cpu: 1}}}], \
             overhead: {cpu: 50m}}",
        );
        let usage = |is_live| shown(&Counted::Pod { spec: &spec, is_live }.usage());
        let expected = "count/pods=1,cpu=150m,limits.cpu=1050m,memory=1Gi,pods=1,requests.cpu=150m,\
                        requests.example.com/gpu=2,requests.memory=1Gi";
        assert_eq!(usage(true), expected);
        assert_eq!(usage(false), "count/pods=1");
    }

    #[test]
    fn services_and_claims_count_by_type_and_class() {
        let service = |text: &str| {
            let spec: ServiceSpec = serde_saphyr::from_str(text).expect("a spec");
            shown(&Counted::Service(&spec).usage())
        };
        let ports = "ports: [{port: 1, nodePort: 30000}, {port: 2}]";
        assert_eq!(
            service(&format!("{{type: LoadBalancer, {ports}}}")),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=2"
        );
        assert_eq!(
            service(&format!("{{type: LoadBalancer, allocateLoadBalancerNodePorts: false, {ports}}}")),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1"
        );
        let claim = "{storageClassName: fast, resources: {requests: {storage: 10Gi}}}";
        let claim: PersistentVolumeClaimSpec = serde_saphyr::from_str(claim).expect("a spec");
        assert_eq!(
            shown(&Counted::Claim(&claim).usage()),
            "count/persistentvolumeclaims=1,fast.storageclass.storage.k8s.io/persistentvolumeclaims=1,\
             fast.storageclass.storage.k8s.io/requests.storage=10Gi,persistentvolumeclaims=1,requests.storage=10Gi"
        );
    }

    #[test]
    fn scopes_take_in_pods_by_deadline_quality_and_class() {
        #[track_caller]
        fn check(spec: &AdmittedSpec, quota: &str, expected: bool) {
            let quota: ResourceQuotaSpec = serde_saphyr::from_str(quota).expect("a spec");
            assert_eq!(Counted::Pod { spec, is_live: true }.is_in_scope(&quota), expected, "{quota:?}");
        }
        let plain = spec("{containers: [{name: a}]}");
        check(&plain, "{}", true);
        check(&plain, "{scopes: [BestEffort, NotTerminating]}", true);
        check(&plain, "{scopes: [BestEffort, Terminating]}", false);
        check(&plain, "{scopes: [PriorityClass]}", false);
        let high = spec("{priorityClassName: high, activeDeadlineSeconds: 5, containers: [{name: a}]}");
        let by_class = |operator: &str, values: &str| {
            format!(
                "{{scopeSelector: {{matchExpressions: [{{scopeName: PriorityClass, operator: {operator}, values: [{values}]}}]}}}}"
            )
        };
        check(&high, "{scopes: [Terminating, PriorityClass]}", true);
        check(&high, &by_class("In", "low, high"), true);
        check(&plain, &by_class("In", "low, high"), false);
        check(&plain, &by_class("NotIn", "high"), true);
        check(&high, &by_class("DoesNotExist", ""), false);
    }

    #[test]
    fn kinds_use_the_resources_that_are_theirs() {
        let pod = spec("{containers: []}");
        let pod = Counted::Pod { spec: &pod, is_live: true };
        for name in ["cpu", "limits.memory", "requests.example.com/gpu", "count/pods", "hugepages-2Mi"] {
            assert!(pod.may_use(name), "{name}");
        }
        for name in ["services", "count/jobs.batch", "example.com/gpu", "requests.storage"] {
            assert!(!pod.may_use(name), "{name}");
        }
        assert!(Counted::Other("secrets").may_use("secrets") && !Counted::Other("jobs.batch").may_use("jobs.batch"));
        assert!(Counted::Other("jobs.batch").may_use("count/jobs.batch"));
    }
}
