//! Who came for whom: by what the creation of a pod follows from, else in order among the pods of one owner.

use std::collections::{BTreeMap, BTreeSet};

use super::super::causes::object_of;
use super::super::record::{Pod, Record};

/// The pod that came for each one that its owner lost, by position.
pub(super) fn replacements(record: &Record, of: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    let pods = &record.pods;
    let mut found: BTreeMap<usize, usize> = BTreeMap::new();
    let mut came: BTreeSet<usize> = BTreeSet::new();
    for &pod in of.iter().filter(|pod| !pods[**pod].initial) {
        if let Some(lost) = predecessor(record, pod)
            && pods[lost].owner == pods[pod].owner
            && pods[lost].ended().is_some()
            && !found.contains_key(&lost)
        {
            found.insert(lost, pod);
            came.insert(pod);
        }
    }
    // One pass of a controller makes up for several: the others follow in order.
    let mut others: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for &pod in of.iter().filter(|pod| !pods[**pod].initial && !came.contains(pod)) {
        others.entry(place(&pods[pod])).or_default().push(pod);
    }
    for of in others.values_mut() {
        of.sort_by_key(|pod| std::cmp::Reverse(pods[*pod].created));
    }
    let mut lost: Vec<usize> =
        of.iter().copied().filter(|pod| pods[*pod].taken_away && !found.contains_key(pod)).collect();
    lost.sort_by_key(|pod| pods[*pod].ended());
    for pod in lost {
        let Some(candidates) = others.get_mut(&place(&pods[pod])) else { continue };
        while candidates.last().is_some_and(|next| Some(pods[*next].created) < pods[pod].ended()) {
            candidates.pop();
        }
        if let Some(next) = candidates.pop() {
            found.insert(pod, next);
        }
    }
    found
}

/// A daemon on another node makes up for nothing.
fn place(pod: &Pod) -> (&str, &str) {
    let node = if pod.owner.starts_with("daemonset/") { pod.node.as_deref().unwrap_or_default() } else { "" };
    (&pod.owner, node)
}

/// The pod whose end a pod's creation follows from.
fn predecessor(record: &Record, pod: usize) -> Option<usize> {
    let (causes, pod) = (&record.causes, &record.pods[pod]);
    let is_creation = |row: &usize| {
        let effect = &causes.effects[*row];
        effect.at == pod.created && effect.what.ends_with(" created")
    };
    let created = causes.about(&pod.name).iter().copied().find(is_creation)?;
    let of_pod = |row: usize| {
        let effect = &causes.effects[row];
        let name = object_of(&effect.what).filter(|name| name.starts_with("pod/"))?;
        let mut all = record.pods_by_name.get(name)?.iter().copied();
        all.rfind(|index| record.pods[*index].created < pod.created && record.pods[*index].created <= effect.at)
    };
    causes.chain(created).find_map(of_pod)
}
