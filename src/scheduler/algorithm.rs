//! The scheduling algorithm: how a node is found for a pod on the cluster as the scheduler knows it.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::cache::Cache;
use super::cycle::{Candidates, Cycle, Template, feasible_wanted};
use super::decision::{Decision, Nomination};
use super::equivalence::{EquivalenceCache, LocalVerdicts};
use super::framework::{Handle, Incoming, PostFilter, PreBind};
use super::node_info::NodeInfo;
use super::nominator::Nominator;
use super::profile::Profile;
use super::rejection::Rejection;
use super::{message, obstacles};
use crate::arena::{Symbol, sym};
use crate::component::Config;
use crate::engine::Stream;
use crate::model::Labels;
use crate::state::{AdmittedSpec, NodeId, Owner, Pod, PodId, Store};

/// What outlives a cycle: the cluster as the scheduler knows it, and what was worked out on it.
///
/// # Source
/// kube-scheduler, `ScheduleAlgorithm` with its cache. There is no snapshot of it: nothing changes while a cycle lasts.
#[derive(Clone, Debug)]
pub(super) struct ScheduleAlgorithm {
    pub(super) cache: Cache,
    pub(super) nominator: Nominator,
    equivalence: EquivalenceCache,
    templates: FxHashMap<TemplateKey, (u64, Arc<AdmittedSpec>, Arc<Template>)>,
}

/// Profile, address of the spec, namespace, labels and owner.
type TemplateKey = (usize, usize, Symbol, Labels, Option<Owner>);

/// Templates that are remembered.
const TEMPLATES_MAX: usize = 8192;

impl ScheduleAlgorithm {
    pub(super) fn new(cache: Cache) -> Self {
        Self {
            cache,
            nominator: Nominator::default(),
            equivalence: EquivalenceCache::default(),
            templates: FxHashMap::default(),
        }
    }

    /// Knows everything the store has.
    pub(super) fn of(store: &Store, config: &Config) -> Self {
        let mut algorithm = Self::new(Cache::new(config.version));
        algorithm.list(store, None);
        algorithm
    }

    /// Takes in everything the store has; nodes come in the order of their names, or by chance.
    pub(super) fn list(&mut self, store: &Store, chance: Option<&mut Stream>) {
        self.cache.list(store, chance);
        for (id, pod) in store.pods().filter(|(_, pod)| pod.node.is_none() && !pod.phase.is_terminal()) {
            self.set_nomination(id, pod, pod.nominated_node);
            self.nominator.publish(id, pod.nominated_node);
        }
    }

    /// Nominates a pod to a node, or to none. What it wants to be far from counts against others from now on.
    pub(super) fn set_nomination(&mut self, id: PodId, pod: &Pod, node: Option<NodeId>) {
        self.nominator.set(id, pod.spec.priority, node);
        if node.is_some() {
            self.cache.count_terms_of(pod);
        }
    }

    /// The next search begins at that node of the list; `draw` gives a number below the count of nodes.
    pub(super) fn begin_search_at(&mut self, draw: &mut dyn FnMut(u32) -> u32) {
        self.cache.refresh_order();
        if let Ok(nodes @ 1..) = u32::try_from(self.cache.order().len()) {
            self.cache.next_start = draw(nodes) as usize;
        }
    }

    /// Counts a pod on the node that was chosen for it, before the API server knows of it; says what has to be done before it is
    /// bound.
    pub(super) fn assume(&mut self, profile: &Profile, incoming: Incoming<'_>, node: NodeId) -> Vec<PreBind> {
        self.nominator.forget(incoming.id);
        self.cache.assume(incoming.id, incoming.pod, node);
        let reserving = profile.reserving.iter();
        reserving.filter_map(|plugin| plugin.reserve(incoming, node, &mut self.cache)).collect()
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
        incoming: Incoming<'_>,
        is_explained: bool,
        draw: &mut dyn FnMut(u32) -> u32,
    ) -> Decision {
        let mut decision = Decision::default();
        let cycle = self.begin(profile, incoming);
        if cycle.node_count == 0 {
            decision.message = Some("no nodes available to schedule pods".to_owned());
            decision.nomination = Nomination::Cleared;
            return decision;
        }
        let mut verdicts = self.equivalence.take(profile, &incoming.pod.spec, &self.cache);
        self.decide(&cycle, &mut verdicts, is_explained, draw, &mut decision);
        self.equivalence.put(profile, verdicts);
        if is_explained && decision.node.is_none() {
            decision.nearest = obstacles::nearest(&cycle, &self.cache);
        }
        decision
    }

    /// The first of these nodes that takes a pod, or why the last of them does not.
    pub(super) fn first_fit(
        &mut self,
        profile: &Profile,
        incoming: Incoming<'_>,
        nodes: &[NodeId],
    ) -> Result<NodeId, Symbol> {
        let none = sym!("no node to look at");
        let cycle = self.begin(profile, incoming);
        let (candidates, rejection) = cycle.pre_filter(&self.cache);
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
            match self.check_node(&cycle, &candidates, node) {
                None => return Ok(node),
                Some(rejection) => reason = first_reason(&rejection),
            }
        }
        Err(reason)
    }

    /// Brings up to date what plugins look at from now until the pod's cycle is over.
    fn begin<'a>(&mut self, profile: &'a Profile, incoming: Incoming<'a>) -> Cycle<'a> {
        self.cache.refresh_order();
        self.cache.limit_counts();
        let template = self.template(profile, incoming.pod, incoming.store);
        for prepared in &template.wide {
            prepared.begin_cycle(&mut self.cache);
        }
        Cycle { profile, incoming, template, node_count: self.cache.order().len() }
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
        let prepare =
            |(_, plugin): &(_, Arc<dyn super::framework::WidePlugin>)| plugin.prepare(pod, store, &mut self.cache);
        let template = Arc::new(Template { wide: profile.wide.iter().map(prepare).collect() });
        if self.templates.len() >= TEMPLATES_MAX {
            self.templates.clear();
        }
        self.templates.insert(key, (self.cache.counts.epoch(), Arc::clone(&pod.spec), Arc::clone(&template)));
        template
    }

    fn decide(
        &mut self,
        cycle: &Cycle<'_>,
        verdicts: &mut LocalVerdicts,
        is_explained: bool,
        draw: &mut dyn FnMut(u32) -> u32,
        decision: &mut Decision,
    ) {
        let (candidates, rejection) = cycle.pre_filter(&self.cache);
        if let Some(rejection) = rejection {
            let order = self.cache.order().iter();
            decision.filtered = order.map(|&node| (node, rejection.clone())).collect();
            decision.rejectors = rejectors(decision, &candidates.restricting);
            let after = self.post_filter(cycle, &candidates, rejection.is_unresolvable, draw, decision);
            decision.message = Some(message::rejected(cycle.node_count, &rejection, &after));
            return;
        }
        let nominated =
            self.nominator.node_of(cycle.incoming.id).filter(|node| self.cache.node(*node).object.is_some());
        let mut refusal = None;
        if let Some(node) = nominated {
            refusal = self.check_node(cycle, &candidates, node);
            if refusal.is_none() {
                decision.feasible.push(node);
                decision.node = Some(node);
                return;
            }
        }
        // Where few nodes are named there is nothing to be learnt from the others.
        let is_restricted = candidates.only.is_some() || cycle.incoming.pod.pinned_node.is_some();
        let verdicts = (!is_restricted).then_some(verdicts);
        let (looked_at, verdicts) = self.search(cycle, &candidates, verdicts, decision);
        if decision.feasible.is_empty() {
            decision.rejectors = rejectors(decision, &candidates.restricting);
            let after = self.post_filter(cycle, &candidates, false, draw, decision);
            // Of nodes that nobody looked at is said what has rejected the pod until then: the nominated node's plugin, too.
            let mut known = candidates.restricting.clone();
            known.extend(
                refusal.map(|refusal| refusal.plugin).filter(|plugin| !candidates.restricting.contains(plugin)),
            );
            decision.message = Some(message::unschedulable(cycle.node_count, decision, &known, &after));
        } else if let [only] = decision.feasible.as_slice() {
            decision.node = Some(*only);
        } else if let Err(error) = cycle.score(&self.cache, verdicts, is_explained, draw, decision) {
            decision.is_error = true;
            decision.message = Some(error);
            decision.nomination = Nomination::Cleared;
        }
        // A nominated node that did not do counts as looked at as well, once.
        let is_beside = nominated.is_some_and(|nominated| decision.filtered.iter().all(|(node, _)| *node != nominated));
        self.cache.next_start = (self.cache.next_start + looked_at + usize::from(is_beside)) % cycle.node_count;
    }

    /// The search over all nodes, from where the last one ended, until enough are found. Says how many were looked at.
    fn search<'v>(
        &mut self,
        cycle: &Cycle<'_>,
        candidates: &Candidates<'_>,
        mut verdicts: Option<&'v mut LocalVerdicts>,
        decision: &mut Decision,
    ) -> (usize, Option<&'v LocalVerdicts>) {
        let count = candidates.only.as_ref().map_or(self.cache.order().len(), Vec::len);
        let wanted = match cycle.profile.scorers.as_slice() {
            // All nodes are equal.
            [] => 1,
            _ => feasible_wanted(count, cycle.profile.percentage_of_nodes_to_score),
        };
        decision.feasible.reserve(wanted);
        let mut looked_at = 0;
        let start = self.cache.next_start.checked_rem(count).unwrap_or(0);
        let is_local = !candidates.looks_beyond() && self.nominator.is_empty();
        if is_local && let Some(known) = verdicts.as_deref_mut() {
            let looked_at = self.search_local(cycle, known, start, wanted, decision);
            return (looked_at, verdicts.map(|verdicts| &*verdicts));
        }
        for at in (start..count).chain(0..start) {
            let node = candidates.only.as_ref().map_or_else(|| self.cache.order()[at], |only| only[at]);
            let rejection = match &mut verdicts {
                None => self.check_node(cycle, candidates, node),
                Some(verdicts) => {
                    // They are asked even if others are nominated here, as they learn the scores by that.
                    let alone = cycle.run_wide_filters(candidates, &self.cache, verdicts, node);
                    let is_contested = !self.nominator.on(node).is_empty();
                    if is_contested { self.check_node(cycle, candidates, node).or(alone) } else { alone }
                }
            };
            match rejection {
                None if decision.feasible.len() == wanted => break,
                None => decision.feasible.push(node),
                Some(rejection) => decision.filtered.push((node, rejection)),
            }
            looked_at += 1;
        }
        (looked_at, verdicts.map(|verdicts| &*verdicts))
    }

    /// The same where local plugins alone decide, over all nodes: of most of them their verdict is known.
    fn search_local(
        &self,
        cycle: &Cycle<'_>,
        verdicts: &mut LocalVerdicts,
        start: usize,
        wanted: usize,
        decision: &mut Decision,
    ) -> usize {
        /// Nodes that are looked at together, where nothing is new.
        const RUN: usize = 64;
        let (before, behind) = self.cache.order().split_at(start);
        let mut looked_at = 0;
        for mut nodes in [behind, before] {
            while !nodes.is_empty() {
                let missing = wanted - decision.feasible.len();
                let (run, rest) = nodes.split_at(nodes.len().min(missing.clamp(1, RUN)));
                nodes = rest;
                if missing > 0 && verdicts.are_known_to_pass(&self.cache, run) {
                    decision.feasible.extend_from_slice(run);
                    looked_at += run.len();
                    continue;
                }
                for &node in run {
                    match verdicts.of_node(cycle.profile, &self.cache, node) {
                        None if decision.feasible.len() == wanted => return looked_at,
                        None => decision.feasible.push(node),
                        Some((_, rejection)) => decision.filtered.push((node, rejection.clone())),
                    }
                    looked_at += 1;
                }
            }
        }
        looked_at
    }

    /// What the filters say of a node, on which pods nominated to it with no lower priority count.
    ///
    /// # Source
    /// kube-scheduler, `RunFilterPluginsWithNominatedPods`: the pod must fit with them and, as they may never come and it may
    /// need them near, without them.
    fn check(&mut self, cycle: &Cycle<'_>, candidates: &Candidates<'_>, info: &NodeInfo) -> Option<Rejection> {
        let Incoming { id, pod, store, .. } = cycle.incoming;
        let ask = |cache: &Cache, info: &NodeInfo| cycle.run_filters(candidates, cache, info);
        let rivals = self.nominator.rivals(info.id?, id, pod.spec.priority);
        let rivals: SmallVec<[(PodId, &Pod); 2]> = rivals
            .filter(|rival| !self.cache.has(*rival))
            .filter_map(|rival| Some((rival, store.pod(rival)?)))
            .collect();
        if !rivals.is_empty()
            && let Some(rejection) = self.cache.with_more(info, &rivals, candidates.looks_beyond(), ask)
        {
            return Some(rejection);
        }
        ask(&self.cache, info)
    }

    /// The same of a node as it is now.
    fn check_node(&mut self, cycle: &Cycle<'_>, candidates: &Candidates<'_>, node: NodeId) -> Option<Rejection> {
        let info = self.cache.node(node).clone();
        self.check(cycle, candidates, &info)
    }

    /// Asks those who come after filtering, one after the other, until one of them makes room or fails. Says what they had to
    /// say, to be put behind the message.
    ///
    /// # Source
    /// kube-scheduler, `RunPostFilterPlugins`.
    fn post_filter(
        &mut self,
        cycle: &Cycle<'_>,
        candidates: &Candidates<'_>,
        is_pre_filter_cut_short: bool,
        draw: &mut dyn FnMut(u32) -> u32,
        decision: &mut Decision,
    ) -> String {
        if cycle.profile.post_filters.is_empty() {
            decision.nomination = Nomination::Cleared;
        }
        let mut reasons = Vec::new();
        for plugin in &cycle.profile.post_filters {
            let filtered = decision.filtered.as_slice();
            let mut attempt =
                FailedCycle { algorithm: self, cycle, candidates, filtered, is_pre_filter_cut_short, draw: &mut *draw };
            match plugin.post_filter(&mut attempt) {
                None => {}
                Some(PostFilter::Nominated { node, victims }) => {
                    decision.nomination = Nomination::To(node);
                    decision.victims = victims;
                    return String::new();
                }
                Some(PostFilter::Unschedulable { reason, clears_nomination }) => {
                    if clears_nomination {
                        decision.nomination = Nomination::Cleared;
                    }
                    reasons.push(reason);
                }
                Some(PostFilter::Error(error)) => {
                    decision.nomination = Nomination::Kept;
                    return format!(" {error}");
                }
            }
        }
        if reasons.is_empty() { String::new() } else { format!(" {}", reasons.join(", ")) }
    }
}

/// A cycle whose filters have left no node.
struct FailedCycle<'r, 'a, 'c> {
    algorithm: &'r mut ScheduleAlgorithm,
    cycle: &'r Cycle<'a>,
    candidates: &'r Candidates<'c>,
    filtered: &'r [(NodeId, Rejection)],
    is_pre_filter_cut_short: bool,
    draw: &'r mut dyn FnMut(u32) -> u32,
}

impl<'a> Handle<'a> for FailedCycle<'_, 'a, '_> {
    fn incoming(&self) -> Incoming<'a> {
        self.cycle.incoming
    }

    fn node_count(&self) -> usize {
        self.cycle.node_count
    }

    fn filtered(&self) -> &[(NodeId, Rejection)] {
        self.filtered
    }

    fn is_pre_filter_cut_short(&self) -> bool {
        self.is_pre_filter_cut_short
    }

    fn cache(&self) -> &Cache {
        &self.algorithm.cache
    }

    fn nominator(&self) -> &Nominator {
        &self.algorithm.nominator
    }

    fn run_filters(&mut self, node: &NodeInfo) -> Option<Rejection> {
        self.algorithm.check(self.cycle, self.candidates, node)
    }

    fn remove_pod(&mut self, pod: PodId, from: &mut NodeInfo) {
        self.algorithm.cache.remove_from(pod, from, self.candidates.looks_beyond());
    }

    fn add_pod(&mut self, pod: PodId, to: &mut NodeInfo) {
        self.algorithm.cache.add_to(pod, to, self.candidates.looks_beyond());
    }

    fn draw(&mut self, below: u32) -> u32 {
        (self.draw)(below)
    }
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
