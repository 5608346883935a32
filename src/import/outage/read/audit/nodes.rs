//! What requests about nodes and leases mean.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::objects::fields::{LeaseSpec, NodeSpec, NodeStatus, Taint, Text, stamp_of, text};
use super::account::Account;
use super::calls::Seen;
use super::heartbeats::Heartbeats;
use super::line::Call;
use crate::arena::Symbol;
use crate::evidence::{Bounds, Reporter, What};
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// Leases are renewed every 10 s; more is a silence.
const LEASE_SILENCE: SimDuration = SimDuration::from_secs(15);
/// The status is posted every 5 min, give or take, if nothing changes.
const STATUS_SILENCE: SimDuration = SimDuration::from_secs(330);
/// The taints that the node lifecycle controller makes of conditions.
const OF_CONDITIONS: &str = "node.kubernetes.io/";
/// How far the time that an object gives a change may lie before the request that makes it.
const JUST_NOW: SimDuration = SimDuration::from_secs(10);

/// Components whose leader election tells of their lives.
const LEADERS: [&str; 3] = ["cloud-controller-manager", "kube-controller-manager", "kube-scheduler"];

/// What is known of nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: BTreeMap<Symbol, Node>,
    leaders: BTreeMap<Symbol, String>,
}

/// A node as requests left it.
#[derive(Debug)]
struct Node {
    leases: Heartbeats,
    statuses: Heartbeats,
    conditions: BTreeMap<Symbol, ConditionStatus>,
    taints: Option<Vec<(Symbol, Symbol)>>,
    is_unschedulable: Option<bool>,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            leases: Heartbeats::new(LEASE_SILENCE),
            statuses: Heartbeats::new(STATUS_SILENCE),
            conditions: BTreeMap::new(),
            taints: None,
            is_unschedulable: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeObject<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    spec: Option<NodeSpec<'a>>,
    status: Option<NodeStatus<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Lease<'a> {
    #[serde(borrow)]
    spec: Option<LeaseSpec<'a>>,
}

/// A step of a JSON patch.
#[derive(Debug, Deserialize)]
struct Step<'a> {
    #[serde(borrow)]
    path: Text<'a>,
    value: Option<&'a RawValue>,
}

/// A node, or what a patch says of one.
struct Body<'a> {
    node: NodeObject<'a>,
    /// Whether it is all of the node; else only what changes.
    is_whole: bool,
}

impl<'a> Body<'a> {
    fn of(call: &Call<'a>) -> Option<Self> {
        let answered = call.response.and_then(|body| serde_json::from_str::<NodeObject<'_>>(body.get()).ok());
        if let Some(node) = answered.filter(|node| text(node.kind.as_ref()) == "Node") {
            return Some(Self { node, is_whole: true });
        }
        let asked = call.request?.get();
        let is_whole = call.verb != "patch";
        if asked.starts_with('[') {
            return Some(Self { node: stepwise(asked)?, is_whole });
        }
        Some(Self { node: serde_json::from_str(asked).ok()?, is_whole })
    }
}

/// What a JSON patch replaces as a whole.
fn stepwise(patch: &str) -> Option<NodeObject<'_>> {
    let mut spec = NodeSpec::default();
    for step in serde_json::from_str::<Vec<Step<'_>>>(patch).ok()? {
        let value = step.value.map_or("null", RawValue::get);
        match &*step.path.0 {
            "/spec/unschedulable" => spec.unschedulable = Some(serde_json::from_str(value).ok()?),
            "/spec/taints" => spec.taints = Some(serde_json::from_str(value).ok()?),
            _ => {}
        }
    }
    Some(NodeObject { spec: Some(spec), ..NodeObject::default() })
}

impl Nodes {
    /// A renewal of a lease: of a kubelet's word, or of a leader of the control plane.
    pub(super) fn lease(&mut self, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        if call.namespace == "kube-node-lease" {
            if account == Account::Kubelet(call.name) {
                self.node(call.name).leases.hear(call.when, place);
            }
        } else if call.namespace == "kube-system" && LEADERS.contains(&call.name) {
            self.leader(call, place, seen);
        }
    }

    /// Who holds a component's lease has begun to lead once the holder is another one.
    fn leader(&mut self, call: &Call<'_>, place: u32, seen: &mut Seen) {
        let lease = call.request.and_then(|body| serde_json::from_str::<Lease<'_>>(body.get()).ok());
        let Some(holder) = lease.and_then(|lease| lease.spec?.holder_identity) else { return };
        let component = Symbol::new(call.name);
        let known = self.leaders.entry(component).or_default();
        if *known == holder.0 {
            return;
        }
        if !known.is_empty() && !holder.0.is_empty() {
            seen.see(call.when, place, What::ComponentStarted { component });
        }
        // One that steps down in good order leaves the lease without a holder.
        if !holder.0.is_empty() {
            holder.0.as_ref().clone_into(known);
        }
    }

    fn node(&mut self, name: &str) -> &mut Node {
        self.known.entry(Symbol::new(name)).or_default()
    }

    pub(super) fn take(&mut self, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        let name = match (call.name, account) {
            // Who registers names itself in the body only.
            ("", Account::Kubelet(node)) => node,
            (name, _) => name,
        };
        if name.is_empty() {
            return;
        }
        let node = Symbol::new(name);
        match (call.verb, call.subresource) {
            ("delete", "") => {
                self.known.entry(node).and_modify(Node::forget);
                if matches!(
                    account,
                    Account::Controller("node-controller" | "cloud-controller-manager" | "cloud-provider")
                ) {
                    seen.see(call.when, place, What::InstanceGone { node });
                }
                seen.see(call.when, place, What::NodePresent { node, is_present: false });
            }
            ("create", "") => {
                seen.see(call.when, place, What::NodePresent { node, is_present: true });
                started(node, call.when, account, place, seen);
                let known = self.known.entry(node).or_default();
                known.forget();
                // All that it is made with comes about at that time.
                (known.taints, known.is_unschedulable) = (Some(Vec::new()), Some(false));
                known.change(node, call, place, seen);
            }
            ("update" | "patch", "") => self.known.entry(node).or_default().change(node, call, place, seen),
            ("update" | "patch", "status") => {
                let known = self.known.entry(node).or_default();
                if account == Account::Kubelet(name) {
                    known.statuses.hear(call.when, place);
                }
                known.report(node, call, account, place, seen);
            }
            _ => {}
        }
    }

    /// A kubelet that starts asks to register its node, which is refused as long as the node is there.
    pub(super) fn refused(&mut self, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        if let (Account::Kubelet(node), "create", "", 409) = (account, call.verb, call.subresource, call.code) {
            started(Symbol::new(node), call.when, account, place, seen);
        }
    }

    /// Hands over when kubelets were heard.
    pub(super) fn finish(&mut self, seen: &mut Seen) {
        for (node, known) in &self.known {
            let heartbeats = if known.leases.is_empty() { &known.statuses } else { &known.leases };
            for (when, place) in heartbeats.told() {
                seen.see(when, place, What::Heartbeat { node: *node });
            }
        }
    }
}

fn started(node: Symbol, when: Bounds, account: Account<'_>, place: u32, seen: &mut Seen) {
    if matches!(account, Account::Kubelet(_)) {
        seen.see(when, place, What::KubeletStarted { node });
    }
}

impl Node {
    /// A node of the same name may come again.
    fn forget(&mut self) {
        self.conditions.clear();
        (self.taints, self.is_unschedulable) = (None, None);
    }

    /// A change of the node's spec.
    fn change(&mut self, node: Symbol, call: &Call<'_>, place: u32, seen: &mut Seen) {
        let Some(Body { node: NodeObject { spec, .. }, is_whole }) = Body::of(call) else { return };
        let spec = spec.unwrap_or_default();
        if let Some(taints) = spec.taints.or_else(|| is_whole.then(Default::default)) {
            self.taints(node, &taints.unwrap_or_default(), call.when, place, seen);
        }
        if let Some(unschedulable) = spec.unschedulable.or_else(|| is_whole.then(Default::default)) {
            let is_unschedulable = unschedulable.unwrap_or(false);
            let is_change = match self.is_unschedulable {
                Some(known) => known != is_unschedulable,
                None => !is_whole,
            };
            if is_change {
                seen.see(call.when, place, What::NodeSchedulable { node, is_schedulable: !is_unschedulable });
            }
            self.is_unschedulable = Some(is_unschedulable);
        }
    }

    /// All taints that the node has from now on.
    fn taints(&mut self, node: Symbol, taints: &[Taint<'_>], when: Bounds, place: u32, seen: &mut Seen) {
        let identity = |taint: &Taint<'_>| Some((taint.key.as_ref()?.symbol(), taint.effect.as_ref()?.symbol()));
        let now: Vec<(Symbol, Symbol)> = taints.iter().filter_map(identity).collect();
        let before = self.taints.replace(now.clone());
        let mut told = |(key, effect), is_present| {
            seen.see(when, place, What::NodeTaint { node, key, effect, is_present });
        };
        let is_recent = |taint: &Taint<'_>| {
            stamp_of(taint.time_added.as_ref())
                .is_some_and(|added| added.latest.later(JUST_NOW) >= when.earliest && added.earliest <= when.latest)
        };
        let has_recent = taints.iter().any(is_recent);
        for taint in taints {
            let Some(identity) = identity(taint) else { continue };
            // Nobody has said what was there before; what was added just now says so itself, or is what a controller has added.
            let is_added = || is_recent(taint) || !has_recent && identity.0.as_str().starts_with(OF_CONDITIONS);
            if before.as_ref().map_or_else(is_added, |before| !before.contains(&identity)) {
                told(identity, true);
            }
        }
        for gone in before.into_iter().flatten().filter(|taint| !now.contains(taint)) {
            told(gone, false);
        }
    }

    /// A change of the node's status.
    fn report(&mut self, node: Symbol, call: &Call<'_>, account: Account<'_>, place: u32, seen: &mut Seen) {
        let is_of_controller = account == Account::Controller("node-controller");
        let Some(body) = Body::of(call) else {
            // It updates a node's status only to say that it has not been heard.
            if is_of_controller && call.verb == "update" && call.request.is_none() {
                let (status, by) = (ConditionStatus::Unknown, Reporter::Controller);
                self.conditions.insert(Symbol::new("Ready"), status);
                seen.see(call.when, place, What::NodeReady { node, status, by });
            }
            return;
        };
        let by = match account {
            Account::Kubelet(_) => Reporter::Kubelet,
            _ if is_of_controller => Reporter::Controller,
            _ => Reporter::Unknown,
        };
        if let (true, true, Some(spec)) = (body.is_whole, self.taints.is_none(), body.node.spec) {
            let taints = spec.taints.flatten().unwrap_or_default();
            let identity = |taint: &Taint<'_>| Some((taint.key.as_ref()?.symbol(), taint.effect.as_ref()?.symbol()));
            self.taints = Some(taints.iter().filter_map(identity).collect());
            self.is_unschedulable = self.is_unschedulable.or(Some(spec.unschedulable.flatten().unwrap_or(false)));
        }
        for condition in body.node.status.iter().flat_map(|status| status.conditions.iter().flatten()) {
            let (Some(name), Some(status)) = (&condition.condition, condition.status()) else { continue };
            let before = self.conditions.insert(name.symbol(), status);
            let changed = stamp_of(condition.last_transition_time.as_ref());
            let is_recent = changed.is_some_and(|changed| changed.latest.later(JUST_NOW) >= call.when.earliest);
            let is_change = match before {
                Some(before) => before != status,
                None => is_recent || !body.is_whole,
            };
            if !is_change {
                continue;
            }
            let what = match &*name.0 {
                "Ready" => What::NodeReady { node, status, by },
                _ => What::NodeCondition { node, condition: name.symbol(), status },
            };
            seen.see(call.when, place, what);
        }
    }
}
