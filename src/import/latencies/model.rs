//! Distributions out of lengths: which goes best with them, and how well.

use std::collections::BTreeMap;

use super::document;
use super::intake::{LatencyEvidence, UnusableEvidence};
use super::lengths::{Lengths, Measure};
use super::{node_lengths, pod_lengths};
use crate::diagnostics::{Diagnostics, Sources};
use crate::engine::{Bounds, Distribution, Goodness, IntervalFit, fit_intervals, goodness, quantiles};

/// What is asked of the lengths.
#[derive(Clone, Debug)]
pub struct LatencyOptions {
    /// Lengths with a beginning and an end that it takes for a distribution.
    pub samples_min: usize,
    /// Whether to go on without what cannot be read.
    pub is_partial_allowed: bool,
    /// How names of files beside the output begin.
    pub stem: String,
}

/// What one measure came to, of the cluster or of a workload.
#[derive(Clone, Debug)]
pub struct Latency {
    /// What takes time.
    pub measure: Measure,
    /// The workload, as `deployment/shop/web`; none if it is the cluster's.
    pub workload: Option<String>,
    /// Lengths with a beginning and an end.
    pub whole: usize,
    /// Lengths that had not ended.
    pub open: usize,
    /// Lengths of which only the most is known.
    pub capped: usize,
    /// Every fit, the best first.
    pub fits: Vec<IntervalFit>,
    /// How well the one that goes best does.
    pub goodness: Option<Goodness>,
    /// What is taken; none if the default stays.
    pub taken: Option<Distribution>,
    /// What to know about it.
    pub notes: Vec<String>,
}

/// Latencies that were imported.
#[derive(Debug)]
pub struct ImportedLatencies {
    /// `latency:`, to stand below a scenario's `spec:`, with what was found as comments.
    pub document: String,
    /// Files of lengths beside it: name and text.
    pub files: Vec<(String, String)>,
    /// What was found, the cluster's first.
    pub latencies: Vec<Latency>,
    /// What tells nothing: how many of what, by measure.
    pub left_out: Vec<(Measure, &'static str, usize)>,
    /// What is wrong with what was read.
    pub warnings: Diagnostics,
    /// The texts that the warnings are about.
    pub sources: Sources,
}

/// A lead of less in the criterion tells no family from the next; see `import faults`.
const LEAD_MIN: f64 = 2.0;
/// From which distance on a fit is called bad, if chance does not explain it.
const DISTANCE_MAX: f64 = 0.1;
/// The share of good fits that are called bad.
const P_MIN: f64 = 0.02;
/// Lengths of an empirical distribution.
const QUANTILES: usize = 200;

impl LatencyEvidence {
    /// The latencies.
    ///
    /// # Errors
    ///
    /// Nothing of use was read, or, unless that is allowed, a part cannot be read.
    pub fn finish(self, options: &LatencyOptions) -> Result<ImportedLatencies, UnusableEvidence> {
        let read = self.settle(options.is_partial_allowed)?;
        let mut found: BTreeMap<Measure, Lengths> = BTreeMap::new();
        pod_lengths::of_pods(&read.evidence, &mut found);
        node_lengths::of_nodes(&read.evidence, &mut found);
        let (mut latencies, mut of_workloads, mut left_out, mut files) = (vec![], vec![], vec![], vec![]);
        for measure in Measure::ALL {
            let lengths = found.remove(&measure).unwrap_or_default();
            let (latency, file) = latency(measure, None, &lengths.cluster, options);
            files.extend(file);
            latencies.push(latency);
            if measure.annotation().is_some() {
                for (workload, bounds) in &lengths.workloads {
                    let (latency, _) = self::latency(measure, Some(workload), bounds, options);
                    of_workloads.extend(Some(latency).filter(|latency| latency.taken.is_some()));
                }
            }
            left_out.extend(lengths.left_out.iter().map(|(why, count)| (measure, *why, *count)));
        }
        of_workloads.sort_by(|a, b| (&a.workload, a.measure).cmp(&(&b.workload, b.measure)));
        latencies.extend(of_workloads);
        let document = document::written(&read, &latencies, &left_out);
        Ok(ImportedLatencies {
            document,
            files,
            latencies,
            left_out,
            warnings: read.diagnostics,
            sources: read.sources,
        })
    }
}

/// One measure, and the file beside the output that it takes.
fn latency(
    measure: Measure,
    workload: Option<&str>,
    bounds: &[Bounds],
    options: &LatencyOptions,
) -> (Latency, Option<(String, String)>) {
    let open = bounds.iter().filter(|bounds| bounds.high_s == f64::INFINITY).count();
    let capped = bounds.iter().filter(|bounds| bounds.low_s == f64::NEG_INFINITY).count();
    let mut found = Latency {
        measure,
        workload: workload.map(ToOwned::to_owned),
        whole: bounds.len() - open - capped,
        open,
        capped,
        fits: Vec::new(),
        goodness: None,
        taken: None,
        notes: Vec::new(),
    };
    if found.whole < options.samples_min {
        if !bounds.is_empty() {
            found.notes.push(format!("too few, {} are needed: the default stays", options.samples_min));
        }
        return (found, None);
    }
    found.fits = fit_intervals(bounds);
    let Some(best) = found.fits.first() else {
        found.notes.push("nothing can be fitted: the default stays".to_owned());
        return (found, None);
    };
    let name = format!("{}/{}", measure.field(), workload.unwrap_or_default());
    // Of workloads there may be hundreds: theirs is found where it decides something.
    let near = if workload.is_none() { -1.0 } else { DISTANCE_MAX };
    let goodness = goodness(best, bounds, &name, near);
    found.goodness = Some(goodness);
    found.taken = Some(best.distribution.clone());
    if let Some(second) = found.fits.get(1).filter(|second| second.aicc - best.aicc < LEAD_MIN) {
        let lead = second.aicc - best.aicc;
        found.notes.push(format!("{} leads {} by {lead:.1} only, which tells nothing", best.name, second.name));
    }
    let is_bad = goodness.distance > DISTANCE_MAX && goodness.p_value.is_none_or(|p| p <= P_MIN);
    if !is_bad {
        return (found, None);
    }
    let lengths = if workload.is_none() { quantiles(bounds, QUANTILES) } else { Vec::new() };
    let bad = format!("warning: even {} is far from what was observed", best.name);
    if lengths.is_empty() {
        found.notes.push(format!("{bad}: take it with care"));
        return (found, None);
    }
    let file = format!("{}-{}.csv", options.stem, measure.field());
    found.notes.push(format!("{bad}: the observed quantiles are taken, from {file}"));
    found.taken = Some(Distribution::Empirical { file: file.as_str().into(), values: [].into() });
    let mut text = String::from("seconds\n");
    lengths.iter().for_each(|length| text.push_str(&format!("{}\n", length.as_secs_f64())));
    (found, Some((file, text)))
}
