//! When a process of the control plane leads again after it has lost its lease.
//!
//! # Source
//! client-go, leader election: who leads renews the lease every retry period, and exits when it has tried in vain, every retry period, for as long
//! as the renew deadline; it does not look once more before it exits. A process that does not lead tries every retry period, lengthened by up to 1.2 of it, and takes the lease over when
//! the holder has not renewed it for as long as the lease lasts, counted from when it first saw it so. Who begins anew has seen nothing.
//!
//! # Differs
//! There are as many candidates as nodes that bear the control plane, one if no node says that it does.

use crate::component::Config;
use crate::engine::{Stream, Streams};
use crate::model::has_control_plane_role;
use crate::state::{ControlPlaneProcess, Store};
use crate::units::{SimDuration, SimTime};

/// By how much of itself a retry period is lengthened at most.
const JITTER: f64 = 1.2;

/// How a process holds its lease.
#[derive(Copy, Clone, Debug)]
pub(super) struct Terms {
    /// For how long it is valid after a renewal.
    lease_duration: SimDuration,
    /// A holder that cannot renew it for so long exits.
    renew_deadline: SimDuration,
    retry_period: SimDuration,
}

impl Terms {
    /// Those of a process; none if it holds no lease.
    pub(super) fn of(process: ControlPlaneProcess, config: &Config) -> Option<Self> {
        match process {
            ControlPlaneProcess::KubeApiserver => None,
            ControlPlaneProcess::KubeControllerManager => {
                let flags = &config.kube_controller_manager;
                flags.leader_elect.then_some(Self {
                    lease_duration: flags.leader_elect_lease_duration,
                    renew_deadline: flags.leader_elect_renew_deadline,
                    retry_period: flags.leader_elect_retry_period,
                })
            }
            ControlPlaneProcess::KubeScheduler => {
                let election = &config.kube_scheduler.leader_election;
                let terms = || {
                    Some(Self {
                        lease_duration: election.lease_duration?,
                        renew_deadline: election.renew_deadline?,
                        retry_period: election.retry_period?,
                    })
                };
                terms().filter(|_| election.leader_elect != Some(false))
            }
        }
    }

    /// When a process exits that could not reach the API server from `lost_at` until `back_at`; none if a try to renew came in time.
    pub(super) fn exit_at(
        &self,
        process: ControlPlaneProcess,
        (lost_at, back_at): (SimTime, SimTime),
        streams: &Streams,
    ) -> Option<SimTime> {
        let entity = format!("{} {}", process.as_str(), lost_at.as_nanos());
        let first = lost_at + times(self.retry_period, streams.stream("lease-renewal", &entity).unit());
        let tries = self.renew_deadline.as_nanos().div_ceil(self.retry_period.as_nanos().max(1));
        let last = first + self.retry_period * tries.saturating_sub(1);
        (back_at > last).then(|| first + self.renew_deadline)
    }
}

/// A process that waits to lead.
#[derive(Clone, Debug)]
struct Candidate {
    process: ControlPlaneProcess,
    /// Of a try that is on its way: others are void.
    number: u32,
    /// How many replicas try.
    replicas: usize,
    /// Since when the lease has been seen as it is.
    observed_at: Option<SimTime>,
    chance: Stream,
}

/// A leader whose tries to renew its lease have all failed, and that has yet to exit.
#[derive(Clone, Debug)]
struct Leaver {
    process: ControlPlaneProcess,
    number: u32,
    lost_at: SimTime,
}

/// Those who wait to lead, and those who are about to lead no longer.
#[derive(Clone, Debug, Default)]
pub(super) struct Elections {
    candidates: Vec<Candidate>,
    leavers: Vec<Leaver>,
    tries: u32,
}

/// What comes of a try.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Try {
    /// It leads.
    Leads,
    /// It tries again after that.
    Again(SimDuration, u32),
    /// It led, and exits; the API server was away from then on.
    Exits(SimTime),
    /// Nobody waits for it.
    Void,
}

impl Elections {
    /// A process does not wait any longer.
    pub(super) fn withdraw(&mut self, process: ControlPlaneProcess) {
        self.candidates.retain(|candidate| candidate.process != process);
        self.leavers.retain(|leaver| leaver.process != process);
    }

    /// A leader will exit; gives the number under which it does.
    pub(super) fn leave(&mut self, process: ControlPlaneProcess, lost_at: SimTime) -> u32 {
        self.withdraw(process);
        self.tries += 1;
        self.leavers.push(Leaver { process, number: self.tries, lost_at });
        self.tries
    }

    /// The API server is back at `now`, and a process that could not renew its lease since `lost_at` has begun anew. Gives when it first tries,
    /// and the number of that try.
    pub(super) fn stand(
        &mut self,
        process: ControlPlaneProcess,
        terms: Terms,
        (lost_at, now): (SimTime, SimTime),
        (store, streams): (&Store, &Streams),
    ) -> (SimDuration, u32) {
        let nodes = store.nodes().filter(|(_, node)| has_control_plane_role(&node.labels)).count();
        // The other replicas have seen the last renewal.
        let observed_at = (nodes > 1).then_some(lost_at);
        let entity = format!("{} {}", process.as_str(), now.as_nanos());
        let chance = streams.stream("leader-election", &entity);
        self.withdraw(process);
        self.tries += 1;
        let mut candidate = Candidate { process, number: self.tries, replicas: nodes.max(1), observed_at, chance };
        // Tries have gone on all the while.
        let first = times(candidate.pause(terms), candidate.chance.unit());
        self.candidates.push(candidate);
        (first, self.tries)
    }

    /// A try or an exit, if it is still waited for.
    pub(super) fn attempt(
        &mut self,
        (process, number): (ControlPlaneProcess, u32),
        terms: Option<Terms>,
        now: SimTime,
        api_is_up: bool,
    ) -> Try {
        if let Some(leaver) = self.leavers.iter().find(|of| of.process == process && of.number == number) {
            return Try::Exits(leaver.lost_at);
        }
        let waiting = self.candidates.iter_mut().find(|of| of.process == process && of.number == number);
        let (Some(candidate), Some(terms)) = (waiting, terms) else { return Try::Void };
        if api_is_up {
            let since = *candidate.observed_at.get_or_insert(now);
            if now.saturating_since(since) >= terms.lease_duration {
                self.withdraw(process);
                return Try::Leads;
            }
        }
        self.tries += 1;
        candidate.number = self.tries;
        Try::Again(candidate.pause(terms), self.tries)
    }
}

impl Candidate {
    /// Until the next of its replicas tries.
    fn pause(&mut self, terms: Terms) -> SimDuration {
        let shortest = (0..self.replicas).map(|_| self.chance.unit()).fold(1.0, f64::min);
        times(terms.retry_period, 1.0 + JITTER * shortest)
    }
}

fn times(length: SimDuration, factor: f64) -> SimDuration {
    SimDuration::from_secs_f64(length.as_secs_f64() * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: ControlPlaneProcess = ControlPlaneProcess::KubeControllerManager;

    fn terms() -> Terms {
        let seconds = SimDuration::from_secs;
        Terms { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }

    /// When a process leads that lost its lease at 100 s, with an API server that is back at 160 s.
    fn leads_after(seed: u64, store: &Store) -> SimDuration {
        let (lost_at, back) = (SimTime::from_secs(100), SimTime::from_secs(160));
        let mut elections = Elections::default();
        let (first, mut number) = elections.stand(PROCESS, terms(), (lost_at, back), (store, &Streams::new(seed)));
        let mut now = back + first;
        loop {
            match elections.attempt((PROCESS, number), Some(terms()), now, true) {
                Try::Leads => return now.saturating_since(back),
                Try::Again(after, next) => (now, number) = (now + after, next),
                Try::Exits(_) | Try::Void => panic!("it waits"),
            }
        }
    }

    #[test]
    fn who_begins_anew_waits_for_the_lease_from_when_it_first_sees_it() {
        for seed in 0..200 {
            let after = leads_after(seed, &Store::default()).as_secs_f64();
            assert!((15.0..15.0 + 4.4 + 4.4).contains(&after), "seed {seed}: {after}");
        }
    }

    /// The share of outages of so many milliseconds after which a process has exited.
    fn exits_of(outage_ms: i64) -> usize {
        let (lost_at, back_at) = (SimTime::from_secs(60), SimTime::from_millis(60_000 + outage_ms));
        let exits = (0..400).filter_map(|seed| terms().exit_at(PROCESS, (lost_at, back_at), &Streams::new(seed)));
        let late = |at: &SimTime| at.saturating_since(lost_at).as_secs_f64();
        let exits: Vec<f64> = exits.map(|at| late(&at)).collect();
        assert!(exits.iter().all(|after| (10.0..12.0).contains(after)), "{exits:?}");
        exits.len()
    }

    #[test]
    fn a_leader_exits_when_its_last_try_within_the_deadline_has_failed() {
        assert_eq!([7_900, 8_000, 10_000, 60_000].map(exits_of), [0, 0, 400, 400]);
        let half = exits_of(9_000);
        assert!((160..240).contains(&half), "{half} of 400");
    }

    #[test]
    fn a_try_that_nobody_waits_for_is_void() {
        let mut elections = Elections::default();
        let at = (SimTime::from_secs(1), SimTime::from_secs(20));
        let (_, number) = elections.stand(PROCESS, terms(), at, (&Store::default(), &Streams::new(1)));
        elections.withdraw(PROCESS);
        let attempt = elections.attempt((PROCESS, number), Some(terms()), SimTime::from_secs(60), true);
        assert_eq!(attempt, Try::Void);
    }
}
