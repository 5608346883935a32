//! Objects that somebody else's finalizer keeps.

use super::limits::{make, object};
use super::*;
use crate::model::ObjectKind;

const HELD: &str = "finalizers: [example.com/hold]";

fn replica_set(finalizers: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: rs, namespace: default, {finalizers}}}, spec: {{replicas: 1, \
         selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{{ONE}}}}}}}}}"
    )
}

fn only(api: &Api) -> Option<WorkloadId> {
    api.store.replica_sets.ids().next().map(WorkloadId::ReplicaSet)
}

#[test]
fn a_workload_stays_until_the_finalizer_is_off() {
    let mut api = Api::new();
    make(&mut api, &replica_set(HELD)).expect("a set");
    let workload = only(&api).expect("the set");
    let delete = || Request::DeleteWorkload { workload, propagation: Propagation::Background };
    api.ask(delete()).expect("a deletion");
    let meta = api.store.workload_meta(workload).expect("it is there");
    assert_eq!(meta.deleting, Some((api.now, Propagation::Background)));
    assert!(matches!(api.ask(delete()), Ok(Reply::Unchanged)));
    let more = replica_set("finalizers: [example.com/hold, example.com/more]");
    let error = api.ask(Request::Apply(Box::new(object(&more)))).expect_err("a refusal");
    let why = "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
               finalizers []string{\"example.com/more\"}";
    assert_eq!(error.message, format!("ReplicaSet.apps \"rs\" is invalid: {why}"));
    api.ask(Request::Apply(Box::new(object(&replica_set(""))))).expect("an update");
    assert_eq!(only(&api), None);
    assert!(matches!(api.changed.as_slice(), [Changed::WorkloadRemoved(id)] if *id == workload));
}

#[test]
fn the_collector_takes_off_its_own_finalizer_and_no_other() {
    let mut api = Api::new();
    make(&mut api, &replica_set(HELD)).expect("a set");
    let workload = only(&api).expect("the set");
    api.ask(Request::DeleteWorkload { workload, propagation: Propagation::Foreground }).expect("a deletion");
    api.ask(Request::FinalizeWorkload { workload }).expect("an update");
    let meta = api.store.workload_meta(workload).expect("it is there");
    assert_eq!(meta.deleting, Some((api.now, Propagation::Background)));
    api.ask(Request::Apply(Box::new(object(&replica_set(""))))).expect("an update");
    assert_eq!(only(&api), None);
}

#[test]
fn claims_volumes_and_namespaces_stay_as_well() {
    let mut api = Api::new();
    let claim = |finalizers: &str| {
        format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: c, namespace: default, annotations: \
             {{pv.kubernetes.io/bind-completed: 'yes'}}, {finalizers}}}, spec: {{accessModes: [ReadWriteOnce], volumeName: v, resources: {{requests: {{storage: 1Gi}}}}}}}}"
        )
    };
    make(&mut api, &claim(HELD)).expect("a claim");
    let volume = "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {accessModes: [ReadWriteOnce], capacity: \
                  {storage: 1Gi}, hostPath: {path: /x}, claimRef: {namespace: default, name: c}}}";
    make(&mut api, volume).expect("a volume");
    let (empty, default) = (Symbol::empty(), Symbol::new("default"));
    let delete = |kind: ObjectKind, namespace, name| Request::DeleteOther {
        kind: kind.into(),
        namespace,
        name: Symbol::new(name),
    };
    // A volume in use waits for its claim, a claim for whoever holds it.
    api.ask(delete(ObjectKind::PersistentVolume, empty, "v")).expect("a deletion");
    api.ask(delete(ObjectKind::PersistentVolumeClaim, default, "c")).expect("a deletion");
    let id = api.store.volumes.find_volume(Symbol::new("v")).expect("the volume is there");
    assert!(api.store.volumes.find_claim(default, Symbol::new("c")).is_some());
    api.ask(Request::Apply(Box::new(object(&claim("finalizers: [kubernetes.io/pvc-protection]"))))).expect("an update");
    assert!(api.store.volumes.find_claim(default, Symbol::new("c")).is_none());
    api.ask(Request::ReleaseVolume { volume: id }).expect("a release");
    assert!(api.store.volumes.find_volume(Symbol::new("v")).is_none());
    let namespace = |more: &str| format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: shop, {more}}}}}");
    make(&mut api, &namespace(HELD)).expect("a namespace");
    let shop = Symbol::new("shop");
    api.ask(delete(ObjectKind::Namespace, empty, "shop")).expect("a deletion");
    api.ask(Request::FinalizeNamespace { name: shop }).expect("its content is gone");
    assert!(api.store.is_terminating(shop));
    api.ask(Request::Apply(Box::new(object(&namespace(""))))).expect("an update");
    assert!(api.store.namespace(shop).is_none());
}
