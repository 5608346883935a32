//! Admission: what the API server adds to a pod or a node before it is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::finalizers::foreign;
use super::session::Session;
use super::subject::Subject;
use super::{limit_ranger, opt_in};
use crate::arena::Symbol;
use crate::component::{ApiError, Config};
use crate::model::config::AdmissionPlugin;
use crate::model::{
    self, Labels, ObjectKind, PodAnnotations, PodSpec, PodTemplateSpec, PreemptionPolicy, TaintEffect, Toleration,
    TolerationOperator,
};
use crate::state::{AdmittedSpec, PriorityClass, Store, TaintOnNode};

/// Admitted specs by template, so that the pods of one template share one.
#[derive(Clone, Debug, Default)]
pub(super) struct AdmissionCache {
    /// By address of the template, which is kept alive here, and by whether the pod is pinned to a node.
    by_template: FxHashMap<(usize, bool), (Arc<PodTemplateSpec>, Arc<AdmittedSpec>)>,
    /// By content, for pods of dumps.
    by_content: FxHashMap<String, Arc<AdmittedSpec>>,
    /// Annotations of pods of dumps.
    annotations: FxHashSet<Arc<BTreeMap<Symbol, Symbol>>>,
}

impl AdmissionCache {
    /// Forgets everything: a priority class or a namespace has changed.
    pub(super) fn clear(&mut self) {
        self.by_template.clear();
        self.by_content.clear();
        self.annotations.clear();
    }

    /// The admitted spec of a template.
    pub(super) fn admit(
        &mut self,
        s: &Session<'_>,
        template: &Arc<PodTemplateSpec>,
        is_pinned: bool,
        subject: &Subject<'_>,
    ) -> Result<Arc<AdmittedSpec>, ApiError> {
        let key = (Arc::as_ptr(template) as usize, is_pinned);
        if let Some((_, spec)) = self.by_template.get(&key) {
            return Ok(Arc::clone(spec));
        }
        let mut spec = template.spec.clone();
        if is_pinned {
            drop_required_node_affinity(&mut spec);
        }
        let annotations = Arc::new(template.metadata.annotations.clone());
        let mut admitted = admit(s, spec, annotations, &template.metadata.labels, subject)?;
        admitted.finalizers = foreign(&template.metadata.finalizers);
        let admitted = Arc::new(admitted);
        self.by_template.insert(key, (Arc::clone(template), Arc::clone(&admitted)));
        Ok(admitted)
    }

    /// Annotations of a pod that comes with its own which its admitted spec does not hold: no rule reads them of every pod, and those of
    /// siblings differ. Equal ones are shared.
    pub(super) fn own_annotations(
        &mut self,
        metadata: &model::ObjectMeta,
        admitted: &AdmittedSpec,
    ) -> Option<Arc<BTreeMap<Symbol, Symbol>>> {
        let own = metadata.annotations.iter().filter(|(key, _)| !admitted.annotations.contains_key(*key));
        let own: BTreeMap<Symbol, Symbol> = own.map(|(key, value)| (*key, *value)).collect();
        if own.is_empty() {
            return None;
        }
        let shared = self.annotations.get(&own).cloned();
        Some(shared.unwrap_or_else(|| {
            let own = Arc::new(own);
            self.annotations.insert(Arc::clone(&own));
            own
        }))
    }

    /// The admitted spec of a pod that comes with its own; equal specs are shared.
    pub(super) fn admit_own(
        &mut self,
        s: &Session<'_>,
        spec: PodSpec,
        metadata: &model::ObjectMeta,
        subject: &Subject<'_>,
    ) -> Result<Arc<AdmittedSpec>, ApiError> {
        let rules = metadata.annotations.iter().filter(|(key, _)| PodAnnotations::is_rule(**key));
        let annotations: BTreeMap<Symbol, Symbol> = rules.map(|(key, value)| (*key, *value)).collect();
        let identity =
            (&spec, &annotations, &metadata.finalizers, subject.is_new, subject.is_asked, metadata.namespace);
        let text = serde_json::to_string(&identity).unwrap_or_default();
        if let Some(shared) = self.by_content.get(&text) {
            return Ok(Arc::clone(shared));
        }
        let mut admitted = admit(s, spec, Arc::new(annotations), &metadata.labels, subject)?;
        admitted.finalizers = foreign(&metadata.finalizers);
        let admitted = Arc::new(admitted);
        self.by_content.insert(text, Arc::clone(&admitted));
        Ok(admitted)
    }
}

/// Takes away the affinity that a daemon pod's own term replaces.
fn drop_required_node_affinity(spec: &mut PodSpec) {
    if let Some(affinity) = &mut spec.affinity
        && let Some(node_affinity) = &mut affinity.node_affinity
    {
        node_affinity.required_during_scheduling_ignored_during_execution = None;
    }
}

fn admit(
    s: &Session<'_>,
    mut spec: PodSpec,
    mut annotations: Arc<BTreeMap<Symbol, Symbol>>,
    labels: &Labels,
    subject: &Subject<'_>,
) -> Result<AdmittedSpec, ApiError> {
    let runs = |plugin: AdmissionPlugin| s.config.kube_apiserver.admits_with(plugin);
    spec.node_name = None;
    spec.apply_defaults();
    spec.apply_pod_defaults();
    if subject.is_new {
        limit_ranger::set_defaults(s, subject.namespace, &mut spec, &mut annotations);
    }
    let priority = if runs(AdmissionPlugin::Priority) {
        resolve_priority(s.store, &mut spec, subject)?
    } else {
        spec.priority.unwrap_or(0)
    };
    if runs(AdmissionPlugin::DefaultTolerationSeconds) {
        default_toleration_seconds(s.config, &mut spec);
    }
    if subject.is_new {
        opt_in::admit(s, &mut spec, subject)?;
        if runs(AdmissionPlugin::RuntimeClass) {
            runtime_class(s.store, &mut spec, subject)?;
        }
    }
    spec.merge_affinity_label_keys(labels);
    if s.config.version.at_least(34) {
        spec.merge_spread_label_keys(labels);
    }
    if subject.is_new && subject.is_asked {
        let errors = model::validation::validate_merged_label_keys(&spec);
        if !errors.is_empty() {
            return Err(ApiError::invalid(ObjectKind::Pod, subject.name, &errors));
        }
    }
    Ok(AdmittedSpec {
        requests: model::requests(&spec),
        non_zero_requests: model::non_zero_requests(&spec),
        non_zero_container_requests: model::non_zero_container_requests(&spec),
        qos: model::qos(&spec),
        priority,
        annotations: Arc::new(Arc::unwrap_or_clone(annotations).into()),
        finalizers: Box::default(),
        spec,
    })
}

/// What a class says of the pods that name it.
struct Established {
    value: i32,
    policy: PreemptionPolicy,
}

impl Established {
    fn by(class: &PriorityClass) -> Self {
        let policy =
            if class.never_preempts { PreemptionPolicy::Never } else { PreemptionPolicy::PreemptLowerPriority };
        Self { value: class.value, policy }
    }

    fn built_in(name: Symbol) -> Option<Self> {
        let (_, value) = model::SYSTEM_PRIORITY_CLASSES.into_iter().find(|(known, _)| name == *known)?;
        Some(Self { value, policy: PreemptionPolicy::PreemptLowerPriority })
    }
}

/// # Source
/// Admission plugin Priority: the class decides; without one the global default, of several that of the lowest value, else 0.
/// What a new pod says itself of priority and policy must be the same.
fn resolve_priority(store: &Store, spec: &mut PodSpec, subject: &Subject<'_>) -> Result<i32, ApiError> {
    // A dump holds resolved priorities whose class may have changed since, or is not part of it.
    let own = spec.priority.filter(|_| !subject.is_new || (spec.priority_class_name.is_none() && !subject.is_asked));
    let established = match spec.priority_class_name {
        Some(name) => match store.priority_class(name).map(Established::by).or_else(|| Established::built_in(name)) {
            Some(established) => established,
            None if own.is_some() => Established { value: 0, policy: PreemptionPolicy::PreemptLowerPriority },
            None => return Err(subject.forbidden(&format!("no PriorityClass with name {name} was found"))),
        },
        None if own.is_some() => Established { value: 0, policy: PreemptionPolicy::PreemptLowerPriority },
        None => match global_default(store) {
            Some(class) => {
                spec.priority_class_name = Some(class.name);
                Established::by(class)
            }
            None => Established { value: 0, policy: PreemptionPolicy::PreemptLowerPriority },
        },
    };
    if subject.is_new && subject.is_asked {
        must_be_the_same(spec, &established, subject)?;
    }
    let value = own.unwrap_or(established.value);
    spec.priority = Some(value);
    spec.preemption_policy.get_or_insert(established.policy);
    Ok(value)
}

/// The class of pods that name none.
pub(super) fn global_default(store: &Store) -> Option<&PriorityClass> {
    let defaults = store.priority_classes.iter().map(|(_, class)| class).filter(|class| class.global_default);
    defaults.min_by_key(|class| class.value)
}

fn must_be_the_same(spec: &PodSpec, established: &Established, subject: &Subject<'_>) -> Result<(), ApiError> {
    let computed = "priority admission controller computed";
    if let Some(own) = spec.priority.filter(|own| *own != established.value) {
        return Err(subject.forbidden(&format!(
            "the integer value of priority ({own}) must not be provided in pod spec; {computed} {} from the given \
             PriorityClass name",
            established.value
        )));
    }
    if let Some(own) = spec.preemption_policy.filter(|own| *own != established.policy) {
        return Err(subject.forbidden(&format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; {computed} {} from the given \
             PriorityClass name",
            established.policy
        )));
    }
    Ok(())
}

/// Why a pod may not name an overhead of its own.
const OVERHEAD_WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// # Source
/// Admission plugin RuntimeClass: the class's overhead, node selector and tolerations become the pod's.
///
/// # Differs
/// A class that is not in the input is taken to exist and to add nothing: dumps seldom hold classes. Of tolerations that cover
/// one another both stay.
fn runtime_class(store: &Store, spec: &mut PodSpec, subject: &Subject<'_>) -> Result<(), ApiError> {
    let Some(class) = spec.runtime_class_name.and_then(|name| store.runtime_classes.get(&name)) else {
        if spec.runtime_class_name.is_none() && !spec.overhead.is_empty() && subject.is_asked {
            return Err(subject.forbidden(OVERHEAD_WITHOUT_CLASS));
        }
        return Ok(());
    };
    match &class.overhead {
        Some(overhead) if spec.overhead.is_empty() => spec.overhead = overhead.pod_fixed.clone(),
        Some(overhead) if spec.overhead != overhead.pod_fixed => {
            return Err(subject.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"));
        }
        None if !spec.overhead.is_empty() => {
            return Err(subject.forbidden(OVERHEAD_WITHOUT_CLASS));
        }
        _ => {}
    }
    let Some(scheduling) = &class.scheduling else { return Ok(()) };
    for (key, value) in scheduling.node_selector.iter() {
        if let Some(own) = spec.node_selector.get(key).filter(|own| *own != value) {
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            );
            return Err(subject.forbidden(&why));
        }
        spec.node_selector = spec.node_selector.with(key, value);
    }
    for toleration in &scheduling.tolerations {
        if !spec.tolerations.contains(toleration) {
            spec.tolerations.push(toleration.clone());
        }
    }
    Ok(())
}

/// # Source
/// Admission plugin DefaultTolerationSeconds: a toleration of the key and of NoExecute counts whatever its operator.
fn default_toleration_seconds(config: &Config, spec: &mut PodSpec) {
    let flags = &config.kube_apiserver;
    for (key, seconds) in [
        ("node.kubernetes.io/not-ready", flags.default_not_ready_toleration_seconds),
        ("node.kubernetes.io/unreachable", flags.default_unreachable_toleration_seconds),
    ] {
        let key = Symbol::new(key);
        let tolerates = spec.tolerations.iter().any(|t| {
            (t.key == key || t.key.as_str().is_empty()) && t.effect.is_none_or(|e| e == TaintEffect::NoExecute)
        });
        if !tolerates {
            spec.tolerations.push(Toleration {
                key,
                operator: Some(TolerationOperator::Exists),
                value: Symbol::empty(),
                effect: Some(TaintEffect::NoExecute),
                toleration_seconds: Some(seconds),
            });
        }
    }
}

/// # Source
/// Admission plugin TaintNodesByCondition: a created node is not ready until its conditions say otherwise.
pub(super) fn not_ready_taint(s: &Session<'_>) -> TaintOnNode {
    TaintOnNode {
        key: Symbol::new("node.kubernetes.io/not-ready"),
        value: Symbol::empty(),
        effect: TaintEffect::NoSchedule,
        added_at: Some(s.now),
    }
}
