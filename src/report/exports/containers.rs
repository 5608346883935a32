//! When containers began anew, and what had ended them. No table names them: those of a pod are told as one.

use rustc_hash::FxHashMap;

use super::pods::{Name, Pod};
use crate::report::table::{Table, text, whole};

/// The columns of events.csv that tell of it.
pub(super) const EVENTS: &[&str] = &["time_s", "component", "reason", "kind", "namespace", "name"];
/// Those of faults.csv.
pub(super) const FAULTS: &[&str] = &["kind", "object", "began_s"];

/// What the containers of a pod are called.
pub(super) const CONTAINER: &str = "main";

/// Why containers ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at_ms: i64,
    pub(super) reason: &'static str,
    pub(super) exit_code: i32,
}

/// Containers that began anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Restart {
    pub(super) at_ms: i64,
    /// What had ended them, if it was a fault of their own.
    pub(super) end: Option<End>,
}

/// What there is of it, by name of the pod.
pub(super) struct Restarts<'a> {
    starts: FxHashMap<Name<'a>, Vec<i64>>,
    ends: FxHashMap<Name<'a>, Vec<End>>,
}

impl<'a> Restarts<'a> {
    pub(super) fn new(events: &'a Table, faults: &'a Table) -> Self {
        let [time, component, reason, namespace, name] =
            ["time_s", "component", "reason", "namespace", "name"].map(|name| events.column(name));
        let mut starts: FxHashMap<Name<'a>, Vec<i64>> = FxHashMap::default();
        let is_start = |row: &_| text(row, component) == "kubelet" && text(row, reason) == "Started";
        for row in events.rows().filter(is_start) {
            let at_ms = whole(row, time).unwrap_or_default();
            let starts = starts.entry((text(row, namespace), text(row, name))).or_default();
            // Each container has an Event.
            if starts.last() != Some(&at_ms) {
                starts.push(at_ms);
            }
        }
        let [kind, object, began] = ["kind", "object", "began_s"].map(|name| faults.column(name));
        let mut ends: FxHashMap<Name<'a>, Vec<End>> = FxHashMap::default();
        for row in faults.rows() {
            let (reason, exit_code) = match text(row, kind) {
                "OOMKill" => ("OOMKilled", 137),
                "ContainerCrash" => ("Error", 1),
                _ => continue,
            };
            if let Some(name) = text(row, object).strip_prefix("pod/").and_then(|name| name.split_once('/')) {
                let end = End { at_ms: whole(row, began).unwrap_or_default(), reason, exit_code };
                ends.entry(name).or_default().push(end);
            }
        }
        Self { starts, ends }
    }

    /// Those of a pod, by time.
    pub(super) fn of(&self, pod: &Pod<'_>) -> Vec<Restart> {
        let starts = self.starts.get(&pod.name()).into_iter().flatten().copied();
        let first = usize::from(!(pod.is_initial && pod.started.is_some_and(|at_ms| at_ms <= 0)));
        let mut before = i64::MIN;
        let mut restarts = Vec::new();
        for at_ms in starts.filter(|at_ms| pod.lives_at(*at_ms)).skip(first) {
            let mut ends = self.ends.get(&pod.name()).into_iter().flatten();
            let end = ends.rfind(|end| before < end.at_ms && end.at_ms <= at_ms && pod.lives_at(end.at_ms)).copied();
            restarts.push(Restart { at_ms, end });
            before = at_ms;
        }
        restarts
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::report::run_tables::RunTables;

    #[test]
    fn the_first_start_is_none_anew_and_a_fault_ends_what_ran_before_the_next() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("a file");
        write(
            "events.csv",
            "time_s,component,reason,kind,namespace,name\n5.000,kubelet,Started,Pod,shop,new\n5.000,kubelet,Started,Pod,shop,new\n\
             30.000,kubelet,Started,Pod,shop,old\n61.000,kubelet,Started,Pod,shop,new\n90.000,kubelet,Started,Pod,shop,new\n",
        );
        write("faults.csv", "kind,object,began_s\nOOMKill,pod/shop/new,60.000\nCrash,node/a,80.000\n");
        write(
            "pods.csv",
            "namespace,name,initial,created_s,started_s,gone_s\nshop,new,false,1.000,5.000,\nshop,old,true,0.000,0.000,\n",
        );
        let run = RunTables::new(dir.path().to_owned(), Value::Null);
        let read = |file| run.read(file, &[]).expect("a table");
        let restarts = Restarts::new(read("events.csv"), read("faults.csv"));
        let pods = Pod::all(read("pods.csv"));
        let end = Some(End { at_ms: 60_000, reason: "OOMKilled", exit_code: 137 });
        let restart = |at_ms, end| Restart { at_ms, end };
        assert_eq!(restarts.of(&pods[0]), [restart(61_000, end), restart(90_000, None)]);
        assert_eq!(restarts.of(&pods[1]), [restart(30_000, None)]);
    }
}
