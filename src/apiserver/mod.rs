//! kube-apiserver: the only writer of API state.
//!
//! Admit, check preconditions, commit, and say what changed: one step at a time. A request that reads before it writes
//! takes several steps, between which others have theirs. No queueing, no knowledge of who asks.

mod admission;
mod eviction;
mod finalizers;
mod limit_ranger;
mod links;
mod names;
mod namespaces;
mod nodes;
mod opt_in;
mod owner_references;
mod pods;
mod registry;
mod resource_quota;
mod server;
mod session;
mod status;
mod subject;
mod validation;
mod volumes;
mod words;
mod workloads;

pub use eviction::{Eviction, Served};
pub use links::link_owners;
pub use server::ApiServer;

use crate::component::{Answer, ApiError, Config, Reply, Request};
use crate::engine::Streams;
use crate::model::config::AdmissionPlugin;
use crate::model::{AnyKind, Object};
use crate::state::{Changed, Store, printed};
use crate::units::SimTime;
use resource_quota::Charge;
use session::Session;

impl ApiServer {
    /// All nodes of the input have joined; later ones pass admission as new ones do.
    pub fn joined(&mut self) {
        self.has_loaded = true;
    }

    /// An API server with empty caches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says which wall-clock instant is t=0, for the time stamps of objects that are created from dumps.
    pub fn set_epoch(&mut self, unix_nanos: Option<i64>) {
        self.epoch_unix_nanos = unix_nanos;
    }

    /// Handles one request to its end, as if nobody else asked; what it changed is appended to `changed` in commit order.
    pub fn handle(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        request: Request,
        changed: &mut Vec<Changed>,
    ) -> Answer {
        let mut served = self.serve(store, config, streams, now, request, changed);
        loop {
            match served {
                Served::Answered(answer) => return answer,
                Served::Continues(_, rest) => served = self.resume(store, config, streams, now, rest, changed),
            }
        }
    }

    /// Takes an object of the input as it is, with its status: the cluster was there before the run. Its fields are not
    /// validated.
    pub fn restore(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        mut object: Object,
        changed: &mut Vec<Changed>,
    ) -> Answer {
        crate::model::validation::drop_unknown(&mut object, config.version);
        self.is_restoring = true;
        let mut session = Session { store, config, streams, now, changed };
        self.names.name(&session, &mut object);
        let answer = self.create(&mut session, object);
        self.is_restoring = false;
        answer
    }

    /// Creates an object of the input as if somebody applied it now. What a dump holds of a pod that admission had worked out is let pass.
    ///
    /// # Errors
    ///
    /// What the server refuses.
    pub fn apply_input(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        object: Object,
        changed: &mut Vec<Changed>,
    ) -> Answer {
        self.is_applying_input = true;
        let answer = self.handle(store, config, streams, now, Request::Create(Box::new(object)), changed);
        self.is_applying_input = false;
        answer
    }

    /// Takes the next step of a request that continues.
    pub fn resume(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        rest: Box<Eviction>,
        changed: &mut Vec<Changed>,
    ) -> Served {
        // Budgets and pods only: they keep versions of their own.
        let first = changed.len();
        let served = rest.advance(&mut Session { store, config, streams, now, changed });
        if !store.references.is_empty() {
            let removed = owner_references::removed(&changed[first..], []);
            owner_references::settle(store, &removed, changed);
        }
        served
    }

    /// Takes the first step of a request, for most the only one; what it changed is appended to `changed` in commit order.
    pub fn serve(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        request: Request,
        changed: &mut Vec<Changed>,
    ) -> Served {
        if let Request::DryRun(request) = request {
            return Served::Answered(self.pretend(store, config, streams, now, *request));
        }
        if config.kube_apiserver.admits_with(AdmissionPlugin::NamespaceLifecycle)
            && let Err(refusal) = namespaces::admit(&request, store)
        {
            return Served::Answered(Err(refusal));
        }
        let first = changed.len();
        let deleted = match &request {
            Request::DeleteOther { kind, namespace, name } => {
                let defined = registry::defined_kinds(store, (printed(*kind), *namespace, *name));
                Some(((*kind, *namespace, *name), defined))
            }
            _ => None,
        };
        let served = self.serve_admitted(store, config, streams, now, request, changed);
        if !store.references.is_empty() {
            // Somebody may hold it yet.
            let deleted =
                deleted.filter(|((kind, namespace, name), _)| store.uid_of(*kind, *namespace, *name).is_none());
            let deleted = deleted
                .into_iter()
                .flat_map(|((kind, ..), defined)| defined.into_iter().map(AnyKind::Stored).chain([kind]));
            let removed = owner_references::removed(&changed[first..], deleted);
            owner_references::settle(store, &removed, changed);
        }
        for change in &changed[first..] {
            if let Changed::WorkloadUpdated(id, _) = change
                && let Some(meta) = store.workload_meta_mut(*id)
            {
                meta.version += 1;
            }
        }
        served
    }

    /// What a request would be answered; nothing is written.
    ///
    /// On a copy of everything: every request then passes the very steps that it would pass, and a dry run is rare.
    fn pretend(&self, store: &Store, config: &Config, streams: &Streams, now: SimTime, request: Request) -> Answer {
        let (mut server, mut store, mut changed) = (self.clone(), store.clone(), Vec::new());
        let answer = server.handle(&mut store, config, streams, now, request, &mut changed);
        // What it would have made is not there.
        let says_all = |reply: &Reply| matches!(reply, Reply::Unchanged | Reply::Named(_));
        answer.map(|reply| if says_all(&reply) { reply } else { Reply::Done })
    }

    fn serve_admitted(
        &mut self,
        store: &mut Store,
        config: &Config,
        streams: &Streams,
        now: SimTime,
        request: Request,
        changed: &mut Vec<Changed>,
    ) -> Served {
        let mut session = Session { store, config, streams, now, changed };
        let s = &mut session;
        Served::Answered(match request {
            Request::Get | Request::DryRun(_) => Ok(Reply::Done),
            Request::GetPod { pod } => pods::get(s, pod),
            Request::CreatePod(draft) => self.create_pod(s, *draft),
            Request::DeletePod { pod, options, cause } => pods::delete(s, pod, options, cause),
            Request::EvictPod { pod, grace_s, dry_run } => {
                return Box::new(Eviction::new(pod, grace_s, dry_run)).advance(s);
            }
            Request::BindPod { pod, node } => pods::bind(s, pod, node),
            Request::PatchPodStatus { pod, patch } => pods::patch_status(s, pod, *patch),
            Request::SetPodOwner { pod, owner } => pods::set_owner(s, pod, owner),
            Request::SetPodLabels { pod, labels } => pods::set_labels(s, pod, labels),
            Request::SetPodAnnotations { pod, annotations } => pods::set_annotations(s, pod, annotations),
            Request::ClaimPodForJob { pod, job } => pods::claim_for_job(s, pod, job),
            Request::ReleasePodFromJob { pod } => pods::release_from_job(s, pod),
            Request::CreateNode { node, registration } => self.create_node(s, node, *registration),
            Request::DeleteNode { node } => nodes::delete(s, node),
            Request::PatchNodeTaints { node, add, remove } => nodes::patch_taints(s, node, &add, &remove),
            Request::SetNodeUnschedulable { node, unschedulable } => nodes::set_unschedulable(s, node, unschedulable),
            Request::SetNodeLabels { node, labels } => nodes::set_labels(s, node, labels),
            Request::SetNodeAnnotations { node, annotations } => nodes::set_annotations(s, node, annotations),
            Request::PatchNodeStatus { node, conditions, base } => {
                nodes::patch_status(s, node, &conditions, base.as_ref())
            }
            Request::Scale { workload, replicas } => self.scale(s, workload, replicas),
            request @ (Request::CreateReplicaSet(_) | Request::CreateRevision(_) | Request::CreateJob { .. }) => {
                self.create_for_owner(s, request)
            }
            request @ Request::UpdateReplicaSet { .. } => workloads::update_replica_set(s, request),
            Request::SetWorkloadAnnotations { workload, annotations } => {
                workloads::set_annotations(s, workload, annotations)
            }
            Request::SetWorkloadOwner { workload, owner } => workloads::set_owner(s, workload, owner),
            Request::SetRevisionNumber { id, revision } => workloads::set_revision_number(s, id, revision),
            Request::DeleteRevision { id } => workloads::delete_revision(s, id),
            Request::SetRevisionOwner { id, owner } => workloads::set_revision_owner(s, id, owner),
            Request::DropOwners { kind, namespace, name, uids } => {
                owner_references::drop_owners(s, kind, namespace, name, &uids)
            }
            Request::UpdateStatus(update) => status::update(s, update),
            Request::DeleteWorkload { workload, propagation } => workloads::delete(s, workload, propagation),
            Request::FinalizeWorkload { workload } => workloads::finalize(s, workload),
            Request::Apply(mut object) => {
                object.forget_status();
                crate::model::validation::drop_unknown(&mut object, s.config.version);
                words::keep(s.store, &mut object);
                validation::apply(s, &object).and_then(|()| self.charged(s, Request::Apply(object)))
            }
            Request::Create(mut object) => {
                object.forget_status();
                crate::model::validation::drop_unknown(&mut object, s.config.version);
                let given = self.names.name(s, &mut object);
                let answer = validation::create(s.config.version, &object)
                    .and_then(|()| self.charged(s, Request::Create(object)));
                answer.map(|reply| given.map_or(reply, Reply::Named))
            }
            Request::DeleteOther { kind, namespace, name } => self.delete(s, kind, namespace, name),
            Request::BindClaim { claim, volume } => volumes::bind(s, claim, volume),
            Request::SetClaimOwner { claim, owner } => volumes::set_claim_owner(s, claim, owner),
            Request::SelectNode { claim, node } => volumes::select_node(s, claim, node),
            Request::ReleaseVolume { volume } => volumes::release(s, volume),
            Request::SetAttachment { volume, node, phase } => volumes::set_attachment(s, volume, node, phase),
            Request::ReportVolume { volume, node, in_use } => volumes::report(s, volume, node, in_use),
            Request::PutEndpointSlice { service, slice, endpoints } => {
                registry::put_endpoint_slice(s, service, slice, endpoints)
            }
            Request::FinalizeNamespace { name } => registry::finalize_namespace(s, name),
        })
    }

    /// What controllers make of what they own.
    fn create_for_owner(&mut self, s: &mut Session<'_>, request: Request) -> Answer {
        let charge = charge(s, &request)?;
        let answer = match request {
            Request::CreateReplicaSet(new) => self.create_replica_set(s, *new),
            Request::CreateRevision(new) => self.create_revision(s, *new),
            Request::CreateJob { cron_job, name, scheduled_at } => self.create_job(s, cron_job, name, scheduled_at),
            _ => Ok(Reply::Done),
        }?;
        charge.commit(s);
        Ok(answer)
    }

    /// A whole object that is created or replaced; what it counts for in quotas is charged.
    fn charged(&mut self, s: &mut Session<'_>, request: Request) -> Answer {
        let charge = charge(s, &request)?;
        let answer = match request {
            Request::Apply(object) => self.apply(s, *object),
            Request::Create(object) => self.create(s, *object),
            _ => Ok(Reply::Done),
        }?;
        charge.commit(s);
        Ok(answer)
    }
}

/// What the object counts for that a request makes; nothing of any other request.
///
/// # Errors
/// 403, if it does not fit.
fn charge(s: &Session<'_>, request: &Request) -> Result<Charge, ApiError> {
    namespaces::content(request, s.store).map_or_else(|| Ok(Charge::default()), |made| resource_quota::object(s, made))
}

#[cfg(test)]
mod tests;
