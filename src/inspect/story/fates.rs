//! Who came for whom: of pods that were lost as `disruptions.csv` has it, of those that their controller itself ended by what the creation
//! of the other follows from.

use std::collections::{BTreeMap, BTreeSet};

use super::super::causes::object_of;
use super::super::record::Record;

/// The pod that came for each one that its owner lost or gave up, by position.
pub(super) fn replacements(record: &Record, of: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    let lost = of.iter().filter_map(|pod| Some((*pod, record.disruptions.get(pod)?.replacement?)));
    let mut found: BTreeMap<usize, usize> = lost.collect();
    let came: BTreeSet<usize> = found.values().copied().collect();
    for &pod in of.iter().filter(|pod| !record.pods[**pod].initial && !came.contains(pod)) {
        if let Some(before) = predecessor(record, pod)
            && !record.disruptions.contains_key(&before)
            && record.pods[before].owner == record.pods[pod].owner
            && record.pods[before].ended().is_some()
        {
            found.entry(before).or_insert(pod);
        }
    }
    found
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
