//! `agreement.csv`: a play beside what was seen of the real cluster.

use crate::arena::Symbol;
use crate::observe::{self, Column, Row, Table, TableInfo};
use crate::units::SimTime;

/// Every table that a run's directory can have.
#[must_use]
pub fn tables_of_runs() -> Vec<TableInfo> {
    let mut tables = observe::tables();
    tables.push(TableInfo::of::<AgreementRow>());
    tables
}

/// What a play makes of a fact, or the evidence of what a play has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The play has it within the bounds that the evidence leaves.
    Same,
    /// The play has it before or after these.
    OtherTime,
    /// It was seen, and the play does not have it.
    Missing,
    /// The play has it, and the evidence, which would tell of it, does not.
    Extra,
}

impl Verdict {
    /// The words in files and on pages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::OtherTime => "other time",
            Self::Missing => "missing",
            Self::Extra => "extra",
        }
    }
}

/// A row of `agreement.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreementRow {
    /// When it was seen: the best guess, and the bounds; none of what was not.
    pub seen: Option<[SimTime; 3]>,
    /// When the play has it.
    pub played_at: Option<SimTime>,
    /// How long after the bounds the play has it; negative before them.
    pub off: Option<SimTime>,
    /// What that makes.
    pub verdict: Verdict,
    /// The kind of fact.
    pub fact: &'static str,
    /// Namespace of the pod.
    pub namespace: Symbol,
    /// Name of the pod or node.
    pub name: Symbol,
    /// Kind of the pod's controller.
    pub owner_kind: Symbol,
    /// Name of it.
    pub owner_name: Symbol,
    /// Node of the pod.
    pub node: Symbol,
    /// What it changed to.
    pub value: Symbol,
    /// The pod of the play that stands for it.
    pub played_name: Symbol,
    /// Its node.
    pub played_node: Symbol,
    /// The records that say it.
    pub sources: String,
    /// What else there is to say.
    pub note: &'static str,
}

impl Row for AgreementRow {
    const TABLE: Table<Self> = Table {
        file: "agreement.csv",
        holds: "only with `--observed`: a row for each fact that was seen or that the play has and the evidence would tell of, in the order of time",
        columns: &[
            Column::maybe_time("observed_s", "when it was seen: the best guess", |row| row.seen.map(|seen| seen[0])),
            Column::maybe_time("earliest_s", "not before, as far as the evidence tells", |row| {
                row.seen.map(|seen| seen[1])
            }),
            Column::maybe_time("latest_s", "not after", |row| row.seen.map(|seen| seen[2])),
            Column::maybe_time("played_s", "when the play has it", |row| row.played_at),
            Column::maybe_time("off_s", "how long after these bounds; negative before them, zero within", |row| {
                row.off
            }),
            Column::text("verdict", "`same`, `other time`, `missing` in the play, `extra` in the play", |row| {
                row.verdict.as_str()
            }),
            Column::text(
                "fact",
                "its kind: `NodeReady`, `NodeTaint`, `NodeUnschedulable`, `PodCreated`, `PodScheduled`, `PodReady`, `PodDeletion`, `PodGone` or `PodFinished`",
                |row| row.fact,
            ),
            Column::text("namespace", "namespace of the pod", |row| row.namespace.as_str()),
            Column::text("name", "name of the pod or node", |row| row.name.as_str()),
            Column::text("owner_kind", "kind of the pod's controller", |row| row.owner_kind.as_str()),
            Column::text("owner_name", "name of the pod's controller", |row| row.owner_name.as_str()),
            Column::text("node", "the pod's node", |row| row.node.as_str()),
            Column::text(
                "value",
                "what it changed to: the condition; `key:Effect` of a taint, with `-` behind it when it left; the cause of a deletion",
                |row| row.value.as_str(),
            ),
            Column::text(
                "played_name",
                "the pod of the play that stands for it: names that chance makes differ",
                |row| row.played_name.as_str(),
            ),
            Column::text("played_node", "that pod's node", |row| row.played_node.as_str()),
            Column::text("sources", "the kinds of records that say it, joined by `;`", |row| &row.sources),
            Column::text("note", "`no such node` or `no such owner`, where the scenario has none", |row| row.note),
        ],
    };
}
