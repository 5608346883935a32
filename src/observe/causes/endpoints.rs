//! What the number of ready endpoints of a service follows from. The endpoints controller writes once for all that has changed since it last
//! looked: what led to the write is one of these changes, and not always the one that made the number another.

use rustc_hash::FxHashMap;

use crate::state::{CauseId, Changed, Pod, PodDelta, PodId, ServiceId, Store};

/// The rows that say since when a pod is to be an endpoint that is ready, and since when it is not.
#[derive(Clone, Debug)]
struct Turns {
    serves: bool,
    up: CauseId,
    down: CauseId,
}

/// Ready endpoints, and what made them so.
#[derive(Clone, Debug, Default)]
pub(super) struct Endpoints {
    pods: FxHashMap<PodId, Turns>,
    /// The ready endpoints of each service as last written, in order.
    ready: FxHashMap<ServiceId, Vec<PodId>>,
    /// The last change of each service itself.
    changed: FxHashMap<ServiceId, CauseId>,
}

fn is_up(pod: &Pod) -> bool {
    pod.is_ready() && !pod.phase.is_terminal()
}

fn serves(pod: &Pod) -> bool {
    is_up(pod) && pod.deletion.is_none()
}

fn ready_of(service: ServiceId, store: &Store) -> Vec<PodId> {
    let slices = store.services.get(service).into_iter().flat_map(|service| service.slices.values());
    let ready = slices.flat_map(|slice| slice.iter()).filter(|endpoint| endpoint.ready);
    let mut ready: Vec<PodId> = ready.map(|endpoint| endpoint.pod).collect();
    ready.sort_unstable();
    ready
}

impl Endpoints {
    /// What is there at t=0.
    pub(super) fn begin(&mut self, store: &Store) {
        self.ready.extend(store.services.iter().map(|(id, _)| (id, ready_of(id, store))));
        let pods = store.pods().map(|(id, pod)| (id, serves(pod)));
        self.pods.extend(pods.map(|(id, serves)| (id, Turns { serves, up: CauseId::NONE, down: CauseId::NONE })));
    }

    /// A change has been told by this row.
    pub(super) fn told(&mut self, what: &Changed, row: CauseId, store: &Store) {
        let (pod, serves, is_relabeled) = match what {
            Changed::PodAdded(pod) => (*pod, store.pod(*pod).is_some_and(serves), false),
            Changed::PodUpdated { pod, delta, before } => {
                let Some(now) = store.pod(*pod) else { return };
                // An eviction writes a condition and deletes in one, and is told in two rows: the second is the deletion.
                let is_to_be_deleted =
                    !delta.touches(PodDelta::DELETION) && self.pods.get(pod).is_some_and(|of| of.serves);
                let serves = if is_to_be_deleted { is_up(now) } else { serves(now) };
                (*pod, serves, before.as_ref().is_some_and(|before| before.labels != now.labels))
            }
            Changed::PodRemoved { pod, .. } => (*pod, false, false),
            Changed::ServiceChanged(service) => {
                self.changed.insert(*service, row);
                return;
            }
            _ => return,
        };
        let turns = self.pods.entry(pod).or_insert(Turns { serves: false, up: CauseId::NONE, down: CauseId::NONE });
        if is_relabeled || (serves && !turns.serves) {
            turns.up = row;
        }
        if is_relabeled || (!serves && turns.serves) {
            turns.down = row;
        }
        turns.serves = serves;
    }

    /// The row that the number of a service's ready endpoints, just written, follows from: the last of the pods that came, if there are more
    /// than before, or that left, if there are fewer. None if there are as many, or as the service itself has been changed since.
    pub(super) fn written(&mut self, service: ServiceId, store: &Store) -> Option<CauseId> {
        let now = ready_of(service, store);
        let before = self.ready.insert(service, now.clone()).unwrap_or_default();
        let turn = |pod: &PodId, is_up: bool| self.pods.get(pod).map(|of| if is_up { of.up } else { of.down });
        let is_new = |pod: &&PodId, old: &[PodId]| old.binary_search(pod).is_err();
        let row = match now.len().cmp(&before.len()) {
            std::cmp::Ordering::Greater => {
                now.iter().filter(|pod| is_new(pod, &before)).filter_map(|pod| turn(pod, true)).max()
            }
            std::cmp::Ordering::Less => {
                before.iter().filter(|pod| is_new(pod, &now)).filter_map(|pod| turn(pod, false)).max()
            }
            std::cmp::Ordering::Equal => None,
        };
        let changed = self.changed.get(&service).copied().unwrap_or(CauseId::NONE);
        row.filter(|row| *row != CauseId::NONE && *row > changed)
    }
}
