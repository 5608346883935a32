//! Which object is meant by a name, or by a part of it.

use std::collections::BTreeMap;

use super::InspectError;
use super::record::Record;
use crate::diagnostics::suggest;

/// Names that an error offers.
const ALIKE_MAX: usize = 5;

/// Characters of a part of a name that says which one may be meant: fewer stand in any name.
const PART_LENGTH_MIN: usize = 2;

/// Kinds whose names a provisioner makes.
const VOLUMES: [&str; 2] = ["persistentvolume", "persistentvolumeclaim"];

/// Characters of a part of such a name that says which one is meant.
const VOLUME_PART_LENGTH_MIN: usize = 4;

/// The one object of a run that is meant: one that a table is about; else one to which something happened, or about which there are events.
///
/// # Errors
///
/// Those of [`resolve`].
pub(super) fn of_run(record: &Record, object: &str) -> Result<String, InspectError> {
    let named = record.names();
    let found = resolve(&named, object);
    if !matches!(found, Err(InspectError::NoObject { .. })) {
        return found;
    }
    let told = record.events.keys().filter(|name| TOLD.iter().any(|kind| name.starts_with(kind)));
    let told = told.map(String::as_str).chain(record.trapped_budgets()).chain(record.refusing_budgets());
    let told = told.map(|name| (name.to_ascii_lowercase(), name.to_owned()));
    resolve(&told.chain(record.causes.names()).chain(named).collect(), object)
}

/// Kinds of objects without a table that events are about.
const TOLD: [&str; 5] =
    ["poddisruptionbudget/", "horizontalpodautoscaler/", "persistentvolumeclaim/", "cronjob/", "replicaset/"];

/// The one object that is meant by a name, or by its kind and name, or by all of it; known ones by their lower-case forms.
///
/// # Errors
///
/// If nothing is called so, with what is alike; or if several things are.
pub(super) fn resolve(known: &BTreeMap<String, String>, object: &str) -> Result<String, InspectError> {
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
        [] if let Some(volume) = volume_with(known, &wanted) => Ok(volume.clone()),
        [] => Err(InspectError::NoObject { object: object.to_owned(), alike: alike(known, object) }),
        _ => {
            let names = meant.iter().take(ALIKE_MAX).map(|name| (*name).clone()).collect();
            let more = meant.len().saturating_sub(ALIKE_MAX);
            Err(InspectError::SeveralObjects { object: object.to_owned(), names, more })
        }
    }
}

/// The one volume, or the one claim, with this in its name, which is long where a provisioner made it.
fn volume_with<'a>(known: &'a BTreeMap<String, String>, wanted: &str) -> Option<&'a String> {
    let (kind, part) = wanted.rsplit_once('/').unwrap_or(("", wanted));
    let is_it = |name: &str| {
        let (of, last) = (name.split('/').next().unwrap_or_default(), name.rsplit('/').next().unwrap_or_default());
        VOLUMES.contains(&of) && (kind.is_empty() || of == kind) && last.contains(part)
    };
    if part.len() < VOLUME_PART_LENGTH_MIN {
        return None;
    }
    let mut found = known.iter().filter(|(name, _)| is_it(name)).map(|(_, found)| found);
    found.next().filter(|_| found.next().is_none())
}

/// Names that have this one in them, those of its kind first; and the nearest one, by its whole name or its last part.
fn alike(known: &BTreeMap<String, String>, object: &str) -> Vec<String> {
    let wanted = object.to_ascii_lowercase();
    let (kind, last) = wanted.rsplit_once('/').map_or(("", wanted.as_str()), |(kind, last)| (kind, last));
    let kind = kind.split('/').next().unwrap_or(kind);
    let has_it = |name: &&String| last.len() >= PART_LENGTH_MIN && name.to_ascii_lowercase().contains(last);
    let (mut found, others): (Vec<String>, Vec<String>) =
        known.values().filter(has_it).cloned().partition(|name| name.starts_with(kind));
    found.extend(others);
    found.truncate(ALIKE_MAX - 1);
    let last_of = |name: &'_ str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let mut by_last: BTreeMap<String, &String> = BTreeMap::new();
    for name in known.values() {
        by_last.entry(last_of(name)).or_insert(name);
    }
    let nearest = suggest::nearest(object, known.values().map(String::as_str)).map(str::to_owned);
    let nearest = nearest.or_else(|| {
        let near = suggest::nearest(last, by_last.keys().map(String::as_str))?;
        by_last.get(near).map(|name| (*name).clone())
    });
    let nearest = nearest.filter(|name| !found.contains(name));
    found.extend(nearest);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<String, String> {
        let names = [
            "deployment/shop/web",
            "service/shop/web",
            "node/worker-7",
            "node/worker-17",
            "pod/shop/web-5d-a",
            "pod/Shop/cart-0",
        ];
        names.iter().map(|name| (name.to_ascii_lowercase(), (*name).to_owned())).collect()
    }

    #[test]
    fn a_part_of_a_name_is_enough_if_nothing_else_has_it() {
        let found = |object: &str| resolve(&known(), object).expect("one");
        assert_eq!(found("worker-7"), "node/worker-7");
        assert_eq!(found("deployment/web"), "deployment/shop/web");
        assert_eq!(found("Service/shop/web"), "service/shop/web");
        assert_eq!(found("shop/web-5d-a"), "pod/shop/web-5d-a");
        assert_eq!(found("CART-0"), "pod/Shop/cart-0");
        let Err(InspectError::SeveralObjects { names, more, .. }) = resolve(&known(), "web") else {
            panic!("two are called web")
        };
        assert_eq!((names, more), (vec!["deployment/shop/web".to_owned(), "service/shop/web".to_owned()], 0));
    }

    #[test]
    fn a_part_of_the_name_of_a_volume_is_enough_if_no_other_has_it() {
        let mut known = known();
        for volume in ["pvc-fa7a07ce-fba4-459b", "pvc-0b12c3d4-11aa-459b"] {
            let name = format!("persistentvolume/{volume}");
            known.insert(name.clone(), name);
        }
        let found = |object: &str| resolve(&known, object).ok();
        assert_eq!(found("fa7a07ce").as_deref(), Some("persistentvolume/pvc-fa7a07ce-fba4-459b"));
        assert_eq!(found("persistentvolume/pvc-0b12").as_deref(), Some("persistentvolume/pvc-0b12c3d4-11aa-459b"));
        for unclear in ["459b", "pvc", "node/fa7a07ce", "fa7"] {
            assert_eq!(found(unclear), None, "{unclear}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_its_likes() {
        let alike = |object: &str| match resolve(&known(), object) {
            Err(InspectError::NoObject { alike, .. }) => alike,
            other => panic!("{other:?}"),
        };
        assert_eq!(alike("pod/shop/web-5d"), ["pod/shop/web-5d-a"]);
        // A slip in the short name, which is far from every whole one.
        assert_eq!(alike("wroker-7"), ["node/worker-7"]);
        assert_eq!(alike("service/web2x"), Vec::<String>::new());
        assert_eq!(alike("service/we"), ["service/shop/web", "deployment/shop/web", "pod/shop/web-5d-a"]);
    }
}
