//! The endpoint slice controller: what a service's slices show, and when.

use super::endpoint_slice::EndpointSlices;
use super::tests::{Cluster, cluster};
use crate::arena::Symbol;
use crate::component::{PodStatusPatch, Request};
use crate::model::{self, Labels, Object};
use crate::state::{Endpoint, NodeId, Owner, PodId, PodPhase, ServiceId, Status, Uid};

struct Slices {
    cluster: Cluster<EndpointSlices>,
    service: ServiceId,
}

impl Slices {
    /// A service of pods `a: b` on a cluster of one node, `n`.
    fn new(more: &str) -> Self {
        let mut cluster = cluster::<EndpointSlices>();
        let node = serde_saphyr::from_str("{metadata: {name: n}}").expect("a node");
        cluster.create(Object::Node(Box::new(node)));
        let text = format!("{{metadata: {{name: web, namespace: default}}, spec: {{selector: {{a: b}}, {more}}}}}");
        let service: model::Service = serde_saphyr::from_str(&text).expect("a service");
        cluster.create(Object::Service(Box::new(service)));
        let service = cluster.store().services.ids().next().expect("the service");
        cluster.start();
        cluster.run_for(1.0);
        Self { cluster, service }
    }

    fn pod(&mut self, name: &str) -> PodId {
        let owner = Owner::Foreign { kind: Symbol::new("Rollout"), name: Symbol::new("web"), uid: Uid(7) };
        self.cluster.labeled_pod(name, owner, Some("n"), PodPhase::Running, true, &[])
    }

    fn endpoints(&self) -> Vec<Endpoint> {
        self.cluster.store().services[self.service].slices.values().flat_map(|slice| slice.iter().copied()).collect()
    }

    /// Endpoints that are ready, that serve, and that terminate.
    #[track_caller]
    fn check(&self, ready: usize, serving: usize, terminating: usize) {
        let endpoints = self.endpoints();
        let count = |test: fn(&Endpoint) -> bool| endpoints.iter().filter(|endpoint| test(endpoint)).count();
        let found = (count(|e| e.ready), count(|e| e.serving), count(|e| e.terminating));
        assert_eq!(found, (ready, serving, terminating), "{endpoints:?}");
    }

    fn set_ready(&mut self, pod: PodId, status: Status) {
        self.cluster.patch(pod, PodStatusPatch { ready: Some(status), ..PodStatusPatch::default() });
    }

    fn node(&self) -> NodeId {
        self.cluster.store().find_node(Symbol::new("n")).expect("the node")
    }
}

#[test]
fn readiness_and_deletion_of_a_pod_show_as_soon_as_they_are_seen_and_written() {
    let mut slices = Slices::new("");
    let (a, _) = (slices.pod("p"), slices.pod("q"));
    slices.cluster.run_for(1.0);
    slices.check(2, 2, 0);
    slices.set_ready(a, Status::False);
    slices.cluster.run_for(0.009);
    slices.check(2, 2, 0);
    slices.cluster.run_for(0.002);
    slices.check(1, 1, 0);
    slices.set_ready(a, Status::True);
    slices.cluster.delete(a);
    slices.cluster.run_for(1.0);
    slices.check(1, 2, 1);
    let options = crate::component::DeleteOptions { grace_s: Some(0), uid: None };
    let cause = crate::state::DeletionCause::Kubectl;
    slices.cluster.ask(Request::DeletePod { pod: a, options, cause }).expect("a deletion");
    slices.cluster.run_for(1.0);
    slices.check(1, 1, 0);
}

#[test]
fn addresses_that_are_not_ready_are_published_if_the_service_says_so() {
    let mut slices = Slices::new("publishNotReadyAddresses: true");
    let pod = slices.pod("p");
    slices.set_ready(pod, Status::False);
    slices.cluster.run_for(1.0);
    slices.check(1, 0, 0);
}

#[test]
fn a_pod_joins_and_leaves_with_its_labels() {
    let mut slices = Slices::new("");
    let pod = slices.pod("p");
    slices.cluster.run_for(1.0);
    slices.check(1, 1, 0);
    let labels = slices.cluster.store().pod(pod).map(|pod| pod.labels.clone()).expect("the pod");
    slices.cluster.ask(Request::SetPodLabels { pod, labels: Labels::default() }).expect("labels");
    slices.cluster.run_for(1.0);
    slices.check(0, 0, 0);
    slices.cluster.ask(Request::SetPodLabels { pod, labels }).expect("labels");
    slices.cluster.run_for(1.0);
    slices.check(1, 1, 0);
}

#[test]
fn a_service_without_a_selector_or_by_an_outer_name_has_no_slices() {
    for spec in ["{}", "{selector: {a: b}, type: ExternalName}"] {
        let mut slices = Slices::new("");
        let text = format!("{{metadata: {{name: other, namespace: default}}, spec: {spec}}}");
        let service: model::Service = serde_saphyr::from_str(&text).expect("a service");
        slices.cluster.create(Object::Service(Box::new(service)));
        slices.service = slices.cluster.store().services.ids().last().expect("the service");
        slices.pod("p");
        slices.cluster.run_for(1.0);
        assert!(slices.cluster.store().services[slices.service].slices.is_empty(), "{spec}");
    }
}

#[test]
fn a_pod_of_a_node_that_is_gone_is_left_out_at_the_next_sync_which_is_tried_again() {
    let check = |more: &str, left: usize| {
        let mut slices = Slices::new(more);
        let (pod, _) = (slices.pod("p"), slices.pod("q"));
        slices.cluster.run_for(1.0);
        let node = slices.node();
        slices.cluster.ask(Request::DeleteNode { node }).expect("a deletion");
        slices.cluster.run_for(60.0);
        assert_eq!(slices.endpoints().len(), 2, "the end of a node wakes nobody");
        slices.set_ready(pod, Status::False);
        slices.cluster.run_for(0.5);
        assert_eq!(slices.endpoints().len(), left);
        // After one second, then two, then four.
        slices.cluster.run_for(7.5);
        slices.cluster.reasons("FailedToUpdateEndpointSlices")
    };
    assert_eq!(check("", 0), 4);
    assert_eq!(check("publishNotReadyAddresses: true", 2), 0);
}
