//! Changes of a scenario's objects that no path into its document can express.

use std::collections::BTreeSet;

use crate::arena::Symbol;
use crate::model::{ManifestObject, Object, Taint, TaintEffect, Toleration, TolerationOperator};
use crate::observe::workload_matches;
use crate::scenario::{ResolvedScenario, nearest_pattern, pod_template, pod_template_mut};

/// `deployment/shop/web`, as patterns name it.
pub(in crate::study) fn path_of(object: &Object) -> String {
    let metadata = object.metadata();
    format!("{}/{}/{}", object.kind().as_str().to_ascii_lowercase(), metadata.namespace, metadata.name)
}

/// The path of an object's controlling owner.
pub(super) fn owner_of(object: &Object) -> Option<String> {
    let metadata = object.metadata();
    let owner = metadata.controller()?;
    Some(format!("{}/{}/{}", owner.kind.as_str().to_ascii_lowercase(), metadata.namespace, owner.name))
}

/// Why objects cannot be changed as is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) message: String,
    /// What to do.
    pub(super) help: Option<String>,
    /// The position of the pattern that is wrong; none if the value is.
    pub(super) pattern: Option<usize>,
}

impl Refused {
    /// For its value.
    pub(super) fn value(message: String, help: Option<String>) -> Self {
        Self { message, help, pattern: None }
    }
}

/// Positions of the workloads that the patterns select, ascending. Pods and what a workload owns are none.
///
/// # Errors
///
/// If a pattern selects nothing.
pub(super) fn workloads(objects: &[ManifestObject], patterns: &[String]) -> Result<Vec<usize>, Refused> {
    let is_workload = |object: &Object| pod_template(object).is_some() && owner_of(object).is_none();
    let candidates = objects.iter().enumerate().filter(|(_, object)| is_workload(&object.object));
    let paths: Vec<(usize, String)> = candidates.map(|(index, object)| (index, path_of(&object.object))).collect();
    let mut selected = BTreeSet::new();
    for (position, pattern) in patterns.iter().enumerate() {
        let found = paths.iter().filter(|(_, path)| workload_matches(pattern, path));
        let found: Vec<usize> = found.map(|(index, _)| *index).collect();
        if found.is_empty() {
            return Err(unknown(position, pattern, paths.into_iter().map(|(_, path)| path).collect()));
        }
        selected.extend(found);
    }
    Ok(selected.into_iter().collect())
}

/// That a pattern selects none of these workloads.
fn unknown(position: usize, pattern: &str, mut known: Vec<String>) -> Refused {
    let help = match nearest_pattern(pattern, &known) {
        Some(near) => format!("the nearest is `{near}`; workloads are named `kind/namespace/name`"),
        None => {
            let such = if known.is_empty() { "deployment/shop/*".to_owned() } else { known.swap_remove(0) };
            format!("workloads are named `kind/namespace/name`, such as `{such}`; `*` stands for any text")
        }
    };
    Refused { message: format!("no workload is called `{pattern}`"), help: Some(help), pattern: Some(position) }
}

/// Sets how long pods of the workloads tolerate those taints. What the workloads own already, as in a dump, is set alike:
/// otherwise the controllers would take the change for a new template and roll it out.
///
/// # Errors
///
/// If a pattern selects nothing.
pub(super) fn toleration_seconds(
    objects: &mut [ManifestObject],
    patterns: &[String],
    taints: &[&str],
    seconds: u32,
) -> Result<(), Refused> {
    let chosen = workloads(objects, patterns)?;
    let mut selected: BTreeSet<String> = chosen.iter().map(|&index| path_of(&objects[index].object)).collect();
    // ReplicaSets of a Deployment or Jobs of a CronJob, then pods of either.
    for _ in 0..2 {
        let owned =
            objects.iter().filter(|object| owner_of(&object.object).is_some_and(|owner| selected.contains(&owner)));
        let owned: Vec<String> = owned.map(|object| path_of(&object.object)).collect();
        selected.extend(owned);
    }
    for ManifestObject { object, .. } in objects {
        if !selected.contains(&path_of(object)) {
            continue;
        }
        if let Some(tolerations) = tolerations_mut(object) {
            tolerate(tolerations, taints, seconds);
        }
    }
    Ok(())
}

fn tolerations_mut(object: &mut Object) -> Option<&mut Vec<Toleration>> {
    match object {
        Object::Pod(pod) => Some(&mut pod.spec.tolerations),
        other => pod_template_mut(other).map(|template| &mut template.spec.tolerations),
    }
}

/// The first toleration of a taint decides, so that the new ones come first. What is tolerated of the same key when pods are scheduled
/// stays so.
fn tolerate(tolerations: &mut Vec<Toleration>, taints: &[&str], seconds: u32) {
    let is_of_execution = |toleration: &Toleration| toleration.effect == Some(TaintEffect::NoExecute);
    tolerations.retain(|toleration| !taints.contains(&toleration.key.as_str()) || !is_of_execution(toleration));
    let new = taints.iter().map(|taint| Toleration {
        key: Symbol::new(taint),
        operator: Some(TolerationOperator::Exists),
        value: Symbol::empty(),
        effect: Some(TaintEffect::NoExecute),
        toleration_seconds: Some(seconds.into()),
    });
    tolerations.splice(0..0, new);
}

/// How long pods of the workloads tolerate those taints now; none if that differs among them, or is forever.
///
/// # Source
///
/// Admission plugin `DefaultTolerationSeconds`: what is not tolerated at all is, for as long as the API server's flags say.
pub(super) fn seconds_now(scenario: &ResolvedScenario, patterns: &[String], taints: &[&str]) -> Option<u32> {
    let chosen = workloads(&scenario.objects, patterns).ok()?;
    let flags = &scenario.config.kube_apiserver;
    let mut found = BTreeSet::new();
    for index in chosen {
        let tolerations = &pod_template(&scenario.objects[index].object)?.spec.tolerations;
        for taint in taints {
            let is_not_ready = taint.ends_with("not-ready");
            let default = if is_not_ready {
                flags.default_not_ready_toleration_seconds
            } else {
                flags.default_unreachable_toleration_seconds
            };
            let taint = Taint::new(Symbol::new(taint), Symbol::empty(), TaintEffect::NoExecute);
            let seconds = match tolerations.iter().find(|toleration| toleration.tolerates(&taint)) {
                Some(toleration) => toleration.toleration_seconds?,
                None => default,
            };
            found.insert(u32::try_from(seconds.max(0)).ok()?);
        }
    }
    if found.len() == 1 { found.first().copied() } else { None }
}

/// Sets how many replicas workloads have; their controllers do the rest while the cluster settles.
///
/// # Errors
///
/// If a pattern selects nothing, or what has no replicas.
pub(super) fn replicas(objects: &mut [ManifestObject], patterns: &[String], count: u32) -> Result<(), Refused> {
    let wanted = i32::try_from(count).map_err(|_| Refused::value(format!("{count} replicas are too many"), None))?;
    for index in workloads(objects, patterns)? {
        let object = &mut objects[index].object;
        let path = path_of(object);
        let none = || Refused {
            message: format!("{path} has no replicas"),
            help: Some("name the kinds that have".to_owned()),
            pattern: patterns.iter().position(|pattern| workload_matches(pattern, &path)),
        };
        *replicas_mut(object).ok_or_else(none)? = Some(wanted);
    }
    Ok(())
}

fn replicas_mut(object: &mut Object) -> Option<&mut Option<i32>> {
    match object {
        Object::Deployment(object) => Some(&mut object.spec.replicas),
        Object::StatefulSet(object) => Some(&mut object.spec.replicas),
        Object::ReplicaSet(object) => Some(&mut object.spec.replicas),
        Object::ReplicationController(object) => Some(&mut object.spec.replicas),
        _ => None,
    }
}

/// How many replicas the workloads have now; none if that differs among them.
pub(super) fn replicas_now(scenario: &ResolvedScenario, patterns: &[String]) -> Option<u32> {
    let chosen = workloads(&scenario.objects, patterns).ok()?;
    let replicas = |object: &Object| match object {
        Object::Deployment(object) => Some(object.spec.replicas),
        Object::StatefulSet(object) => Some(object.spec.replicas),
        Object::ReplicaSet(object) => Some(object.spec.replicas),
        Object::ReplicationController(object) => Some(object.spec.replicas),
        _ => None,
    };
    let counts = chosen.into_iter().map(|index| Some(replicas(&scenario.objects[index].object)?.unwrap_or(1)));
    let counts: BTreeSet<i32> = counts.collect::<Option<_>>()?;
    if counts.len() == 1 { counts.first().and_then(|count| u32::try_from(*count).ok()) } else { None }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::manifest;

    pub(in crate::study) const SHOP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: x}]}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-5d
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec:
  schedule: \"0 3 * * *\"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: shop}
spec: {containers: [{name: c, image: x}]}
";

    fn seconds(object: &ManifestObject) -> Option<i64> {
        pod_template(&object.object)?.spec.tolerations.first()?.toleration_seconds
    }

    #[test]
    fn a_workload_and_what_it_owns_are_changed_alike() {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        let taints = ["node.kubernetes.io/unreachable"];
        toleration_seconds(&mut objects, &["deployment/shop/*".to_owned()], &taints, 30).expect("there is one");
        assert_eq!(objects.iter().map(seconds).collect::<Vec<_>>(), [Some(30), Some(30), None, None, None]);
    }

    #[test]
    fn what_is_tolerated_when_pods_are_scheduled_stays() {
        let key = "node.kubernetes.io/unreachable";
        let own = |effect: Option<TaintEffect>, seconds: Option<i64>| Toleration {
            key: Symbol::new(key),
            operator: Some(TolerationOperator::Exists),
            value: Symbol::empty(),
            effect,
            toleration_seconds: seconds,
        };
        let [of_all, of_scheduling, of_execution] =
            [(None, None), (Some(TaintEffect::NoSchedule), None), (Some(TaintEffect::NoExecute), Some(300))]
                .map(|(effect, seconds)| own(effect, seconds));
        let mut tolerations = vec![of_execution, of_scheduling.clone(), of_all.clone()];
        tolerate(&mut tolerations, &[key], 30);
        assert_eq!(tolerations, [own(Some(TaintEffect::NoExecute), Some(30)), of_scheduling, of_all]);
    }

    #[test]
    fn cron_jobs_have_a_template_as_well() {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        let taints = ["node.kubernetes.io/unreachable"];
        toleration_seconds(&mut objects, &["cronjob/*".to_owned()], &taints, 30).expect("there is one");
        assert_eq!(seconds(&objects[2]), Some(30));
    }

    #[test]
    fn replicas_are_the_workload_s_alone_and_old_replica_sets_stay_empty() {
        let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
        replicas(&mut objects, &["deployment/shop/web".to_owned()], 5).expect("there is one");
        let counts: Vec<_> = objects.iter_mut().map(|object| replicas_mut(&mut object.object).copied()).collect();
        assert_eq!(counts, [Some(Some(5)), Some(Some(0)), None, None, None]);
    }

    #[test]
    fn what_cannot_be_changed_is_told() {
        #[track_caller]
        fn check(pattern: &str, expected: &str) {
            let mut objects = manifest::load_text("shop.yaml", SHOP).objects;
            let patterns = ["deployment/shop/web", pattern].map(str::to_owned);
            let refused = replicas(&mut objects, &patterns, 3).expect_err(pattern);
            let found = format!("{}: {}", refused.message, refused.help.unwrap_or_default());
            assert_eq!((found.as_str(), refused.pattern), (expected, Some(1)));
        }
        check(
            "deployment/shap/*",
            "no workload is called `deployment/shap/*`: the nearest is `deployment/shop/*`; workloads are named `kind/namespace/name`",
        );
        check(
            "pod/*",
            "no workload is called `pod/*`: workloads are named `kind/namespace/name`, such as `deployment/shop/web`; `*` stands for any text",
        );
        check("daemonset/shop/agent", "daemonset/shop/agent has no replicas: name the kinds that have");
    }
}
