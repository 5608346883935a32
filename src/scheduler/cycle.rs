//! One scheduling cycle: filter, score, choose.

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cache::Cache;
use super::framework::{Cycle, PreFilter, Rejection, Template};
use super::memo::{Memo, Memos};
use super::message;
use super::node_info::NodeInfo;
use super::nominator::Nominator;
use super::obstacles::{self, Obstacles};
use super::preemption::Preemption;
use super::profile::Profile;
use super::volumes::Bindings;
use crate::arena::{Symbol, sym};
use crate::component::Config;
use crate::model::{Labels, non_zero_container_requests};
use crate::state::{AdmittedSpec, NodeId, Owner, Pod, PodId, Store};

/// A feasible node's scores by plugin, after normalization and weight.
#[derive(Clone, Debug, Default)]
pub struct NodeScore {
    /// By plugin.
    pub by_plugin: Vec<(&'static str, i64)>,
    /// Their sum.
    pub total: i64,
}

/// What a cycle decided, and why.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The chosen node.
    pub node: Option<NodeId>,
    /// Nodes with the highest total; empty if nothing was scored.
    pub ties: Vec<NodeId>,
    /// Feasible nodes in the order in which they were found.
    pub feasible: Vec<NodeId>,
    /// Scores of the feasible nodes; empty if there is only one, or if nobody asked for them.
    pub scores: Vec<NodeScore>,
    /// Why other nodes were not feasible, in the order in which they were looked at.
    pub filtered: Vec<(NodeId, Rejection)>,
    /// Plugins that rejected it: their hints decide when it is tried again.
    pub rejectors: Vec<&'static str>,
    /// The text of FailedScheduling.
    pub message: Option<String>,
    /// The attempt ended in an error, which the message tells.
    pub is_error: bool,
    /// What becomes of the pod's nomination.
    pub nomination: Nomination,
    /// Pods that are to make room.
    pub victims: Vec<PodId>,
    /// What stands in the way on the node that lacks least; only if no node takes the pod and somebody asked.
    pub nearest: Option<Obstacles>,
}

/// What a cycle says of `status.nominatedNodeName`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    #[default]
    Kept,
    /// There is none (any more).
    Cleared,
    /// Room is being made on this node.
    To(NodeId),
}

/// What outlives a cycle: the picture of the cluster and what was worked out on it.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) cache: Cache,
    pub(super) nominator: Nominator,
    memos: Memos,
    templates: FxHashMap<TemplateKey, (u64, Arc<AdmittedSpec>, Arc<Template>)>,
}

/// Profile, address of the spec, namespace, labels and owner.
type TemplateKey = (usize, usize, Symbol, Labels, Option<Owner>);

/// Templates that are remembered.
const TEMPLATES_MAX: usize = 8192;

/// How many feasible nodes are enough.
///
/// # Source
/// kube-scheduler, `numFeasibleNodesToFind`: all of fewer than a hundred; else 50 % less 1 % for every 125 nodes, at
/// least 5 %, and at least a hundred.
pub(super) fn feasible_wanted(nodes: usize, percentage: i32) -> usize {
    const MIN: usize = 100;
    if nodes < MIN {
        return nodes;
    }
    let percentage = if percentage > 0 { percentage as usize } else { 50usize.saturating_sub(nodes / 125).max(5) };
    (nodes * percentage / 100).max(MIN).min(nodes)
}

/// What pre-filtering left.
pub(super) struct Candidates {
    /// Places of the filters that are to be asked.
    filters: SmallVec<[usize; 16]>,
    /// Those of them that are not local.
    wide: SmallVec<[usize; 8]>,
    /// The only nodes that can do, if there is a restriction.
    only: Option<Vec<NodeId>>,
    /// Plugins that restricted nodes.
    restricting: Vec<&'static str>,
}

impl Candidates {
    /// Whether a filter looks at more than the node.
    pub(super) fn looks_at_counts(&self) -> bool {
        !self.wide.is_empty()
    }
}

impl Snapshot {
    pub(super) fn new(cache: Cache) -> Self {
        Self { cache, nominator: Nominator::default(), memos: Memos::default(), templates: FxHashMap::default() }
    }

    /// Everything the store has.
    pub(super) fn of(store: &Store, config: &Config) -> Self {
        let mut snapshot = Self::new(Cache::new(config.version));
        snapshot.list(store);
        snapshot
    }

    /// Takes in everything the store has.
    pub(super) fn list(&mut self, store: &Store) {
        self.cache.list(store);
        for (id, pod) in store.pods().filter(|(_, pod)| pod.node.is_none() && !pod.phase.is_terminal()) {
            self.set_nomination(id, pod, pod.nominated_node);
            self.nominator.publish(id, pod.nominated_node);
        }
    }

    /// Nominates a pod to a node, or to none. What it wants to be far from counts against others from now on.
    pub(super) fn set_nomination(&mut self, id: PodId, pod: &Pod, node: Option<NodeId>) {
        self.nominator.set(id, pod.spec.priority, node);
        if node.is_some() {
            self.cache.know_bonds(pod);
        }
    }

    /// The next search begins at that node of the list; `draw` gives a number below the count of nodes.
    pub(super) fn begin_search_at(&mut self, draw: &mut dyn FnMut(u32) -> u32) {
        self.cache.refresh_order();
        if let Ok(nodes @ 1..) = u32::try_from(self.cache.order().len()) {
            self.cache.next_start = draw(nodes) as usize;
        }
    }

    /// Counts a pod on the node that was chosen for it, before anybody else has heard of it; says what its claims get there.
    pub(super) fn assume(&mut self, profile: &Profile, store: &Store, id: PodId, pod: &Pod, node: NodeId) -> Bindings {
        self.nominator.forget(id);
        self.cache.assume(id, pod, node);
        match profile.volume_timeout {
            Some(_) => self.cache.reserve_volumes(id, pod, node, store),
            // Nobody binds its claims.
            None => Bindings::new(),
        }
    }

    /// Does to a pod's nomination what a cycle has said.
    pub(super) fn nominate(&mut self, id: PodId, pod: &Pod, nomination: Nomination) {
        match nomination {
            Nomination::Kept => {}
            Nomination::Cleared => self.set_nomination(id, pod, None),
            Nomination::To(node) => self.set_nomination(id, pod, Some(node)),
        }
    }

    /// Decides about a pod. `is_explained` keeps scores and obstacles of every node, for people; `draw` gives a number below the one it
    /// is given.
    pub(super) fn schedule(
        &mut self,
        profile: &Profile,
        store: &Store,
        id: PodId,
        is_explained: bool,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> Decision {
        let mut decision = Decision::default();
        let Some(pod) = store.pod(id) else { return decision };
        let cycle = self.begin(profile, store, id, pod);
        if cycle.node_count == 0 {
            decision.message = Some("no nodes available to schedule pods".to_owned());
            decision.nomination = Nomination::Cleared;
            return decision;
        }
        let mut memo = self.memos.take(profile, &pod.spec, &self.cache);
        self.decide(profile, &cycle, &mut memo, is_explained, draw, &mut decision);
        self.memos.put(profile, &pod.spec, memo);
        if is_explained && decision.node.is_none() {
            decision.nearest = obstacles::nearest(profile, &cycle, &self.cache);
        }
        decision
    }

    /// The first of these nodes that takes a pod, or why the last of them does not.
    pub(super) fn first_fit(
        &mut self,
        profile: &Profile,
        store: &Store,
        id: PodId,
        nodes: &[NodeId],
    ) -> Result<NodeId, Symbol> {
        let none = sym!("no node to look at");
        let pod = store.pod(id).ok_or(none)?;
        let cycle = self.begin(profile, store, id, pod);
        let (candidates, rejection) = pre_filter(profile, &cycle, &self.cache);
        let first_reason = |rejection: &Rejection| rejection.reasons.first().copied().unwrap_or(none);
        if let Some(rejection) = &rejection {
            return Err(first_reason(rejection));
        }
        let mut reason = none;
        for &node in nodes {
            if candidates.only.as_ref().is_some_and(|only| !only.contains(&node)) {
                reason = sym!("node(s) didn't satisfy plugin(s)");
                continue;
            }
            match self.check_node(profile, &cycle, &candidates, node) {
                None => return Ok(node),
                Some(rejection) => reason = first_reason(&rejection),
            }
        }
        Err(reason)
    }

    /// What plugins are asked about a pod from now until its cycle is over.
    fn begin<'a>(&mut self, profile: &Profile, store: &'a Store, id: PodId, pod: &'a Pod) -> Cycle<'a> {
        self.cache.refresh_order();
        self.cache.limit_counts();
        let template = self.template(profile, pod, store);
        for plugin in &profile.plugins {
            plugin.begin_cycle(&template, &mut self.cache);
        }
        Cycle {
            id,
            pod,
            spec: &pod.spec,
            template,
            version: self.cache.version,
            node_count: self.cache.order().len(),
            store,
            spread_score: OnceCell::new(),
        }
    }

    /// What has been worked out for pods like this one.
    fn template(&mut self, profile: &Profile, pod: &Pod, store: &Store) -> Arc<Template> {
        let spec = Arc::as_ptr(&pod.spec) as usize;
        let key = (profile.index, spec, pod.namespace, pod.labels.clone(), pod.owner);
        if let Some((epoch, _, template)) = self.templates.get(&key)
            && *epoch == self.cache.counts.epoch()
        {
            return Arc::clone(template);
        }
        let mut template = Template { non_zero: non_zero_container_requests(&pod.spec), ..Template::default() };
        for plugin in &profile.plugins {
            plugin.prepare(pod, store, &mut self.cache, &mut template);
        }
        let template = Arc::new(template);
        if self.templates.len() >= TEMPLATES_MAX {
            self.templates.clear();
        }
        self.templates.insert(key, (self.cache.counts.epoch(), Arc::clone(&pod.spec), Arc::clone(&template)));
        template
    }

    fn decide(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        memo: &mut Memo,
        is_explained: bool,
        draw: &mut dyn FnMut(u32) -> u32,
        decision: &mut Decision,
    ) {
        let (candidates, rejection) = pre_filter(profile, cycle, &self.cache);
        if let Some(rejection) = rejection {
            let order = self.cache.order().iter();
            decision.filtered = order.map(|&node| (node, rejection.clone())).collect();
            decision.rejectors = rejectors(decision, &candidates.restricting);
            let has_lost_state = profile.post_filters.iter().any(|p| p.after_filters(cycle.version).is_some());
            let is_heard = !(rejection.is_unresolvable && has_lost_state);
            let after = if is_heard { self.post_filter(profile, cycle, &candidates, draw, decision) } else { None };
            decision.message = Some(message::rejected(profile, cycle, &rejection, is_heard, after.as_ref()));
            return;
        }
        let nominated = self.nominator.node_of(cycle.id).filter(|node| self.cache.node(*node).object.is_some());
        if let Some(node) = nominated
            && self.check_node(profile, cycle, &candidates, node).is_none()
        {
            decision.feasible.push(node);
            decision.node = Some(node);
            return;
        }
        let looked_at = self.search(profile, cycle, &candidates, memo, decision);
        if decision.feasible.is_empty() {
            decision.rejectors = rejectors(decision, &candidates.restricting);
            let after = self.post_filter(profile, cycle, &candidates, draw, decision);
            decision.message =
                Some(message::unschedulable(profile, cycle, decision, &candidates.restricting, after.as_ref()));
        } else if let [only] = decision.feasible.as_slice() {
            decision.node = Some(*only);
        } else {
            // Where few nodes are named, nothing has been learnt.
            let memo = candidates.only.is_none().then_some(&*memo);
            if let Err(error) = score(&self.cache, profile, cycle, memo, is_explained, draw, decision) {
                decision.is_error = true;
                decision.message = Some(error);
                decision.nomination = Nomination::Cleared;
            }
        }
        self.cache.next_start = (self.cache.next_start + looked_at) % cycle.node_count;
    }

    /// Preemption, if the profile has it.
    fn post_filter(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        candidates: &Candidates,
        draw: &mut dyn FnMut(u32) -> u32,
        decision: &mut Decision,
    ) -> Option<Preemption> {
        let Some(arguments) = profile.preemption else {
            if profile.post_filters.is_empty() {
                decision.nomination = Nomination::Cleared;
            }
            return None;
        };
        let outcome = self.preempt(arguments, profile, cycle, candidates, &decision.filtered, draw);
        match &outcome {
            Preemption::Candidate(candidate) => {
                decision.nomination = Nomination::To(candidate.node);
                decision.victims.clone_from(&candidate.victims);
            }
            Preemption::Nowhere(_) => decision.nomination = Nomination::Cleared,
            Preemption::NotEligible(_) | Preemption::NoVictim(_) => {}
        }
        Some(outcome)
    }

    /// What the filters say of a node, on which pods nominated to it with no lower priority count.
    ///
    /// # Source
    /// kube-scheduler, `RunFilterPluginsWithNominatedPods`: the pod must fit with them and, as they may never come and it may
    /// need them near, without them.
    pub(super) fn check(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        candidates: &Candidates,
        info: &NodeInfo,
    ) -> Option<Rejection> {
        let ask = |cache: &Cache, info: &NodeInfo| {
            let mut filters = candidates.filters.iter().map(|&place| &profile.filters[place]);
            filters.find_map(|plugin| plugin.filter(cycle, cache, info))
        };
        let rivals = self.nominator.rivals(info.id?, cycle.id, cycle.spec.priority);
        let rivals: SmallVec<[(PodId, &Pod); 2]> = rivals
            .filter(|rival| !self.cache.has(*rival))
            .filter_map(|rival| Some((rival, cycle.store.pod(rival)?)))
            .collect();
        if !rivals.is_empty()
            && let Some(rejection) = self.cache.with_more(info, &rivals, candidates.looks_at_counts(), ask)
        {
            return Some(rejection);
        }
        ask(&self.cache, info)
    }

    /// The same of a node as it is now.
    fn check_node(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        candidates: &Candidates,
        node: NodeId,
    ) -> Option<Rejection> {
        let info = self.cache.node(node).clone();
        self.check(profile, cycle, candidates, &info)
    }

    /// The search over all nodes, from where the last one ended, until enough are found. Says how many were looked at.
    fn search(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        candidates: &Candidates,
        memo: &mut Memo,
        decision: &mut Decision,
    ) -> usize {
        let count = candidates.only.as_ref().map_or(self.cache.order().len(), Vec::len);
        let wanted = match profile.scorers.as_slice() {
            // Nothing tells nodes apart.
            [] => 1,
            _ => feasible_wanted(count, profile.percentage_of_nodes_to_score),
        };
        let mut looked_at = 0;
        for offset in 0..count {
            let at = (self.cache.next_start + offset) % count;
            let node = candidates.only.as_ref().map_or_else(|| self.cache.order()[at], |only| only[at]);
            let rejection = if candidates.only.is_some() {
                self.check_node(profile, cycle, candidates, node)
            } else {
                // The memo is asked even if others are nominated here, as it learns the scores by that.
                let alone = filter(&self.cache, profile, cycle, &candidates.wide, memo, node);
                let is_contested = !self.nominator.on(node).is_empty();
                if is_contested { self.check_node(profile, cycle, candidates, node).or(alone) } else { alone }
            };
            match rejection {
                None if decision.feasible.len() == wanted => break,
                None => decision.feasible.push(node),
                Some(rejection) => decision.filtered.push((node, rejection)),
            }
            looked_at += 1;
        }
        looked_at
    }
}

/// # Source
/// kube-scheduler, `RunPreFilterPlugins`: what cannot be resolved ends the cycle at once; what removing pods might resolve
/// ends it after the others have spoken, the last of these having the word.
fn pre_filter(profile: &Profile, cycle: &Cycle<'_>, cache: &Cache) -> (Candidates, Option<Rejection>) {
    let mut candidates =
        Candidates { filters: SmallVec::new(), wide: SmallVec::new(), only: None, restricting: Vec::new() };
    let mut rejection = None;
    for (place, plugin) in profile.filters.iter().enumerate() {
        match plugin.pre_filter(cycle, cache) {
            PreFilter::Skip => continue,
            PreFilter::Pass => {}
            PreFilter::Reject(why) if why.is_unresolvable => return (candidates, Some(why)),
            PreFilter::Reject(why) => rejection = Some(why),
            PreFilter::Only(nodes) => {
                candidates.restricting.push(plugin.name());
                match &mut candidates.only {
                    Some(only) => {
                        only.retain(|node| nodes.contains(node));
                        if only.is_empty() {
                            let reason = message::nobody_left(&candidates.restricting);
                            return (candidates, Some(Rejection::unresolvable(plugin.name(), reason)));
                        }
                    }
                    None => candidates.only = Some(nodes),
                }
            }
        }
        candidates.filters.push(place);
        if !plugin.is_local() {
            candidates.wide.push(place);
        }
    }
    if let Some(only) = &mut candidates.only {
        only.retain(|&node| cache.node(node).object.is_some());
    }
    (candidates, rejection)
}

/// The first rejection in the order of the filters.
fn filter(
    cache: &Cache,
    profile: &Profile,
    cycle: &Cycle<'_>,
    wide: &[usize],
    memo: &mut Memo,
    node: NodeId,
) -> Option<Rejection> {
    let local = memo.look(profile, cycle, cache, node);
    let before = local.map_or(usize::MAX, |(place, _)| *place);
    let wide = wide.iter().take_while(|place| **place < before);
    wide.map(|&place| profile.filters[place].filter(cycle, cache, cache.node(node)))
        .find(Option::is_some)
        .flatten()
        .or_else(|| local.map(|(_, rejection)| rejection.clone()))
}

fn score(
    cache: &Cache,
    profile: &Profile,
    cycle: &Cycle<'_>,
    memo: Option<&Memo>,
    is_explained: bool,
    draw: &mut dyn FnMut(u32) -> u32,
    decision: &mut Decision,
) -> Result<(), String> {
    let feasible = &decision.feasible;
    let mut totals = vec![0; feasible.len()];
    let mut raw: Vec<i64> = Vec::with_capacity(feasible.len());
    if is_explained {
        decision.scores = vec![NodeScore::default(); feasible.len()];
    }
    for (place, (plugin, weight)) in profile.scorers.iter().enumerate() {
        let scores = plugin.pre_score(cycle, cache, feasible);
        if !scores.map_err(|error| format!("running PreScore plugin \"{}\": {error}", plugin.name()))? {
            continue;
        }
        raw.clear();
        match memo.zip(profile.local_scorers.iter().position(|local| *local == place)) {
            Some((memo, slot)) => raw.extend(feasible.iter().map(|&node| memo.raw(node, slot))),
            None => raw.extend(feasible.iter().map(|&node| plugin.score(cycle, cache, cache.node(node)))),
        }
        plugin.normalize(cycle, cache, feasible, &mut raw);
        for (total, raw) in totals.iter_mut().zip(&raw) {
            *total += raw * weight;
        }
        for (score, raw) in decision.scores.iter_mut().zip(&raw) {
            score.by_plugin.push((plugin.name(), raw * weight));
            score.total += raw * weight;
        }
    }
    let best = totals.iter().copied().max().unwrap_or(0);
    decision.ties = feasible.iter().zip(&totals).filter(|(_, t)| **t == best).map(|(n, _)| *n).collect();
    decision.node = Some(match decision.ties.len() {
        // Before 1.35 any of the best is as likely as the others.
        several @ 2.. if !cycle.version.at_least(35) => decision.ties[draw(several as u32) as usize],
        _ => feasible[heap_root(&totals)],
    });
    Ok(())
}

/// The root of a binary max-heap over the scores in list order.
///
/// # Source
/// kube-scheduler 1.35+: the score list is made a heap and its root is taken; the right child is preferred only if it is
/// strictly larger, and a swap needs a strictly larger child.
pub(super) fn heap_root(scores: &[i64]) -> usize {
    let mut heap: Vec<usize> = (0..scores.len()).collect();
    for first in (0..heap.len() / 2).rev() {
        let mut at = first;
        loop {
            let left = 2 * at + 1;
            if left >= heap.len() {
                break;
            }
            let right = left + 1;
            let child = if right < heap.len() && scores[heap[right]] > scores[heap[left]] { right } else { left };
            if scores[heap[child]] <= scores[heap[at]] {
                break;
            }
            heap.swap(at, child);
            at = child;
        }
    }
    heap.first().copied().unwrap_or(0)
}

/// The plugins whose rejection the pod waits out.
fn rejectors(decision: &Decision, restricting: &[&'static str]) -> Vec<&'static str> {
    let mut rejectors: Vec<&'static str> = restricting.to_vec();
    for (_, rejection) in &decision.filtered {
        if !rejectors.contains(&rejection.plugin) {
            rejectors.push(rejection.plugin);
        }
    }
    rejectors.sort_unstable();
    rejectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_feasible_nodes_by_cluster_size() {
        let check = |nodes: usize, percentage: i32, expected: usize| {
            assert_eq!(feasible_wanted(nodes, percentage), expected, "{nodes} nodes, {percentage} %");
        };
        check(10, 0, 10);
        check(100, 0, 100);
        check(250, 0, 120);
        check(1000, 0, 420);
        check(1000, 40, 400);
        check(5000, 0, 500);
        check(6000, 0, 300);
        check(6000, 40, 2400);
        check(15000, 0, 750);
    }

    #[test]
    fn the_host_is_the_root_of_a_heap_over_the_list() {
        let check = |scores: &[i64], expected: usize| assert_eq!(heap_root(scores), expected, "{scores:?}");
        check(&[9, 9, 9], 0);
        check(&[5, 9, 9], 1);
        check(&[5, 5, 9, 9], 3);
        check(&[5, 9, 5, 9], 1);
        check(&[1, 2, 9, 3, 9, 9], 4);
        check(&[7, 9, 8, 9, 9], 1);
    }
}
