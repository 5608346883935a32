//! Equal inputs give equal bytes: twice, with one thread or two, and from the lock file.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Every file below `dir` with its path there, in order.
pub(crate) fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("a directory of results") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("it is below").to_path_buf();
                found.push((name, fs::read(&path).expect("a result")));
            }
        }
    }
    found.sort();
    found
}

fn play(scenario: &Path, threads: &str, out: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    Command::cargo_bin("kubesquall")
        .expect("the binary")
        .env("RAYON_NUM_THREADS", threads)
        .arg("run")
        .arg(scenario)
        .arg("-q")
        .arg("--out")
        .arg(out)
        .assert()
        .success();
    files(out)
}

#[track_caller]
fn check_same(what: &str, a: &[(PathBuf, Vec<u8>)], b: &[(PathBuf, Vec<u8>)]) {
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b), "{what}");
    for ((name, a), (_, b)) in a.iter().zip(b) {
        assert!(a == b, "{what}: {} differs", name.display());
    }
}

fn check(scenario: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(scenario);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let first = play(&path, "1", &dir.path().join("first"));
    assert!(first.iter().any(|(name, _)| name == Path::new("summary.json")), "{scenario} has a summary");
    let again = play(&path, "2", &dir.path().join("again"));
    check_same(scenario, &first, &again);
    let locked = play(&dir.path().join("first/scenario.lock.yaml"), "2", &dir.path().join("locked"));
    check_same(&format!("{scenario} from its lock file"), &first, &locked);
}

/// One test a scenario, so that they run side by side and a failure names its scenario.
macro_rules! scenarios {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            check($file);
        })*

        #[test]
        fn every_shipped_scenario_is_played_twice() {
            let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
            let entries = fs::read_dir(dir).expect("scenarios").map(|entry| entry.expect("an entry").file_name());
            let mut shipped: Vec<String> =
                entries.filter_map(|name| name.into_string().ok()).filter(|name| name.ends_with(".yaml")).collect();
            shipped.sort();
            let mut listed = vec![$($file.to_owned()),*];
            listed.sort();
            assert_eq!(shipped, listed);
        }
    };
}

scenarios! {
    aks_disk_failover: "aks-disk-failover.yaml",
    aks_disk_failover_node_deleted: "aks-disk-failover-node-deleted.yaml",
    autoscaled_shop: "autoscaled-shop.yaml",
    dedicated_nodes: "dedicated-nodes.yaml",
    drain_and_upgrade: "drain-and-upgrade.yaml",
    flapping_node: "flapping-node.yaml",
    kubelets_cut_off: "kubelets-cut-off.yaml",
    node_pool_upgrade: "node-pool-upgrade.yaml",
    spot_nodes: "spot-nodes.yaml",
    total_loss: "total-loss.yaml",
    why_pending: "why-pending.yaml",
    year_of_failures: "year-of-failures.yaml",
    zone_outage: "zone-outage.yaml",
}
