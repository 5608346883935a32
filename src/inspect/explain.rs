//! Why: the history of an object, each step with the chain of causes behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::InspectError;
use crate::diagnostics::suggest;
use crate::report::{Table, number, text};

/// What happened to an object, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What was asked for: `pod/NS/NAME`, `node/NAME`, `deployment/NS/NAME`.
    pub object: String,
    /// Its history, and for a workload that of the pods it lost and made.
    pub chapters: Vec<Chapter>,
}

/// A step of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chapter {
    /// What happened.
    #[serde(flatten)]
    pub effect: Link,
    /// Its causes, nearest first.
    pub because: Vec<Link>,
    /// What it led to at once.
    pub led_to: Vec<Link>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// When, in seconds since t=0.
    pub time_s: f64,
    /// What.
    pub what: String,
}

/// `causes.csv`, indexed.
struct Causes {
    links: Vec<Link>,
    causes: Vec<Option<usize>>,
    effects: FxHashMap<usize, Vec<usize>>,
}

impl Causes {
    fn read(dir: &Path) -> Self {
        let table = Table::read(&dir.join("causes.csv"));
        let (id, at) = (table.column("effect_id"), table.column("time_s"));
        let (what, cause) = (table.column("what"), table.column("cause_id"));
        let mut by_id: FxHashMap<&str, usize> = FxHashMap::default();
        let mut causes = Self { links: Vec::new(), causes: Vec::new(), effects: FxHashMap::default() };
        for (index, row) in table.rows().enumerate() {
            by_id.insert(text(row, id), index);
            causes.links.push(Link { time_s: number(row, at), what: text(row, what).to_owned() });
            let because = by_id.get(text(row, cause)).copied();
            causes.causes.push(because);
            if let Some(because) = because {
                causes.effects.entry(because).or_default().push(index);
            }
        }
        causes
    }

    /// A cause is always an earlier row, so the walk ends.
    fn because(&self, effect: usize) -> Vec<Link> {
        std::iter::successors(self.causes[effect], |&cause| self.causes[cause])
            .map(|cause| self.links[cause].clone())
            .collect()
    }

    fn led_to(&self, cause: usize, about: &str) -> Vec<Link> {
        let effects = self.effects.get(&cause).into_iter().flatten().map(|&effect| &self.links[effect]);
        effects.filter(|effect| object_of(&effect.what) != Some(about)).cloned().collect()
    }
}

/// `pod/NS/NAME` of `pod/NS/NAME is Running`.
fn object_of(what: &str) -> Option<&str> {
    what.split(' ').next().filter(|word| word.contains('/'))
}

/// Walks `causes.csv` for an object of a run.
///
/// # Errors
///
/// If the directory is no run's, or nothing in the run has that name.
pub fn explain(dir: &Path, object: &str) -> Result<Explanation, InspectError> {
    super::summary(dir)?;
    let pods = Table::read(&dir.join("pods.csv"));
    let known = names(dir, &pods);
    let Some(canonical) = known.get(&object.to_ascii_lowercase()) else {
        let mut alike: Vec<String> =
            known.values().filter(|name| name.contains(object.rsplit('/').next().unwrap_or(object))).cloned().collect();
        alike.extend(suggest::nearest(object, known.values().map(String::as_str)).map(str::to_owned));
        alike.truncate(5);
        return Err(InspectError::NoObject { object: object.to_owned(), alike });
    };
    let mut about: BTreeSet<String> = pods_of(&pods, canonical);
    about.insert(canonical.clone());
    let causes = Causes::read(dir);
    let mut chapters = Vec::new();
    for (index, link) in causes.links.iter().enumerate() {
        let Some(name) = object_of(&link.what).filter(|name| about.contains(*name)) else { continue };
        let effect = link.clone();
        chapters.push(Chapter { effect, because: causes.because(index), led_to: causes.led_to(index, name) });
    }
    Ok(Explanation { object: canonical.clone(), chapters })
}

/// Every name that can be asked for, by its lower-case form.
fn names(dir: &Path, pods: &Table) -> BTreeMap<String, String> {
    let (namespace, name) = (pods.column("namespace"), pods.column("name"));
    let pods = pods.rows().map(|row| format!("pod/{}/{}", text(row, namespace), text(row, name)));
    let nodes = Table::read(&dir.join("nodes.csv"));
    let node = nodes.column("node");
    let nodes = nodes.rows().map(|row| format!("node/{}", text(row, node)));
    let workloads = Table::read(&dir.join("workloads.csv"));
    let (kind, namespace) = (workloads.column("kind"), workloads.column("namespace"));
    let name = workloads.column("name");
    let workloads = workloads.rows().map(|row| {
        let kind = text(row, kind).to_ascii_lowercase();
        format!("{kind}/{}/{}", text(row, namespace), text(row, name))
    });
    pods.chain(nodes).chain(workloads).map(|name| (name.to_ascii_lowercase(), name)).collect()
}

/// The pods of a workload; those of a Deployment belong to ReplicaSets that bear its name and a hash.
fn pods_of(pods: &Table, workload: &str) -> BTreeSet<String> {
    let mut parts = workload.splitn(3, '/');
    let (Some(kind), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return BTreeSet::new();
    };
    let (pod_namespace, pod_name) = (pods.column("namespace"), pods.column("name"));
    let (owner_kind, owner_name) = (pods.column("owner_kind"), pods.column("owner_name"));
    let is_owner = |row: &csv::StringRecord| {
        let owner = text(row, owner_name);
        match kind {
            "deployment" => {
                text(row, owner_kind) == "ReplicaSet" && owner.rsplit_once('-').is_some_and(|(stem, _)| stem == name)
            }
            _ => text(row, owner_kind).eq_ignore_ascii_case(kind) && owner == name,
        }
    };
    pods.rows()
        .filter(|row| text(row, pod_namespace) == namespace && is_owner(row))
        .map(|row| format!("pod/{namespace}/{}", text(row, pod_name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn run() -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
        write("summary.json", "{}");
        write("nodes.csv", "time_s,node,ready\n0.000,n1,True\n");
        write("workloads.csv", "time_s,namespace,kind,name\n0.000,shop,Deployment,web\n");
        write(
            "pods.csv",
            "namespace,name,owner_kind,owner_name\nshop,web-5d-a,ReplicaSet,web-5d\nshop,web-5d-b,ReplicaSet,web-5d\n",
        );
        write(
            "causes.csv",
            "effect_id,time_s,what,cause_id\n1,10.000,scenario: Crash of n1 begins,\n2,50.000,node/n1 +unreachable,1\n\
             3,350.000,pod/shop/web-5d-a marked for deletion,2\n4,350.020,pod/shop/web-5d-b created,3\n",
        );
        dir
    }

    #[test]
    fn a_chain_ends_at_the_fault() {
        let explanation = explain(run().path(), "pod/shop/web-5d-b").expect("a known pod");
        let because: Vec<&str> = explanation.chapters[0].because.iter().map(|link| link.what.as_str()).collect();
        let expected =
            ["pod/shop/web-5d-a marked for deletion", "node/n1 +unreachable", "scenario: Crash of n1 begins"];
        assert_eq!(because, expected);
    }

    #[test]
    fn a_workload_is_told_by_its_pods() {
        let explanation = explain(run().path(), "Deployment/shop/web").expect("a known workload");
        assert_eq!(explanation.object, "deployment/shop/web");
        assert_eq!(explanation.chapters.len(), 2);
        assert_eq!(explanation.chapters[0].led_to[0].what, "pod/shop/web-5d-b created");
    }

    #[test]
    fn an_unknown_name_is_answered_with_its_likes() {
        let Err(InspectError::NoObject { alike, .. }) = explain(run().path(), "pod/shop/web-5d") else {
            panic!("no such pod")
        };
        assert!(alike.contains(&"pod/shop/web-5d-a".to_owned()), "{alike:?}");
    }
}
