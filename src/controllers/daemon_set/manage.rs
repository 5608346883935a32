//! What each node needs, apart from updates: one pod where there should be one, none elsewhere.

use rustc_hash::FxHashMap;

use super::spots::{Spot, keep_order};
use super::view::{View, Work};
use super::{DaemonSets, event, update};
use crate::component::{Controller, Ctx};
use crate::state::{DaemonSetId, DeletionCause, NodeId, Pod, PodId, PodPhase};
use crate::units::{SimDuration, SimTime};

/// Back-off of failed pods per set, its observed generation, and node: delay, and when it was last advanced.
#[derive(Clone, Debug, Default)]
pub(super) struct FailedPods {
    delays: FxHashMap<(DaemonSetId, i64, NodeId), (SimDuration, SimTime)>,
}

impl FailedPods {
    /// Judges every node where there is something to be done; the real controller judges all in each pass.
    ///
    /// # Source
    /// daemonset-controller, `manage`.
    pub(super) fn manage(&mut self, view: &View<'_>, ctx: &mut Ctx<'_, Controller<DaemonSets>>) -> Work {
        let mut work = Work::default();
        for spot in view.spots.loud() {
            self.manage_node(view, spot, &mut work, ctx);
        }
        let stranded = view.stranded_pods().into_iter();
        work.delete.extend(stranded.map(|pod| (pod, DeletionCause::DaemonSetController)));
        work
    }

    /// # Source
    /// daemonset-controller, `podsShouldBeOnNode`.
    fn manage_node(
        &mut self,
        view: &View<'_>,
        spot: &Spot,
        work: &mut Work,
        ctx: &mut Ctx<'_, Controller<DaemonSets>>,
    ) {
        let &Spot { node, placement, .. } = spot;
        let pods = view.rule.pods_on(node);
        if pods.is_empty() {
            if placement.should_run {
                work.create.push(node);
            }
            return;
        }
        let staying = pods.into_iter().filter(|(_, pod)| pod.deletion.is_none());
        if !placement.should_continue {
            work.delete.extend(staying.map(|(id, _)| (id, DeletionCause::DaemonSetController)));
            return;
        }
        let mut running: smallvec::SmallVec<[(PodId, &Pod); 2]> = smallvec::SmallVec::new();
        for (id, pod) in staying {
            match pod.phase {
                PodPhase::Failed => self.failed_pod(view, node, (id, pod), work, ctx),
                PodPhase::Succeeded => {
                    let name = view.rule.store.node_name(node);
                    let what = format!("Found succeeded daemon pod {}/{} on node {name}", pod.namespace, pod.name);
                    event(ctx, view.rule.set, "SucceededDaemonPod", format!("{what}, will try to delete it"), true);
                    work.delete.push((id, DeletionCause::Completed));
                }
                PodPhase::Pending | PodPhase::Running => running.push((id, pod)),
            }
        }
        if update::max_surge(view.set) > 0 {
            manage_surge(view, spot, &running, work);
        } else if running.len() > 1 {
            running.sort_by(|a, b| keep_order(a.1, b.1));
            work.delete.extend(running[1..].iter().map(|&(id, _)| (id, DeletionCause::DaemonSetController)));
        }
    }

    /// A failed pod is deleted, but not faster than its node's back-off allows.
    fn failed_pod(
        &mut self,
        view: &View<'_>,
        node: NodeId,
        (pod_id, pod): (PodId, &Pod),
        work: &mut Work,
        ctx: &mut Ctx<'_, Controller<DaemonSets>>,
    ) {
        const FIRST: SimDuration = SimDuration::from_secs(1);
        const LONGEST: SimDuration = SimDuration::from_secs(15 * 60);
        let now = view.rule.now;
        let key = (view.rule.set, view.set.status.observed_generation, node);
        let entry = self.delays.get(&key).copied().filter(|(_, at)| now.saturating_since(*at) <= LONGEST * 2);
        if let Some((delay, at)) = entry
            && now.saturating_since(at) < delay
        {
            work.again_after = Some(work.again_after.map_or(delay, |other| other.min(delay)));
            return;
        }
        let next = entry.map_or(FIRST, |(delay, _)| (delay * 2).min(LONGEST));
        self.delays.insert(key, (next, now));
        let name = view.rule.store.node_name(node);
        let what = format!("Found failed daemon pod {}/{} on node {name}", pod.namespace, pod.name);
        event(ctx, view.rule.set, "FailedDaemonPod", format!("{what}, will try to kill it"), false);
        work.delete.push((pod_id, DeletionCause::DaemonSetController));
    }
}

/// A node under a surging update: at most one pod of the old and one of the new template.
fn manage_surge(view: &View<'_>, spot: &Spot, running: &[(PodId, &Pod)], work: &mut Work) {
    if running.is_empty() {
        if spot.placement.should_run {
            work.create.push(spot.node);
        }
        return;
    }
    if running.len() == 1 {
        return;
    }
    let oldest = |is_new: bool| {
        let is_wanted = |pod: &Pod| view.rule.is_new(pod) == is_new;
        let mut pods: Vec<(PodId, &Pod)> = running.iter().copied().filter(|(_, pod)| is_wanted(pod)).collect();
        pods.sort_by(|a, b| keep_order(a.1, b.1));
        pods
    };
    let (new, old) = (oldest(true), oldest(false));
    let surplus = new.iter().skip(1).chain(old.iter().skip(1));
    work.delete.extend(surplus.map(|&(pod, _)| (pod, DeletionCause::DaemonSetController)));
    let (Some(&(_, new)), Some(&(old_id, old))) = (new.first(), old.first()) else { return };
    if !old.is_ready() || view.rule.is_available(new) {
        work.delete.push((old_id, DeletionCause::RollingUpdate));
    }
}
