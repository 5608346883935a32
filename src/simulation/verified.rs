//! Runs that check themselves.

use rustc_hash::FxHashSet;

use super::Simulation;
use super::components::{AnyTag, AnyTimer, Components};
use super::kernel::Event;
use super::watches::Watcher;
use crate::component::Request;
use crate::scenario::HEARTBEAT_TIMEOUT;
use crate::scheduler::{self, Unseen};
use crate::state::{Change, Changed, ControlPlaneProcess, NodeId};
use crate::units::{SimDuration, SimTime};
use crate::verify::{Verifier, Violation, longest_call, unsettled};

/// How long a cluster is left alone before what it then looks like is judged: longer than every back-off and grace period. Not
/// a whole minute, lest a CronJob begin just then.
const CALM_FOR: SimDuration = SimDuration::from_millis(3_617_300);

/// A chain of so many calls, each as long as calls get, may lie between a disturbance and rest; what calls of a second add is part of the
/// calm.
const CALLS_IN_CALM: u64 = 60;
const CALL_IN_CALM: SimDuration = SimDuration::from_secs(1);

/// Nothing is expected of a cluster whose calls take longer: its controllers work with what was minutes ago.
const CALL_MAX: SimDuration = SimDuration::from_secs(60);

/// A call or a change that has been on its way for so long means that a client or a watch is far behind.
const LATE: SimDuration = SimDuration::from_secs(10);

/// What was under way at the end of the calm is looked at once more after this.
const SECOND_LOOK: SimDuration = SimDuration::from_millis(131_100);

impl Simulation {
    /// From now on every event is followed by a look at what must hold; the first violation ends the run.
    pub fn verify(&mut self) {
        let kernel = &mut self.kernel;
        kernel.verifier = Some(Box::new(Verifier::new(&kernel.store, &kernel.config, kernel.now)));
    }

    /// What was found not to hold.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// How much is under way when the timer of an object that is gone fires; none if it is not gone, or nobody asks.
    pub(super) fn before_timer(&self, timer: &AnyTimer) -> Option<(usize, usize)> {
        let is_gone = self.kernel.verifier.is_some() && !Components::is_live(timer, &self.kernel.store);
        is_gone.then(|| (self.kernel.calls.len(), self.kernel.queue.len()))
    }

    /// Nothing came of it.
    pub(super) fn after_timer(&mut self, before: Option<(usize, usize)>, event: &Event) {
        let now = (self.kernel.calls.len(), self.kernel.queue.len());
        if before.is_some_and(|before| now.0 > before.0 || now.1 > before.1) {
            let what = "a timer of an object that is gone had an effect".to_owned();
            let violation = Violation { at: self.kernel.now, event: self.describe(event), what };
            self.violation.get_or_insert(violation);
        }
    }

    pub(super) fn verify_event(&mut self, event: &Event) {
        let words = |simulation: &Self| simulation.describe(event);
        self.verify_now(words);
    }

    /// The same after a request of a client.
    pub(super) fn verify_request(&mut self) {
        self.verify_now(|_| "a client's request".to_owned());
    }

    fn verify_now(&mut self, words: impl Fn(&Self) -> String) {
        let Some(verifier) = &mut self.kernel.verifier else { return };
        let result = match verifier.event_over(self.kernel.now, &self.kernel.store) {
            Ok(true) => self.recount(),
            Ok(false) => Ok(()),
            Err(wrong) => Err(wrong),
        };
        if let Err(what) = result {
            let event = words(self);
            self.violation.get_or_insert(Violation { at: self.kernel.now, event, what });
        }
    }

    /// Counts everything anew.
    fn recount(&self) -> Result<(), String> {
        if let Some(verifier) = &self.kernel.verifier {
            verifier.recount(&self.kernel.store)?;
        }
        let (kernel, components) = (&self.kernel, &self.components);
        if components.node_lifecycle.is_up {
            let late = self.late_nodes();
            let monitor = &components.node_lifecycle.component;
            monitor.audit(&kernel.store, &kernel.config, &|node| late.contains(&node), kernel.now)?;
        }
        let scheduler = &components.scheduler;
        if scheduler.is_up { scheduler.component.audit(&kernel.store, &self.unseen()) } else { Ok(()) }
    }

    /// Nodes of which kube-controller-manager is yet to be told something.
    fn late_nodes(&self) -> FxHashSet<NodeId> {
        let undelivered = self.kernel.watches.undelivered(Watcher::KubeControllerManager);
        let node = |change: &Change| match change.what {
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } | Changed::HeartbeatChanged(node) => {
                Some(node)
            }
            _ => None,
        };
        undelivered.filter_map(node).collect()
    }

    /// What the scheduler has not seen yet.
    fn unseen(&self) -> Unseen {
        let mut unseen = Unseen::default();
        for change in self.kernel.watches.undelivered(Watcher::KubeScheduler) {
            match &change.what {
                Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } | Changed::PodRemoved { pod, .. } => {
                    unseen.pods.insert(*pod);
                }
                Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } | Changed::NodeRemoved { node, .. } => {
                    unseen.nodes.insert(*node);
                }
                _ => {}
            }
        }
        let epoch = self.components.scheduler.epoch;
        let binds = self.kernel.calls.iter().filter(|(_, call)| call.epoch == epoch);
        let binds = binds.filter_map(|(_, call)| match call.request {
            Request::BindPod { pod, .. } => Some(pod),
            _ => None,
        });
        let answers = self.kernel.answers.iter().filter(|(_, answer)| answer.epoch == epoch);
        let answers = answers.filter_map(|(_, answer)| match answer.tag {
            AnyTag::Scheduler(scheduler::Tag::Bind(pod)) => Some(pod),
            _ => None,
        });
        unseen.binding = binds.chain(answers).collect::<FxHashSet<_>>();
        unseen
    }

    /// Plays on until the cluster has had time to come to rest, with no more faults and commands than those under way, and says
    /// what should have come about and has not. A workload that makes pod after pod is held meanwhile: an hour more of it tells
    /// nothing.
    #[must_use]
    pub fn come_to_rest(&mut self) -> Option<Violation> {
        self.is_calm = true;
        self.kernel.settling.get_or_insert_default();
        let call = longest_call(&self.kernel.config);
        // Nor where a scenario is warned of calls with which no cluster lives: one that waits for each answer may never come to the last pod.
        if call > CALL_MAX || self.kernel.config.latency.api_call.quantile(0.5) >= HEARTBEAT_TIMEOUT {
            return self.violation.clone();
        }
        let more = (call.max(CALL_IN_CALM) - CALL_IN_CALM) * CALLS_IN_CALM;
        self.run_until(self.kernel.now + CALM_FOR + more);
        if let Some(what) = self.not_at_rest() {
            self.run_until(self.kernel.now + SECOND_LOOK);
            if self.violation.is_none() && self.not_at_rest().is_some() {
                let event = "an hour without faults".to_owned();
                self.violation = Some(Violation { at: self.kernel.now, event, what });
            }
        }
        self.violation.clone()
    }

    /// What keeps the cluster from being at rest; nothing can be said while a part of the control plane is down.
    fn not_at_rest(&self) -> Option<String> {
        let is_up = |process| self.components.any_up(process);
        let processes = [ControlPlaneProcess::KubeControllerManager, ControlPlaneProcess::KubeScheduler];
        if !self.kernel.api_is_up || !processes.into_iter().all(is_up) || self.is_behind() {
            return None;
        }
        if let Err(what) = self.recount() {
            return Some(what);
        }
        let verifier = self.kernel.verifier.as_ref()?;
        let none = FxHashSet::default();
        let held = self.kernel.settling.as_ref().map_or(&none, |settling| settling.held());
        let kubelets = &self.components.kubelets.component;
        let (is_busy_with, is_booting) = (|pod| kubelets.is_busy_with(pod), |node| kubelets.is_booting(node));
        unsettled(&self.kernel.store, &self.kernel.config, verifier, held, &is_busy_with, &is_booting, self.kernel.now)
    }

    /// Clients that wait for their tokens, and components to which a change has yet to be delivered, are late, not wrong.
    fn is_behind(&self) -> bool {
        let kernel = &self.kernel;
        let is_late = |since: SimTime| since + LATE < kernel.now;
        kernel.calls.iter().any(|(_, call)| is_late(call.since))
            || kernel.watches.oldest_undelivered().is_some_and(is_late)
    }

    fn describe(&self, event: &Event) -> String {
        match event {
            Event::Timer { timer, .. } => format!("the timer {timer:?}"),
            Event::Arrive(_) | Event::Resume(_) => "a call's arrival".to_owned(),
            Event::Answer(_) => "an answer".to_owned(),
            Event::Post(_) | Event::Posted { .. } => "an Event's posting".to_owned(),
            Event::Deliver(_) => "a watch's delivery".to_owned(),
            Event::Elect { process, .. } => format!("a try of {} to lead", process.as_str()),
        }
    }
}
