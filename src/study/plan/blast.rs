//! What the loss of each node, zone, other domain and pair of nodes costs.

use super::cases::{self, LostSet, Symmetry};
use super::definition::Plan;
use super::play::{self, Outcome};
use super::search::{Search, Trial};
use super::waits::Reach;
use crate::arena::Symbol;
use crate::model::Object;
use crate::parallel;
use crate::report::{BlastRow, named_table_text};
use crate::simulation::Prepared;
use crate::study::{Part, Progress};

/// Whether some node of the largest cluster has the label.
#[must_use]
pub fn is_label_of_nodes(plan: &Plan, label: &str) -> bool {
    let key = Symbol::from(label);
    plan.base.objects.iter().any(|object| match &object.object {
        Object::Node(node) => node.metadata.labels.contains(key),
        _ => false,
    })
}

/// A loss and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Blast {
    /// `node`, `pair`, `zone`, or the label of the domain.
    pub kind: String,
    /// What is lost.
    pub lost: LostSet,
    /// What that leaves.
    pub outcome: Outcome,
}

/// Plays the loss of every node, every pair of nodes, every zone, and every value of the label if one is given, on the cluster
/// with these counts. The worst comes first: by unready replica-seconds, then by workloads below `minReady`, then by pods left
/// Pending.
#[must_use]
pub fn blast_radius(
    plan: &Plan,
    symmetry: Symmetry,
    counts: &[u32],
    label: Option<&str>,
    progress: &dyn Progress,
) -> Vec<Blast> {
    let search = Search::new(plan, symmetry);
    let scenario = Trial::of_counts(counts, plan.placements.first).apply(plan, &plan.base);
    let settled = Prepared::placed(&scenario, plan.placements.first);
    let store = settled.store();
    let of_kind =
        |kind: &str, sets: Vec<LostSet>| sets.into_iter().map(|set| (kind.to_owned(), set)).collect::<Vec<_>>();
    let mut losses = of_kind("node", cases::sets_of(store, 1, &search.mentioned, symmetry));
    losses.extend(of_kind("pair", cases::sets_of(store, 2, &search.mentioned, symmetry)));
    losses.extend(of_kind("zone", cases::zones(store)));
    if let Some(label) = label {
        let name = label.rsplit('/').next().unwrap_or(label);
        losses.extend(of_kind(label, cases::domains(store, label, name)));
    }
    let part = Part::begin(progress, losses.len() as u64, 0, "the loss of nodes and groups of nodes");
    let play = |(kind, lost): &(String, LostSet)| {
        part.heed();
        let reach = match kind.as_str() {
            "node" | "pair" => Reach::Named,
            "zone" => Reach::Zones,
            _ => Reach::Groups,
        };
        let script = play::loss(&scenario, lost);
        let outcome = search.judge.play(&scenario, &settled, script, search.watch(reach));
        part.advance();
        Blast { kind: kind.clone(), lost: lost.clone(), outcome }
    };
    let mut blasts: Vec<Blast> = parallel::map(&losses, play);
    // A stable sort: of equal ones that which was listed first.
    blasts.sort_by(|a, b| {
        let (a, b) = (&a.outcome, &b.outcome);
        b.unready_replica_s
            .total_cmp(&a.unready_replica_s)
            .then_with(|| (b.workloads_below, b.pending).cmp(&(a.workloads_below, a.pending)))
    });
    blasts
}

/// `blast-radius.csv`: every loss, the worst first.
#[must_use]
pub fn blast_csv(blasts: &[Blast]) -> Vec<u8> {
    let row = |Blast { kind, lost, outcome }: &Blast| {
        let margin = outcome.margin.unwrap_or_default();
        BlastRow {
            kind: kind.clone(),
            lost: lost.label.clone(),
            nodes_lost: lost.nodes.len(),
            alike: lost.alike,
            unready_replica_s: outcome.unready_replica_s,
            workloads_below_min_ready: outcome.workloads_below,
            pending: outcome.pending,
            stuck: outcome.stuck,
            free_cpu_milli: margin.free_cpu_milli,
            free_memory: margin.free_memory,
            waited: outcome.waited,
            longest_wait: outcome.longest_wait,
        }
    };
    named_table_text::<BlastRow>(&[], blasts.iter().map(row))
}
