//! Facts into rows: what a run's files hold. Read-only; nothing flows back into the simulation.

use crate::component::Record;
use crate::state::{CauseId, Change, Changed, MachineChange, Store};
use crate::units::SimTime;

/// All observers of a run.
#[derive(Debug, Default)]
pub struct Observers {
    causes: u32,
}

impl Observers {
    /// Gives a committed change its place in the causal graph. Without a causes observer it inherits its cause.
    pub fn next_cause(&mut self, _now: SimTime, _parent: CauseId, _what: &Changed, _store: &Store) -> CauseId {
        self.causes += 1;
        CauseId(self.causes)
    }

    /// A timeline action or a fault begins: a root of the causal graph.
    pub fn root_cause(&mut self, _now: SimTime, _what: &str) -> CauseId {
        self.causes += 1;
        CauseId(self.causes)
    }

    /// A change was committed.
    pub fn changed(&mut self, _change: &Change, _store: &Store) {}

    /// A component recorded a fact.
    pub fn recorded(&mut self, _now: SimTime, _cause: CauseId, _record: &Record, _store: &Store) {}

    /// The physical world changed.
    pub fn machine_changed(&mut self, _now: SimTime, _cause: CauseId, _change: &MachineChange, _store: &Store) {}
}
