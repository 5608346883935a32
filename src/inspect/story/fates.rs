//! Who came for whom: of pods that were lost as `disruptions.csv` has it, of those that their controller itself ended by what the creation
//! of the other follows from.

use std::collections::{BTreeMap, BTreeSet};

use super::super::causes::object_of;
use super::super::record::{Pod, Record};
use crate::units::SimTime;

/// The pod that came for each one that its owner lost or gave up, by position.
pub(super) fn replacements(record: &Record, of: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    let lost = of.iter().filter_map(|pod| Some((*pod, record.disruptions.get(pod)?.replacement?)));
    let mut found: BTreeMap<usize, usize> = lost.collect();
    let came: BTreeSet<usize> = found.values().copied().collect();
    for &pod in of.iter().filter(|pod| !record.pods[**pod].initial && !came.contains(pod)) {
        if let Some(before) = predecessor(record, pod)
            && !record.disruptions.contains_key(&before)
        {
            found.entry(before).or_insert(pod);
        }
    }
    found
}

/// The pod in whose place another may come: whose controller misses it from then on. One that has done its work is missed by nobody.
fn is_missed(before: &Pod, pod: &Pod, at: SimTime) -> bool {
    let has_succeeded = before.phase == "Succeeded"
        && before.finished.is_some_and(|finished| before.deletion.is_none_or(|deletion| finished < deletion));
    // What comes for a pod of a StatefulSet has its name, of a DaemonSet its node.
    let is_its_place = match pod.owner.split('/').next() {
        Some("statefulset") => before.name == pod.name,
        Some("daemonset") => before.node == pod.node,
        Some("") | None => false,
        Some(_) => true,
    };
    before.owner == pod.owner && is_its_place && !has_succeeded && before.ended().is_some_and(|ended| ended <= at)
}

/// The pod whose end a pod's creation follows from: what it follows from is no earlier than that.
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
        let before =
            all.rfind(|index| record.pods[*index].created < pod.created && record.pods[*index].created <= effect.at)?;
        is_missed(&record.pods[before], pod, effect.at).then_some(before)
    };
    causes.chain(created).find_map(of_pod)
}
