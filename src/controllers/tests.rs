//! Workload controllers, one at a time, with a whole API server and nobody else.

use std::sync::Arc;

use super::deployment::Deployments;
use super::job::Jobs;
use super::replica_set::ReplicaSets;
use super::stateful_set::StatefulSets;
use crate::apiserver::link_owners;
use crate::arena::Symbol;
use crate::component::{
    Controller, DeleteOptions, ErrorReason, PodDraft, PodName, PodStatusPatch, Reconcile, Reply, Request, StatusUpdate,
};
use crate::engine::Streams;
use crate::model::config::FeatureGates;
use crate::model::{self, Object, ObjectKind};
use crate::state::{
    ClaimOwner, DeletionCause, DeploymentCondition, DeploymentId, JobConditionType, JobId, Owner, Pod, PodId, PodPhase,
    ReplicaSetId, ReplicaSetStatus, StatefulSetId, Status, WorkloadId,
};
use crate::testing::{Lab, Member, config};
use crate::units::{SimDuration, SimTime};

mod deployment;
mod job;
mod replica_set;
mod stateful_set;

/// A cluster with one workload controller, whose client knows no limit.
pub(super) type Cluster<R> = Lab<Controller<R>>;

/// An empty cluster after a million seconds, as nothing is younger than it says.
pub(super) fn cluster<R: Reconcile>() -> Cluster<R>
where
    Controller<R>: Member,
{
    let mut config = config();
    config.kube_controller_manager.kube_api_qps = f64::INFINITY;
    let mut cluster = Lab::new(config, 3);
    cluster.set_now(SimTime::from_secs(1_000_000));
    cluster
}

const WAY: SimDuration = SimDuration::from_millis(5);

impl<R: Reconcile> Cluster<R>
where
    Controller<R>: Member,
{
    /// The API server creates so many more pods.
    pub(super) fn room(&mut self, mut room: usize) {
        self.refuse(move |request, _| {
            let is_full = matches!(request, Request::CreatePod(_)) && room == 0;
            room -= usize::from(matches!(request, Request::CreatePod(_)) && !is_full);
            is_full.then_some(ErrorReason::Forbidden)
        });
    }

    /// The API server is away for some requests.
    pub(super) fn lose(&mut self, is_lost: fn(&Request) -> bool) {
        self.refuse(move |request, _| is_lost(request).then_some(ErrorReason::Unavailable));
    }

    /// A pod of the owner, as the kubelet would leave it.
    #[track_caller]
    fn owned_pod(&mut self, name: &str, owner: Owner, node: Option<&str>, phase: PodPhase, is_ready: bool) -> PodId {
        self.labeled_pod(name, owner, node, phase, is_ready, &[])
    }

    #[track_caller]
    pub(super) fn labeled_pod(
        &mut self,
        name: &str,
        owner: Owner,
        node: Option<&str>,
        phase: PodPhase,
        is_ready: bool,
        labels: &[(&str, &str)],
    ) -> PodId {
        let node = node.map_or(String::new(), |node| format!("nodeName: {node}, "));
        let template =
            format!("{{metadata: {{labels: {{a: b}}}}, spec: {{{node}containers: [{{name: c, image: i}}]}}}}");
        // A Job's pods bear what its template has been given.
        let of_job = match owner {
            Owner::Job(id) => self.store().jobs.get(id).map(|job| job.spec.template.metadata.labels.clone()),
            _ => None,
        };
        let own = labels.iter().map(|(k, v)| (Symbol::new(k), Symbol::new(v)));
        let draft = PodDraft {
            namespace: Symbol::new("default"),
            name: PodName::Exact(name.into()),
            template: Arc::new(serde_saphyr::from_str(&template).expect("a template")),
            extra_labels: of_job.iter().flat_map(model::Labels::iter).chain(own).collect(),
            extra_annotations: smallvec::SmallVec::new(),
            owner: Some(owner),
            pinned_node: None,
            job_tracking: matches!(owner, Owner::Job(_)),
        };
        let Ok(Reply::Pod(id)) = self.ask(Request::CreatePod(Box::new(draft))) else { panic!("no pod {name}") };
        let ready = (phase != PodPhase::Pending).then_some(if is_ready { Status::True } else { Status::False });
        self.patch(id, PodStatusPatch { phase: Some(phase), ready, ..PodStatusPatch::default() });
        id
    }

    pub(super) fn patch(&mut self, pod: PodId, patch: PodStatusPatch) {
        self.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
    }

    pub(super) fn delete(&mut self, pod: PodId) {
        let options = DeleteOptions::default();
        self.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    }

    pub(super) fn pods(&self) -> Vec<&Pod> {
        self.store().pods().map(|(_, pod)| pod).collect()
    }

    pub(super) fn reasons(&self, wanted: &str) -> usize {
        self.messages(wanted).len()
    }
}

pub(super) const TEMPLATE: &str = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}";

pub(super) fn text(name: &str, spec: &str) -> String {
    format!("{{metadata: {{name: {name}, namespace: default}}, spec: {{{spec}}}}}")
}
