//! The tables of a plan.

use crate::observe::{Column, Row, Table, TableInfo};
use crate::units::SimDuration;

/// Every table of a plan's directory.
#[must_use]
pub fn tables_of_plans() -> Vec<TableInfo> {
    vec![TableInfo::of::<CandidateRow>(), TableInfo::of::<PlayRow>(), TableInfo::of::<BlastRow>()]
}

/// A row of `plan.csv`.
#[derive(Clone, Debug)]
pub(crate) struct CandidateRow {
    pub(crate) counts: Vec<u32>,
    pub(crate) nodes: u32,
    pub(crate) price: f64,
    pub(crate) verdict: &'static str,
    pub(crate) plays: usize,
    pub(crate) failed_plays: usize,
    pub(crate) why: String,
    pub(crate) is_cut_short: bool,
    pub(crate) placements: usize,
    pub(crate) survived_placements: usize,
    pub(crate) share_at_least: f64,
    pub(crate) failed_placement: Option<i64>,
}

impl Row for CandidateRow {
    const TABLE: Table<Self> = Table {
        file: "plan.csv",
        holds: "a row for each count or mix of nodes, in the order in which they were tried",
        columns: &[
            Column::counts("<pool>", "nodes", "a column for each pool that is searched: its nodes", |row| &row.counts),
            Column::number("nodes", "nodes", "all of them", |row| row.nodes.into()),
            Column::real("price", "", "what they cost, in the unit of the prices", |row| row.price),
            Column::text("verdict", "`survives`, `fails`, or `ruled out` by what pods ask for", |row| row.verdict),
            Column::number("plays", "plays", "how many were played", |row| row.plays as i64),
            Column::number("failed_plays", "plays", "those that are not survived", |row| row.failed_plays as i64),
            Column::text("why", "the first reason against it", |row| &row.why),
            Column::truth("cut_short", "whether plays were left out after one that failed", |row| row.is_cut_short),
            Column::number("placements", "placements", "in how many they were played", |row| row.placements as i64),
            Column::number("survived_placements", "placements", "those of which every play is survived", |row| {
                row.survived_placements as i64
            }),
            Column::real(
                "share_at_least",
                "",
                "in at least that share of all placements they survive: the lower end of Clopper and Pearson, 95 % for all mixes together \
                 that were tried in several",
                |row| row.share_at_least,
            ),
            Column::maybe_number(
                "failed_placement",
                "",
                "the first that is not survived: `--placement` plays it alone",
                |row| row.failed_placement,
            ),
        ],
    };
}

/// A row of `cases.csv`.
#[derive(Clone, Debug)]
pub(crate) struct PlayRow {
    pub(crate) counts: Vec<u32>,
    pub(crate) case: String,
    pub(crate) lost: String,
    pub(crate) nodes_lost: usize,
    pub(crate) alike: u64,
    pub(crate) is_survived: bool,
    pub(crate) shortfalls: usize,
    pub(crate) pending: u64,
    pub(crate) stuck: u64,
    pub(crate) unready_replica_s: f64,
    pub(crate) free_cpu_milli: i64,
    pub(crate) free_memory: i64,
    pub(crate) waited: u64,
    pub(crate) longest_wait: SimDuration,
    pub(crate) waited_beyond_help: u64,
    /// Kind, object and reason of the first shortfall.
    pub(crate) shortfall: [String; 3],
    pub(crate) lost_for_good: u64,
    pub(crate) free_pods: i64,
    pub(crate) refused: u64,
    pub(crate) placement: u32,
    pub(crate) seed: u64,
}

impl Row for PlayRow {
    const TABLE: Table<Self> = Table {
        file: "cases.csv",
        holds: "a row for each play",
        columns: &[
            Column::counts("<pool>", "nodes", "a column for each pool that is searched: its nodes", |row| &row.counts),
            Column::text("case", "the case; `calm` if nothing is lost", |row| &row.case),
            Column::text("lost", "what is lost", |row| &row.lost),
            Column::number("nodes_lost", "nodes", "how many that are", |row| row.nodes_lost as i64),
            Column::unsigned("alike", "sets", "for how many sets of nodes it stands, itself included", |row| row.alike),
            Column::truth("survived", "whether it is survived", |row| row.is_survived),
            Column::number("shortfalls", "shortfalls", "what fell short", |row| row.shortfalls as i64),
            Column::unsigned("pending", "pods", "those left Pending", |row| row.pending),
            Column::unsigned(
                "stuck",
                "pods",
                "those that hang on lost nodes, whatever the number of the others",
                |row| row.stuck,
            ),
            Column::thousandths("unready_replica_s", "pods × s", "missing ready pods times seconds", |row| {
                row.unready_replica_s
            }),
            Column::number("free_cpu_milli", "cores / 1000", "the least room left: CPU", |row| row.free_cpu_milli),
            Column::number("free_memory", "bytes", "memory at that instant", |row| row.free_memory),
            Column::unsigned("waited", "pods", "those that had to wait for a node", |row| row.waited),
            Column::duration("longest_wait_s", "how long one of them waited", |row| row.longest_wait),
            Column::unsigned("waited_beyond_help", "pods", "those that no node more could have helped", |row| {
                row.waited_beyond_help
            }),
            Column::text("kind", "of the first shortfall: what it is", |row| &row.shortfall[0]),
            Column::text("object", "whose it is", |row| &row.shortfall[1]),
            Column::text("why", "why", |row| &row.shortfall[2]),
            Column::unsigned("lost_for_good", "pods", "those that nothing makes anew", |row| row.lost_for_good),
            Column::number("free_pods", "pods", "the least room left: how many more fit", |row| row.free_pods),
            Column::unsigned(
                "refused",
                "pods",
                "of each workload the most that the API server refused at a time",
                |row| row.refused,
            ),
            Column::number("placement", "", "the number of the placement", |row| row.placement.into()),
            Column::unsigned("seed", "", "the seed of what follows after t=0", |row| row.seed),
        ],
    };
}

/// A row of `blast-radius.csv`.
#[derive(Clone, Debug)]
pub(crate) struct BlastRow {
    pub(crate) kind: String,
    pub(crate) lost: String,
    pub(crate) nodes_lost: usize,
    pub(crate) alike: u64,
    pub(crate) unready_replica_s: f64,
    pub(crate) workloads_below_min_ready: u64,
    pub(crate) pending: u64,
    pub(crate) stuck: u64,
    pub(crate) free_cpu_milli: i64,
    pub(crate) free_memory: i64,
    pub(crate) waited: u64,
    pub(crate) longest_wait: SimDuration,
}

impl Row for BlastRow {
    const TABLE: Table<Self> = Table {
        file: "blast-radius.csv",
        holds: "with `--blast-radius`: a row for each loss, the worst first",
        columns: &[
            Column::text("kind", "`node`, `pair`, `zone`, or the label of the domain", |row| &row.kind),
            Column::text("lost", "what is lost", |row| &row.lost),
            Column::number("nodes_lost", "nodes", "how many that are", |row| row.nodes_lost as i64),
            Column::unsigned("alike", "sets", "for how many sets of nodes it stands, itself included", |row| row.alike),
            Column::thousandths("unready_replica_s", "pods × s", "missing ready pods times seconds", |row| {
                row.unready_replica_s
            }),
            Column::unsigned("workloads_below_min_ready", "workloads", "those that fell below `minReady`", |row| {
                row.workloads_below_min_ready
            }),
            Column::unsigned("pending", "pods", "those left Pending", |row| row.pending),
            Column::unsigned(
                "stuck",
                "pods",
                "those that hang on lost nodes, whatever the number of the others",
                |row| row.stuck,
            ),
            Column::number("free_cpu_milli", "cores / 1000", "the least room left: CPU", |row| row.free_cpu_milli),
            Column::number("free_memory", "bytes", "memory at that instant", |row| row.free_memory),
            Column::unsigned("waited", "pods", "those that had to wait for a node", |row| row.waited),
            Column::duration("longest_wait_s", "how long one of them waited", |row| row.longest_wait),
        ],
    };
}
