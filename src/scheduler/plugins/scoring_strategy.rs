//! How NodeResourcesFit turns fullness into a score.

use serde::Deserialize;

use crate::arena::Symbol;

/// `scoringStrategy` of `NodeResourcesFitArgs`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ScoringStrategy {
    #[serde(rename = "type")]
    kind: Kind,
    pub(super) resources: Vec<WeightedResource>,
    requested_to_capacity_ratio: Ratio,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Kind {
    #[default]
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
}

/// A resource that counts, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct WeightedResource {
    pub(super) name: Symbol,
    #[serde(default)]
    pub(super) weight: i64,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Ratio {
    shape: Vec<Point>,
}

/// A point of the piecewise linear function from use in percent to a score of 0 to 10.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Point {
    utilization: i64,
    score: i64,
}

impl Default for ScoringStrategy {
    fn default() -> Self {
        Self {
            kind: Kind::default(),
            resources: WeightedResource::cpu_and_memory(),
            requested_to_capacity_ratio: Ratio::default(),
        }
    }
}

impl WeightedResource {
    /// What counts if nothing is said: CPU and memory alike.
    pub(super) fn cpu_and_memory() -> Vec<Self> {
        ["cpu", "memory"].map(|name| Self { name: Symbol::new(name), weight: 1 }).to_vec()
    }
}

/// A part of a whole in whole percent; no amount is too large for it.
fn percent(part: i64, whole: i64) -> i64 {
    (i128::from(part) * 100 / i128::from(whole)) as i64
}

impl ScoringStrategy {
    /// The score of a node from what each resource offers, what would be requested of it, and its weight.
    ///
    /// # Source
    /// kube-scheduler, NodeResourcesFit: `leastResourceScorer`, `mostResourceScorer`, `buildRequestedToCapacityRatioScorerFunction`.
    pub(super) fn score(&self, parts: impl Iterator<Item = (i64, i64, i64)>) -> i64 {
        let (mut sum, mut weights) = (0, 0);
        for (allocatable, requested, weight) in parts {
            let score = match self.kind {
                Kind::LeastAllocated if requested > allocatable => 0,
                Kind::LeastAllocated => percent(allocatable - requested, allocatable),
                Kind::MostAllocated => percent(requested.min(allocatable), allocatable),
                Kind::RequestedToCapacityRatio => {
                    let used = if requested > allocatable { 100 } else { percent(requested, allocatable) };
                    // Resources without a score do not count at all.
                    match self.shaped(used) {
                        score if score <= 0 => continue,
                        score => score,
                    }
                }
            };
            sum += score * weight;
            weights += weight;
        }
        match self.kind {
            _ if weights == 0 => 0,
            Kind::RequestedToCapacityRatio => (sum as f64 / weights as f64).round() as i64,
            _ => sum / weights,
        }
    }

    fn shaped(&self, used: i64) -> i64 {
        let shape = &self.requested_to_capacity_ratio.shape;
        let (Some(first), Some(last)) = (shape.first(), shape.last()) else { return 0 };
        if used <= first.utilization {
            return first.score * 10;
        }
        let Some(pair) = shape.windows(2).find(|pair| used <= pair[1].utilization) else { return last.score * 10 };
        let (from, to) = (pair[0], pair[1]);
        let rise = (to.score - from.score) * 10;
        from.score * 10 + rise * (used - from.utilization) / (to.utilization - from.utilization).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, parts: &[(i64, i64, i64)], expected: i64) {
        let strategy: ScoringStrategy = serde_json::from_str(json).expect("a strategy");
        assert_eq!(strategy.score(parts.iter().copied()), expected, "{json} {parts:?}");
    }

    #[test]
    fn the_emptier_or_the_fuller_node_scores_higher() {
        check("{}", &[(4000, 3000, 1), (10_000, 5000, 1)], 37);
        check("{}", &[(4000, 5000, 1), (10_000, 5000, 1)], 25);
        check(r#"{"type":"MostAllocated"}"#, &[(4000, 3000, 1), (10_000, 5000, 1)], 62);
        check(r#"{"type":"MostAllocated"}"#, &[(4000, 6000, 2), (10_000, 5000, 1)], 83);
    }

    #[test]
    fn a_shape_is_followed_and_resources_without_a_score_are_left_out() {
        let shape = r#"{"type":"RequestedToCapacityRatio","requestedToCapacityRatio":{"shape":[
            {"utilization":0,"score":0},{"utilization":100,"score":10}]}}"#;
        check(shape, &[(4000, 3000, 1), (10_000, 5000, 1)], 63);
        check(shape, &[(4000, 0, 1), (10_000, 5000, 1)], 50);
        check(shape, &[(4000, 5000, 1)], 100);
    }
}
