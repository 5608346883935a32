//! Static pods: the file on the node stays, so the pod runs whatever becomes of its mirror, which is made anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::bound_pod::BoundPod;
use super::{Kubelets, statuses};
use crate::arena::Symbol;
use crate::component::{Ctx, DeleteOptions, PodStatusPatch, Request};
use crate::model::{self, ObjectMeta, OwnerReference};
use crate::state::{DeletionCause, NodeId, Pod, PodPhase, Status};

/// Marks a mirror pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A static pod.
#[derive(Clone, Debug)]
struct File {
    /// Its last mirror.
    mirror: Arc<Pod>,
    /// Its containers run though its mirror is gone.
    goes_on: bool,
}

/// The static pods of one machine, by namespace and name.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<(Symbol, Arc<str>), File>);

fn key(pod: &Pod) -> (Symbol, Arc<str>) {
    (pod.namespace, Arc::clone(&pod.name))
}

impl Kubelets {
    /// A mirror shows that there is a file.
    pub(super) fn learn_file(&mut self, pod: BoundPod<'_>) {
        if pod.is_mirror {
            let files = &mut self.statics.entry(pod.node).or_default().0;
            files.entry(key(&pod)).or_insert_with(|| File { mirror: Arc::new(pod.object.clone()), goes_on: false });
        }
    }

    /// Takes a mirror away without touching the pod.
    ///
    /// # Source
    /// kubelet, `tryReconcileMirrorPods`: a mirror that is being deleted is removed at once.
    pub(super) fn drop_mirror(mirror: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let options = DeleteOptions { grace_s: Some(0), uid: Some(mirror.uid) };
        let cause = mirror.deletion.map_or(DeletionCause::Completed, |deletion| deletion.cause);
        ctx.send(Request::DeletePod { pod: mirror.id, options, cause });
    }

    /// A mirror has left the API: it is made anew while the pod's file is there.
    pub(super) fn mirror_gone(&mut self, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = last.node.filter(|_| last.is_mirror) else { return };
        let goes_on = last.phase == PodPhase::Running && ctx.store.machine(node).power == crate::state::Power::On;
        let file = File { mirror: Arc::new(last.clone()), goes_on };
        self.statics.entry(node).or_default().0.insert(key(last), file);
        self.recreate_mirrors(node, ctx);
    }

    /// The machine is down: its containers are gone.
    pub(super) fn static_pods_stop(&mut self, node: NodeId) {
        for file in self.statics.get_mut(&node).into_iter().flat_map(|files| files.0.values_mut()) {
            file.goes_on = false;
        }
    }

    /// Makes the mirrors that are missing, if the Node is there to own them.
    ///
    /// # Source
    /// kubelet, mirror client: `CreateMirrorPod` needs the Node's UID.
    pub(super) fn recreate_mirrors(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(owner) = ctx.store.node(node).map(|object| object.uid).filter(|_| self.links.are_up(node, ctx)) else {
            return;
        };
        let name = ctx.store.node_name(node);
        let owner = OwnerReference {
            api_version: Symbol::new("v1"),
            kind: Symbol::new("Node"),
            name,
            uid: Symbol::new(&owner.to_string()),
            controller: true,
            ..OwnerReference::default()
        };
        for file in self.statics.get(&node).into_iter().flat_map(|files| files.0.values()) {
            if ctx.store.find_pod(file.mirror.namespace, &file.mirror.name).is_none() {
                let pod = picture(&file.mirror, name, owner.clone());
                ctx.send(Request::Create(Box::new(model::Object::Pod(Box::new(pod)))));
            }
        }
    }

    /// Whether a new mirror shows a static pod that runs already: its status is posted.
    pub(super) fn goes_on_as_mirror(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> bool {
        let Some(files) = self.statics.get_mut(&pod.node).filter(|_| pod.is_mirror) else { return false };
        let Some(file) = files.0.get_mut(&key(&pod)).filter(|file| file.goes_on) else { return false };
        file.goes_on = false;
        let last = Arc::clone(&file.mirror);
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Running),
            ready: Some(if statuses::are_containers_ready(&last) { Status::True } else { Status::False }),
            started: last.started_at,
            containers: Some(last.containers.clone()),
            init_containers: Some(last.init_containers.clone()),
            ..PodStatusPatch::default()
        };
        ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
        true
    }
}

/// The mirror of a static pod, as it is created.
fn picture(last: &Pod, node: Symbol, owner: OwnerReference) -> model::Pod {
    let mut annotations = last.annotations();
    annotations.insert(Symbol::new(MIRROR), Symbol::new(&format!("{node}-{}", last.name)));
    let metadata = ObjectMeta {
        name: Symbol::new(&last.name),
        namespace: last.namespace,
        labels: last.labels.clone(),
        annotations,
        owner_references: vec![owner],
        ..ObjectMeta::default()
    };
    let spec = model::PodSpec { node_name: Some(node), ..last.spec.spec.clone() };
    model::Pod { metadata, spec, ..model::Pod::default() }
}
