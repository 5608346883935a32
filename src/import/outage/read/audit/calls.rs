//! What requests mean, one after the other.

use rustc_hash::FxHashSet;

use super::super::Evidence;
use super::account::{Account, program};
use super::line::Call;
use super::nodes::Nodes;
use super::pods::Pods;
use super::requests::{Bodies, is_kept};
use crate::arena::{StableHasher, Symbol};
use crate::evidence::{Bounds, PodName, Record, RecordKind, Request, What};

/// What has been seen so far, and what later requests are compared with.
#[derive(Debug, Default)]
pub(super) struct Calls {
    seen: Seen,
    covers: Option<Bounds>,
    /// Hashes of requests that were taken, by audit id.
    known: FxHashSet<u64>,
    nodes: Nodes,
    pods: Pods,
    bodies: Bodies,
}

/// Sightings, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<(Bounds, u32, What)>);

impl Seen {
    pub(super) fn see(&mut self, when: Bounds, place: u32, what: What) {
        self.0.push((when, place, what));
    }
}

impl Call<'_> {
    pub(super) fn namespace(&self) -> Symbol {
        Symbol::new(self.namespace)
    }

    /// The pod that is named; none if the answer alone says what it was called.
    pub(super) fn pod(&self) -> Option<PodName> {
        let is_named = !self.name.is_empty() && !self.namespace.is_empty();
        is_named.then(|| PodName { namespace: self.namespace(), name: Symbol::new(self.name) })
    }

    /// Whether the body asks to change nothing.
    fn is_rehearsal(&self) -> bool {
        let is_told = |body: &str| body.contains("\"dryRun\"") && body.contains("\"All\"");
        let has_options = self.verb.starts_with("delete") || self.subresource == "eviction";
        self.is_dry_run || (has_options && self.request.is_some_and(|body| is_told(body.get())))
    }
}

impl Calls {
    /// Takes a request that has been answered.
    pub(super) fn take(&mut self, call: &Call<'_>, place: u32) {
        self.covers = Some(self.covers.map_or(call.when, |covers| Bounds {
            earliest: covers.earliest.min(call.when.earliest),
            latest: covers.latest.max(call.when.latest),
        }));
        if !matches!(call.verb, "create" | "update" | "patch" | "delete" | "deletecollection") {
            return;
        }
        let account = Account::of(call.user, call.user_agent);
        if call.resource == "leases" {
            if call.is_done() && call.verb != "delete" {
                self.nodes.lease(call, account, place, &mut self.seen);
            }
            return;
        }
        let is_of_pods = matches!(call.resource, "pods" | "bindings");
        let is_asked = !account.is_of_kubernetes() && is_kept(call);
        if !(is_asked || is_of_pods || matches!(call.resource, "nodes" | "namespaces") || call.subresource == "scale")
            || !self.is_new(call)
            || call.is_rehearsal()
        {
            return;
        }
        if call.is_done() {
            match call.resource {
                "nodes" => self.nodes.take(call, account, place, &mut self.seen),
                "pods" | "bindings" => self.pods.take(call, account, place, &mut self.seen),
                _ => self.scaled(call, account, place),
            }
        } else if call.resource == "nodes" {
            self.nodes.refused(call, account, place, &mut self.seen);
        }
        // Of what was refused only a full budget tells: it holds a drain up.
        let is_told = call.is_done() || (call.subresource == "eviction" && call.code == 429);
        if is_asked && is_told && self.bodies.is_change(call, account) {
            self.request(call, place);
        }
    }

    /// Whether this is the first time that the request is seen: logs of several servers, or copies of them, have it again.
    fn is_new(&mut self, call: &Call<'_>) -> bool {
        if call.id.is_empty() {
            return true;
        }
        let mut hasher = StableHasher::default();
        for part in [call.id, call.verb, call.name] {
            hasher.write(part.as_bytes());
            hasher.write(&[0]);
        }
        self.known.insert(hasher.finish())
    }

    /// The autoscaler of pods is part of Kubernetes and may be none of the play.
    fn scaled(&mut self, call: &Call<'_>, account: Account<'_>, place: u32) {
        let kind = match call.resource {
            "deployments" => "Deployment",
            "statefulsets" => "StatefulSet",
            "replicasets" => "ReplicaSet",
            "replicationcontrollers" => "ReplicationController",
            _ => return,
        };
        if account != Account::Controller("horizontal-pod-autoscaler") || call.subresource != "scale" {
            return;
        }
        if let Some(to) = Bodies::replicas(call) {
            let (kind, name) = (Symbol::new(kind), Symbol::new(call.name));
            let what = What::Scaled { kind, namespace: call.namespace(), name, from: None, to };
            self.seen.see(call.when, place, what);
        }
    }

    fn request(&mut self, call: &Call<'_>, place: u32) {
        let body = self.bodies.keep(call);
        let request = Request {
            user: Symbol::new(call.user),
            agent: program(call.user_agent),
            verb: Symbol::new(call.verb),
            resource: Symbol::new(call.resource),
            subresource: Symbol::new(call.subresource),
            namespace: call.namespace(),
            name: Symbol::new(call.name),
            code: call.code,
            body,
        };
        self.seen.see(call.when, place, What::Request(Box::new(request)));
    }

    /// Hands over what has been seen.
    pub(super) fn finish(mut self, name: &str, into: &mut Evidence) {
        self.nodes.finish(&mut self.seen);
        let record = Record { name: name.to_owned(), kind: RecordKind::Audit, covers: self.covers, step: None };
        let record = into.begin(record);
        for (when, place, what) in self.seen.0 {
            into.see(record, place, when, what);
        }
    }
}
