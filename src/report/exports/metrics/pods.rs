//! What kube-state-metrics says of pods.

use std::io;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::containers::{CONTAINER, EVENTS, FAULTS, Restarts};
use super::super::pods::{Name, PODS, Pod, READINESS, Readiness};
use super::{Change, STATUSES, Samples};
use crate::report::run_tables::RunTables;
use crate::report::table::{Table, text, whole};
use crate::report::tables::TableError;

const TIMERS: &[&str] = &["set_s", "timer", "namespace", "name", "length_s"];

const PHASES: &[&str] = &["Pending", "Running", "Succeeded", "Failed", "Unknown"];

/// What there is to be read of pods.
pub(super) struct Read {
    pods: Arc<Table>,
    readiness: Arc<Table>,
    events: Arc<Table>,
    timers: Arc<Table>,
    faults: Arc<Table>,
}

pub(super) fn read(run: &RunTables) -> Result<Read, TableError> {
    let read = |file, columns| run.read(file, columns).map(Arc::clone);
    Ok(Read {
        pods: read("pods.csv", PODS)?,
        readiness: read("readiness.csv", READINESS)?,
        events: read("events.csv", EVENTS)?,
        timers: read("timers.csv", TIMERS)?,
        faults: read("faults.csv", FAULTS)?,
    })
}

/// A pod as these metrics have it.
struct Shown<'a>(Pod<'a>);

impl<'a> Shown<'a> {
    fn labels(&self) -> Vec<(&'static str, &str)> {
        vec![("namespace", self.0.about.namespace), ("pod", self.0.about.name), ("uid", &self.0.uid)]
    }

    fn with<'b>(&'b self, more: &[(&'static str, &'b str)]) -> Vec<(&'static str, &'b str)> {
        self.labels().into_iter().chain(more.iter().copied()).collect()
    }

    /// A history that ends with the pod.
    fn until_gone<T>(&self, mut history: Vec<(i64, Option<T>)>) -> Vec<(i64, Option<T>)> {
        history.extend(self.0.gone.map(|gone| (gone, None)));
        history
    }

    /// The same value from a time on.
    fn from(&self, at_ms: i64, value: f64) -> Vec<Change> {
        self.until_gone(vec![(at_ms, Some(value))])
    }

    fn phases(&self) -> Vec<(i64, Option<&'a str>)> {
        let pending = Some((self.0.created, "Pending"));
        let running = self.0.started.map(|at_ms| (at_ms, "Running"));
        let finished = self.0.finished.map(|at_ms| (at_ms, self.0.phase));
        let phases = [pending, running, finished].into_iter().flatten();
        self.until_gone(phases.map(|(at_ms, phase)| (at_ms, Some(phase))).collect())
    }
}

pub(super) fn write(read: &Read, answer: &mut dyn Samples) -> io::Result<()> {
    let pods: Vec<Shown<'_>> = Pod::all(&read.pods).into_iter().map(Shown).collect();
    for pod in &pods {
        info(pod, answer)?;
    }
    for pod in &pods {
        let (kind, name) = pod.0.owner;
        if !kind.is_empty() {
            let labels = pod.with(&[("owner_kind", kind), ("owner_name", name), ("owner_is_controller", "true")]);
            answer.series("kube_pod_owner", &labels, &pod.from(pod.0.created, 1.0))?;
        }
    }
    for pod in &pods {
        answer.one_of("kube_pod_status_phase", &pod.labels(), ("phase", PHASES), &pod.phases())?;
    }
    let readiness = Readiness::new(&read.readiness);
    for pod in &pods {
        answer.one_of("kube_pod_status_ready", &pod.labels(), ("condition", STATUSES), &ready(pod, &readiness))?;
    }
    for pod in &pods {
        let mut history = vec![(pod.0.created, Some("false"))];
        history.extend(pod.0.scheduled.map(|at_ms| (at_ms, Some("true"))));
        let history = pod.until_gone(history);
        answer.one_of("kube_pod_status_scheduled", &pod.labels(), ("condition", STATUSES), &history)?;
    }
    let restarted = Restarts::new(&read.events, &read.faults);
    pods.iter().try_for_each(|pod| restarts(pod, &restarted, answer))?;
    let refused = refused(&read.events);
    let graces = graces(&read.timers);
    pods.iter().try_for_each(|pod| rare(pod, &refused, &graces, answer))?;
    pods.iter().try_for_each(|pod| times(pod, answer))
}

/// Its node is among the labels: a pod that is bound goes on as another series.
fn info(pod: &Shown<'_>, answer: &mut dyn Samples) -> io::Result<()> {
    let (kind, name) = pod.0.owner;
    let by = [("created_by_kind", kind), ("created_by_name", name)];
    let (waits, stands) = match pod.0.scheduled {
        Some(at_ms) => (vec![(pod.0.created, Some(1.0)), (at_ms, None)], Some(at_ms)),
        None => (pod.from(pod.0.created, 1.0), None),
    };
    answer.series("kube_pod_info", &pod.with(&by), &waits)?;
    let Some(since) = stands else { return Ok(()) };
    let mut labels = pod.with(&by);
    labels.push(("node", pod.0.node));
    answer.series("kube_pod_info", &labels, &pod.from(since, 1.0))
}

/// The condition is there from when a kubelet has the pod.
fn ready(pod: &Shown<'_>, readiness: &Readiness<'_>) -> Vec<(i64, Option<&'static str>)> {
    let mut history: Vec<(i64, Option<&'static str>)> = Vec::new();
    history.extend(pod.0.scheduled.map(|at_ms| (at_ms, Some("false"))));
    let told = |is_ready| if is_ready { "true" } else { "false" };
    history.extend(readiness.of(&pod.0).into_iter().map(|(at_ms, is_ready)| (at_ms, Some(told(is_ready)))));
    history.sort_by_key(|(at_ms, _)| *at_ms);
    pod.until_gone(history)
}

/// How often containers began anew, and what ended them last, if tables tell it.
fn restarts(pod: &Shown<'_>, restarts: &Restarts<'_>, answer: &mut dyn Samples) -> io::Result<()> {
    let Some(started) = pod.0.started else { return Ok(()) };
    let restarts = restarts.of(&pod.0);
    let mut counts = vec![(started, Some(0.0))];
    counts.extend((1..).zip(&restarts).map(|(count, restart)| (restart.at_ms, Some(f64::from(count)))));
    let labels = pod.with(&[("container", CONTAINER)]);
    answer.series("kube_pod_container_status_restarts_total", &labels, &pod.until_gone(counts))?;
    let ends: Vec<(i64, Option<&str>)> =
        restarts.iter().map(|restart| (restart.at_ms, restart.end.map(|end| end.reason))).collect();
    for reason in ["Error", "OOMKilled"] {
        if ends.iter().any(|(_, of)| *of == Some(reason)) {
            let is_it = |of: &str| if of == reason { Some(1.0) } else { None };
            let changes = ends.iter().map(|(at_ms, of)| (*at_ms, of.and_then(is_it))).collect();
            let labels = pod.with(&[("container", CONTAINER), ("reason", reason)]);
            answer.series("kube_pod_container_status_last_terminated_reason", &labels, &pod.until_gone(changes))?;
        }
    }
    Ok(())
}

/// When the scheduler said of a pod that no node takes it, by name.
fn refused(events: &Table) -> FxHashMap<Name<'_>, Vec<i64>> {
    let [time, reason, namespace, name] = ["time_s", "reason", "namespace", "name"].map(|name| events.column(name));
    let mut refused: FxHashMap<Name<'_>, Vec<i64>> = FxHashMap::default();
    for row in events.rows().filter(|row| text(row, reason) == "FailedScheduling") {
        let at_ms = whole(row, time).unwrap_or_default();
        refused.entry((text(row, namespace), text(row, name))).or_default().push(at_ms);
    }
    refused
}

/// From when and for how long pods that are being deleted have to end, by name.
fn graces(timers: &Table) -> FxHashMap<Name<'_>, Vec<(i64, i64)>> {
    let [set, timer, namespace, name, length] =
        TIMERS.iter().map(|name| timers.column(name)).collect::<Vec<_>>().try_into().expect("as many");
    let mut graces: FxHashMap<Name<'_>, Vec<(i64, i64)>> = FxHashMap::default();
    for row in timers.rows().filter(|row| text(row, timer) == "termination-grace") {
        let grace = (whole(row, set).unwrap_or_default(), whole(row, length).unwrap_or_default());
        graces.entry((text(row, namespace), text(row, name))).or_default().push(grace);
    }
    graces
}

/// What only pods in trouble have.
fn rare(
    pod: &Shown<'_>,
    refused: &FxHashMap<Name<'_>, Vec<i64>>,
    graces: &FxHashMap<Name<'_>, Vec<(i64, i64)>>,
    answer: &mut dyn Samples,
) -> io::Result<()> {
    let key = pod.0.name();
    let first = refused.get(&key).into_iter().flatten().find(|at_ms| pod.0.lives_at(**at_ms));
    if let Some(since) = first {
        let mut changes = vec![(*since, Some(1.0))];
        changes.extend(pod.0.scheduled.map(|at_ms| (at_ms, None)));
        answer.series("kube_pod_status_unschedulable", &pod.labels(), &pod.until_gone(changes))?;
    }
    if let Some(asked) = pod.0.deletion {
        // Its time stamp is when the grace will be over.
        let graces = graces.get(&key).into_iter().flatten();
        let grace = graces.filter(|(set, _)| pod.0.lives_at(*set)).map(|(_, length)| *length).next();
        let at = answer.epoch().unix_millis(asked + grace.unwrap_or_default()).div_euclid(1000);
        answer.series("kube_pod_deletion_timestamp", &pod.labels(), &pod.from(asked, at as f64))?;
    }
    if let (Some(finished), false) = (pod.0.finished, pod.0.reason.is_empty()) {
        let labels = pod.with(&[("reason", pod.0.reason)]);
        let changes = pod.until_gone(vec![(pod.0.created, Some(0.0)), (finished, Some(1.0))]);
        answer.series("kube_pod_status_reason", &labels, &changes)?;
    }
    Ok(())
}

/// Times of pods that the run has seen.
fn times(pod: &Shown<'_>, answer: &mut dyn Samples) -> io::Result<()> {
    if pod.0.is_initial {
        return Ok(());
    }
    let of = [("kube_pod_created", Some(pod.0.created)), ("kube_pod_status_scheduled_time", pod.0.scheduled)];
    for (name, at_ms) in of {
        let Some(at_ms) = at_ms else { continue };
        let value = answer.epoch().unix_millis(at_ms).div_euclid(1000) as f64;
        answer.series(name, &pod.labels(), &pod.from(at_ms, value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::identity::About;
    use super::super::tests::{answer, samples};

    #[test]
    fn a_pod_that_is_bound_and_deleted_gives_way_to_another_series_each_time() {
        let pods = "shop,db-0,StatefulSet,db,true,a,0.000,0.000,0.000,70.000,TaintManagerEviction,,100.000,Running,\n\
                    shop,db-0,StatefulSet,db,false,b,101.000,130.000,140.000,,,,,Running,\n";
        let readiness = "0.000,shop,db-0,True\n65.000,shop,db-0,False\n145.000,shop,db-0,True\n";
        let timers = "70.000,termination-grace,shop,db-0,30.000\n";
        let events = "102.000,default-scheduler,FailedScheduling,Pod,shop,db-0\n";
        let tables = [("pods.csv", pods), ("readiness.csv", readiness), ("timers.csv", timers), ("events.csv", events)];
        let found = answer(30, &tables);
        let uid = |created_ms| About { kind: "Pod", namespace: "shop", name: "db-0", created_ms }.uid();
        let of = |name: &str, created_ms: i64, more: &[(&str, &str)]| {
            let mut labels = json!({"__name__": name, "namespace": "shop", "pod": "db-0", "uid": uid(created_ms)});
            more.iter().for_each(|(label, value)| labels[label] = (*value).into());
            samples(&found, labels)
        };
        let by = [("created_by_kind", "StatefulSet"), ("created_by_name", "db")];
        let on = |node| [by[0], by[1], ("node", node)];
        assert_eq!(of("kube_pod_info", 0, &on("a")), "30=1 60=1 90=1");
        assert_eq!(of("kube_pod_info", 101_000, &by), "120=1");
        assert!(of("kube_pod_info", 101_000, &on("b")).starts_with("150=1 180=1"));
        assert_eq!(of("kube_pod_status_ready", 0, &[("condition", "true")]), "30=1 60=1 90=0");
        assert!(of("kube_pod_status_ready", 101_000, &[("condition", "true")]).starts_with("150=0 180=1"));
        assert!(of("kube_pod_status_phase", 101_000, &[("phase", "Pending")]).starts_with("120=1 150=0"));
        // t=0 is at 10 s of the Unix clock.
        assert_eq!(of("kube_pod_deletion_timestamp", 0, &[]), "90=110");
        assert_eq!(of("kube_pod_status_unschedulable", 101_000, &[]), "120=1");
        assert!(of("kube_pod_created", 101_000, &[]).starts_with("120=111 150=111"));
        assert_eq!(of("kube_pod_created", 0, &[]), "");
    }
}
