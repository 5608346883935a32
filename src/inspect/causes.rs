//! `causes.csv`, indexed: what happened to each object, and what it follows from.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::report::{RunTables, TableError, line, text, time, whole};
use crate::units::SimTime;

/// A thing that happened.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub(super) at: SimTime,
    pub(super) what: String,
    /// The position of what it follows from, which is an earlier one.
    pub(super) cause: Option<usize>,
}

/// All that happened, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    pub(super) effects: Vec<Effect>,
    by_object: FxHashMap<String, Vec<usize>>,
    /// Pods that were there at t=0, and not Ready.
    pub(super) unready_at_start: FxHashSet<String>,
}

impl Causes {
    /// # Errors
    ///
    /// If the table is missing or damaged, or a row follows from no earlier one.
    pub(super) fn read(run: &RunTables) -> Result<Self, TableError> {
        const COLUMNS: [&str; 4] = ["effect_id", "time_s", "what", "cause_id"];
        let path = run.dir().join("causes.csv");
        let table = run.read_columns("causes.csv", &COLUMNS)?;
        let [id, at, what, cause] = COLUMNS.map(|name| table.column(name));
        let mut by_id: FxHashMap<i64, usize> = FxHashMap::default();
        let mut causes = Self::default();
        for (index, row) in table.rows().enumerate() {
            let (id, cause) = (whole(row, id).unwrap_or_default(), whole(row, cause));
            if by_id.insert(id, index).is_some() {
                let problem = format!("there is an effect {id} already");
                return Err(TableError::new(&path, line(row), problem));
            }
            let because = cause.and_then(|cause| by_id.get(&cause)).copied().filter(|because| *because < index);
            if let (Some(cause), None) = (cause, because) {
                let problem = format!("its cause {cause} is no earlier effect");
                return Err(TableError::new(&path, line(row), problem));
            }
            let what = text(row, what).to_owned();
            if let Some(object) = object_of(&what) {
                causes.by_object.entry(object.to_owned()).or_default().push(index);
            }
            causes.effects.push(Effect { at: time(row, at).unwrap_or_default(), what, cause: because });
        }
        Ok(causes)
    }

    /// The objects to which something happened, by their lower-case forms.
    pub(super) fn names(&self) -> BTreeMap<String, String> {
        self.by_object.keys().map(|name| (name.to_ascii_lowercase(), name.clone())).collect()
    }

    /// The positions of what happened to an object, in order.
    pub(super) fn about(&self, object: &str) -> &[usize] {
        self.by_object.get(object).map_or(&[], Vec::as_slice)
    }

    /// What it follows from, the nearest first. A cause is always an earlier row, so the walk ends.
    pub(super) fn chain(&self, effect: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(self.effects[effect].cause, |&cause| self.effects[cause].cause)
    }

    /// Where the chain of an effect begins.
    pub(super) fn root(&self, effect: usize) -> usize {
        self.chain(effect).last().unwrap_or(effect)
    }
}

/// `pod/NS/NAME` of `pod/NS/NAME is Running`; whose schedule it is that something begins by.
pub(super) fn object_of(what: &str) -> Option<&str> {
    if let Some((_, whose)) = what.split_once(": the schedule of ") {
        return Some(whose);
    }
    what.split(' ').next().filter(|word| word.contains('/') && !word.ends_with(':'))
}
