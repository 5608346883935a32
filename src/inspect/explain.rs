//! Why: the history of an object, each step with the chain of causes behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::InspectError;
use crate::diagnostics::suggest;
use crate::report::{Table, TableError, line, number, text};

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
    /// How many steps of other pods of the workload say the same, and have the same root.
    pub alike: usize,
    /// When the last of them was, in seconds since t=0.
    pub until_s: f64,
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
    fn read(dir: &Path) -> Result<Self, TableError> {
        const COLUMNS: &[&str] = &["effect_id", "time_s", "what", "cause_id"];
        let path = dir.join("causes.csv");
        let table = Table::read(dir, "causes.csv", COLUMNS)?;
        let (id, at) = (table.column("effect_id"), table.column("time_s"));
        let (what, cause) = (table.column("what"), table.column("cause_id"));
        let mut by_id: FxHashMap<&str, usize> = FxHashMap::default();
        let mut causes = Self { links: Vec::new(), causes: Vec::new(), effects: FxHashMap::default() };
        for (index, row) in table.rows().enumerate() {
            if by_id.insert(text(row, id), index).is_some() {
                let problem = format!("there is an effect {} already", text(row, id));
                return Err(TableError::new(&path, line(row), problem));
            }
            causes.links.push(Link { time_s: number(row, at), what: text(row, what).to_owned() });
            let because = by_id.get(text(row, cause)).copied().filter(|because| *because < index);
            if because.is_none() && !text(row, cause).is_empty() {
                let problem = format!("its cause {} is no earlier effect", text(row, cause));
                return Err(TableError::new(&path, line(row), problem));
            }
            causes.causes.push(because);
            if let Some(because) = because {
                causes.effects.entry(because).or_default().push(index);
            }
        }
        Ok(causes)
    }

    /// The objects to which something happened, by their lower-case forms.
    fn names(&self) -> impl Iterator<Item = (String, String)> {
        let names = self.links.iter().filter_map(|link| object_of(&link.what));
        names.map(|name| (name.to_ascii_lowercase(), name.to_owned()))
    }

    /// A cause is always an earlier row, so the walk ends.
    fn because(&self, effect: usize) -> Vec<Link> {
        std::iter::successors(self.causes[effect], |&cause| self.causes[cause])
            .map(|cause| self.links[cause].clone())
            .collect()
    }

    /// Where the chain of a step begins.
    fn root(&self, effect: usize) -> usize {
        std::iter::successors(Some(effect), |&cause| self.causes[cause]).last().unwrap_or(effect)
    }

    fn led_to(&self, cause: usize, about: &str) -> Vec<Link> {
        let effects = self.effects.get(&cause).into_iter().flatten().map(|&effect| &self.links[effect]);
        effects.filter(|effect| object_of(&effect.what) != Some(about)).cloned().collect()
    }
}

/// `pod/NS/NAME` of `pod/NS/NAME is Running`; whose schedule it is that something begins by.
fn object_of(what: &str) -> Option<&str> {
    if let Some((_, whose)) = what.split_once(": the schedule of ") {
        return Some(whose);
    }
    what.split(' ').next().filter(|word| word.contains('/'))
}

/// How much of a history is told.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What mattered: steps of no consequence are left out, and those that are alike and have the same root are one.
    Short,
    /// Every step.
    All,
}

/// Walks `causes.csv` for an object of a run, which may be named by less than its whole name if that is unambiguous.
///
/// # Errors
///
/// If the directory is no run's, or nothing in the run has that name, or several things have.
pub fn explain(dir: &Path, object: &str, extent: Extent) -> Result<Explanation, InspectError> {
    super::summary_of_run(dir)?;
    let pods = Table::read(dir, "pods.csv", PODS)?;
    let causes = Causes::read(dir)?;
    let named = names(dir, &pods)?;
    // Objects without a table of their own are known by what happened to them.
    let canonical = match resolve(&named, object) {
        Err(InspectError::NoObject { .. }) => resolve(&causes.names().chain(named).collect(), object)?,
        found => found?,
    };
    let mut about: BTreeSet<String> = pods_of(&pods, &canonical);
    about.insert(canonical.clone());
    let mut chapters: Vec<Chapter> = Vec::new();
    let mut alike: FxHashMap<(usize, &str), usize> = FxHashMap::default();
    let mut waits = Waits::default();
    for (index, link) in causes.links.iter().enumerate() {
        let Some(name) = object_of(&link.what).filter(|name| about.contains(*name)) else { continue };
        if extent == Extent::Short {
            let Some(what) = gist(&link.what).filter(|what| waits.is_news(name, what)) else { continue };
            // Of one object each step stands for itself.
            let place = (name != canonical).then(|| alike.get(&(causes.root(index), what))).flatten();
            if let Some(&place) = place {
                chapters[place].alike += 1;
                chapters[place].until_s = link.time_s;
                continue;
            }
            if name != canonical {
                alike.insert((causes.root(index), what), chapters.len());
            }
        }
        let (because, led_to) = (causes.because(index), causes.led_to(index, name));
        chapters.push(Chapter { effect: link.clone(), alike: 0, until_s: link.time_s, because, led_to });
    }
    Ok(Explanation { object: canonical, chapters })
}

/// What each pod has been said to wait for since anything else happened to it: one that backs off says so again and again.
#[derive(Default)]
struct Waits<'a>(FxHashMap<&'a str, Vec<&'a str>>);

impl<'a> Waits<'a> {
    /// Whether this has not just been said of the object.
    fn is_news(&mut self, object: &'a str, what: &'a str) -> bool {
        if !what.starts_with("waits: ") {
            self.0.remove(object);
            return true;
        }
        let said = self.0.entry(object).or_default();
        let is_news = !said.contains(&what);
        if is_news {
            said.push(what);
        }
        is_news
    }
}

/// What a step that matters says besides the name: that pods come and go, are ready or not and why they wait, and what befalls
/// nodes; none for the stages in between.
fn gist(what: &str) -> Option<&str> {
    let (name, gist) = what.split_once(' ')?;
    let is_stage = gist.starts_with("bound to ")
        || gist == "is Running"
        || gist == "is Pending"
        || gist == "nominated"
        || gist == "conditions changed"
        || gist == "relabeled"
        || (gist.starts_with("allows ") && name.starts_with("poddisruptionbudget/"));
    (!is_stage).then_some(gist)
}

/// The one object that is meant by a name, or by its kind and name, or by all of it.
fn resolve(known: &BTreeMap<String, String>, object: &str) -> Result<String, InspectError> {
    let wanted = object.to_ascii_lowercase();
    if let Some(found) = known.get(&wanted) {
        return Ok(found.clone());
    }
    let is_meant = |name: &str| {
        let parts: Vec<&str> = name.split('/').collect();
        let (kind, last) = (parts[0], parts[parts.len() - 1]);
        match wanted.split('/').collect::<Vec<&str>>()[..] {
            [only] => last == only,
            // A kind, or a namespace, before the name.
            [first, name] => last == name && (kind == first || parts.len() == 3 && parts[1] == first),
            _ => false,
        }
    };
    let meant: Vec<&String> = known.iter().filter(|(name, _)| is_meant(name)).map(|(_, found)| found).collect();
    match meant[..] {
        [one] => Ok(one.clone()),
        [] => {
            let last = object.rsplit('/').next().unwrap_or(object);
            let mut alike: Vec<String> = known.values().filter(|name| name.contains(last)).cloned().collect();
            alike.extend(suggest::nearest(object, known.values().map(String::as_str)).map(str::to_owned));
            alike.truncate(ALIKE_MAX);
            Err(InspectError::NoObject { object: object.to_owned(), alike })
        }
        _ => {
            let names = meant.iter().take(ALIKE_MAX).map(|name| (*name).clone()).collect();
            Err(InspectError::SeveralObjects { object: object.to_owned(), names })
        }
    }
}

/// What is read of `pods.csv`.
const PODS: &[&str] = &["namespace", "name", "owner_kind", "owner_name", "workload_kind", "workload_name"];

/// Names that an error offers.
const ALIKE_MAX: usize = 5;

/// Every name that can be asked for, by its lower-case form.
fn names(dir: &Path, pods: &Table) -> Result<BTreeMap<String, String>, TableError> {
    let (namespace, name) = (pods.column("namespace"), pods.column("name"));
    let pods = pods.rows().map(|row| format!("pod/{}/{}", text(row, namespace), text(row, name)));
    let nodes = Table::read(dir, "nodes.csv", &["node"])?;
    let node = nodes.column("node");
    let nodes = nodes.rows().map(|row| format!("node/{}", text(row, node)));
    let services = Table::read(dir, "services.csv", &["namespace", "name"])?;
    let (namespace, name) = (services.column("namespace"), services.column("name"));
    let services = services.rows().map(|row| format!("service/{}/{}", text(row, namespace), text(row, name)));
    let workloads = Table::read(dir, "workloads.csv", &["kind", "namespace", "name"])?;
    let (kind, namespace) = (workloads.column("kind"), workloads.column("namespace"));
    let name = workloads.column("name");
    let workloads = workloads.rows().map(|row| {
        let kind = text(row, kind).to_ascii_lowercase();
        format!("{kind}/{}/{}", text(row, namespace), text(row, name))
    });
    let all = pods.chain(nodes).chain(services).chain(workloads);
    Ok(all.map(|name| (name.to_ascii_lowercase(), name)).collect())
}

/// The pods of a workload, in the columns that name it or, as of a ReplicaSet of a Deployment, its controller.
fn pods_of(pods: &Table, workload: &str) -> BTreeSet<String> {
    let mut parts = workload.splitn(3, '/');
    let (Some(kind), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return BTreeSet::new();
    };
    let (pod_namespace, pod_name) = (pods.column("namespace"), pods.column("name"));
    let columns = [("workload_kind", "workload_name"), ("owner_kind", "owner_name")];
    let columns = columns.map(|(kind, name)| (pods.column(kind), pods.column(name)));
    let is_owner = |row: &csv::StringRecord| {
        columns
            .iter()
            .any(|(of_kind, of_name)| text(row, *of_kind).eq_ignore_ascii_case(kind) && text(row, *of_name) == name)
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
        write("summary.json", r#"{"scenario": "s", "metrics": {}, "workloads": []}"#);
        write("services.csv", "time_s,namespace,name\n0.000,shop,web\n");
        write("nodes.csv", "time_s,node,ready\n0.000,n1,True\n");
        write("workloads.csv", "time_s,namespace,kind,name\n0.000,shop,Deployment,web\n");
        write(
            "pods.csv",
            "namespace,name,owner_kind,owner_name,workload_kind,workload_name\nshop,web-5d-a,ReplicaSet,web-5d,Deployment,web\n\
             shop,web-5d-b,ReplicaSet,web-5d,Deployment,web\nshop,web-5d-c,ReplicaSet,web-5d,Deployment,web\n",
        );
        write(
            "causes.csv",
            "effect_id,time_s,what,cause_id\n1,10.000,scenario: Crash of n1 begins,\n2,50.000,node/n1 +unreachable,1\n\
             3,350.000,pod/shop/web-5d-a marked for deletion,2\n4,350.020,pod/shop/web-5d-b created,3\n\
             5,351.000,pod/shop/web-5d-b bound to n1,4\n6,352.000,pod/shop/web-5d-c created,2\n\
             7,353.000,service/shop/web sends to 2 pods,6\n",
        );
        dir
    }

    #[test]
    fn what_a_pod_waits_for_is_told_once_until_something_else_happens() {
        let mut waits = Waits::default();
        let mut told = |what: &'static str| waits.is_news("pod/a/b", what);
        let steps = [
            "waits: ErrImagePull (i)",
            "waits: ImagePullBackOff (i)",
            "waits: ErrImagePull (i)",
            "gone",
            "waits: ErrImagePull (i)",
        ];
        assert_eq!(steps.map(&mut told), [true, true, false, true, true]);
    }

    #[test]
    fn a_chain_ends_at_the_fault() {
        let explanation = explain(run().path(), "pod/shop/web-5d-b", Extent::All).expect("a known pod");
        let because: Vec<&str> = explanation.chapters[0].because.iter().map(|link| link.what.as_str()).collect();
        let expected =
            ["pod/shop/web-5d-a marked for deletion", "node/n1 +unreachable", "scenario: Crash of n1 begins"];
        assert_eq!(because, expected);
    }

    #[test]
    fn a_workload_is_told_by_its_pods_and_what_is_alike_once() {
        let short = explain(run().path(), "Deployment/shop/web", Extent::Short).expect("a known workload");
        assert_eq!(short.object, "deployment/shop/web");
        let said: Vec<(&str, usize)> = short.chapters.iter().map(|c| (c.effect.what.as_str(), c.alike)).collect();
        assert_eq!(said, [("pod/shop/web-5d-a marked for deletion", 0), ("pod/shop/web-5d-b created", 1)]);
        assert_eq!(short.chapters[0].led_to[0].what, "pod/shop/web-5d-b created");
        assert_eq!(short.chapters[1].until_s, 352.0);
        let all = explain(run().path(), "Deployment/shop/web", Extent::All).expect("a known workload");
        assert_eq!(all.chapters.len(), 4);
    }

    #[test]
    fn a_part_of_a_name_is_enough_if_nothing_else_has_it() {
        let found = |object: &str| explain(run().path(), object, Extent::Short).map(|found| found.object);
        for (object, expected) in [
            ("n1", "node/n1"),
            ("web-5d-a", "pod/shop/web-5d-a"),
            ("deployment/web", "deployment/shop/web"),
            ("Service/shop/web", "service/shop/web"),
            ("shop/web-5d-a", "pod/shop/web-5d-a"),
        ] {
            assert_eq!(found(object).ok().as_deref(), Some(expected), "{object}");
        }
        let Err(InspectError::SeveralObjects { names, .. }) = found("web") else { panic!("two are called web") };
        assert_eq!(names, ["deployment/shop/web", "service/shop/web"]);
    }

    #[test]
    fn what_no_table_names_is_known_by_what_happened_to_it() {
        let dir = run();
        let more =
            "8,400.000,horizontalpodautoscaler/shop/web wants 2 to 9,\n9,415.000,deployment/shop/web changed,8\n";
        let path = dir.path().join("causes.csv");
        let text = fs::read_to_string(&path).expect("the file");
        fs::write(&path, text + more).expect("a file");
        let found = explain(dir.path(), "horizontalpodautoscaler/web", Extent::Short).expect("an autoscaler");
        assert_eq!(found.object, "horizontalpodautoscaler/shop/web");
        assert_eq!(found.chapters[0].led_to[0].what, "deployment/shop/web changed");
        // What a table names comes first.
        let found = explain(dir.path(), "deployment/web", Extent::Short).expect("a workload");
        assert_eq!(found.object, "deployment/shop/web");
    }

    #[test]
    fn an_unknown_name_is_answered_with_its_likes() {
        let Err(InspectError::NoObject { alike, .. }) = explain(run().path(), "pod/shop/web-5d", Extent::Short) else {
            panic!("no such pod")
        };
        assert!(alike.contains(&"pod/shop/web-5d-a".to_owned()), "{alike:?}");
    }
}
