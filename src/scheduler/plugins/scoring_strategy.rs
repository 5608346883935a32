//! How NodeResourcesFit turns fullness into a score.

use serde::Deserialize;

use crate::arena::Symbol;
use crate::model::api_type::null_is_default;
use crate::scheduler::arguments::Problems;

/// `scoringStrategy` of `NodeResourcesFitArgs`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(super) struct ScoringStrategy {
    #[serde(rename = "type")]
    kind: Option<Kind>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) resources: Vec<WeightedResource>,
    requested_to_capacity_ratio: Option<Ratio>,
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
#[serde(deny_unknown_fields)]
pub(super) struct WeightedResource {
    pub(super) name: Symbol,
    weight: Option<i64>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Ratio {
    #[serde(deserialize_with = "null_is_default")]
    shape: Vec<ShapePoint>,
}

/// A point of the piecewise linear function from use in percent to a score of 0 to 10.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ShapePoint {
    utilization: i32,
    score: i32,
}

impl WeightedResource {
    /// How much it counts; no weight is a weight of 1.
    pub(super) fn weight(self) -> i64 {
        self.weight.filter(|weight| *weight != 0).unwrap_or(1)
    }

    /// The resources that are listed; CPU and memory if there are none.
    pub(super) fn or_cpu_and_memory(listed: Vec<Self>) -> Vec<Self> {
        let unweighted = |name| Self { name: Symbol::new(name), weight: None };
        if listed.is_empty() { ["cpu", "memory"].map(unweighted).to_vec() } else { listed }
    }
}

/// A part of a whole in whole percent; no amount is too large for it.
fn percent(part: i64, whole: i64) -> i64 {
    (i128::from(part) * 100 / i128::from(whole)) as i64
}

impl ScoringStrategy {
    fn kind(&self) -> Kind {
        self.kind.unwrap_or_default()
    }

    /// This strategy with its defaults.
    pub(super) fn with_resources(self) -> Self {
        Self { resources: WeightedResource::or_cpu_and_memory(self.resources), ..self }
    }

    /// Notes what kube-scheduler refuses.
    pub(super) fn check(&self, problems: &mut Problems) {
        const RATIO: &str = "scoringStrategy.requestedToCapacityRatio";
        let rule = "be `LeastAllocated`, `MostAllocated` or `RequestedToCapacityRatio`";
        problems.unless(self.kind.is_some(), "scoringStrategy.type", rule);
        for (index, resource) in self.resources.iter().enumerate() {
            let path = format_args!("scoringStrategy.resources[{index}].weight");
            problems.unless_within(resource.weight(), 1..=100, path);
        }
        match (self.kind(), &self.requested_to_capacity_ratio) {
            (Kind::RequestedToCapacityRatio, Some(ratio)) => ratio.check(&format!("{RATIO}.shape"), problems),
            (Kind::RequestedToCapacityRatio, None) => problems.unless(false, RATIO, "be given with this type"),
            (_, ratio) => {
                let rule = "be left out unless the type is `RequestedToCapacityRatio`";
                problems.unless(ratio.is_none(), RATIO, rule);
            }
        }
    }

    /// The score of a node from what each resource offers, what would be requested of it, and its weight.
    ///
    /// # Source
    /// kube-scheduler, NodeResourcesFit: `leastResourceScorer`, `mostResourceScorer`, `buildRequestedToCapacityRatioScorerFunction`.
    pub(super) fn score(&self, parts: impl Iterator<Item = (i64, i64, i64)>) -> i64 {
        let (mut sum, mut weights) = (0, 0);
        for (allocatable, requested, weight) in parts {
            let score = match self.kind() {
                Kind::LeastAllocated if requested > allocatable => 0,
                Kind::LeastAllocated => percent(allocatable - requested, allocatable),
                Kind::MostAllocated => percent(requested.min(allocatable), allocatable),
                Kind::RequestedToCapacityRatio => {
                    let used = if requested > allocatable { 100 } else { percent(requested, allocatable) };
                    // Resources without a score do not count at all.
                    match self.shape().map_or(0, |shape| interpolated(shape, 10, used)) {
                        score if score <= 0 => continue,
                        score => score,
                    }
                }
            };
            sum += score * weight;
            weights += weight;
        }
        match self.kind() {
            _ if weights == 0 => 0,
            Kind::RequestedToCapacityRatio => (sum as f64 / weights as f64).round() as i64,
            _ => sum / weights,
        }
    }

    fn shape(&self) -> Option<&[ShapePoint]> {
        self.requested_to_capacity_ratio.as_ref().map(|ratio| ratio.shape.as_slice())
    }
}

/// The value of a shape at a point, times a factor; before its first and behind its last point it is level.
///
/// # Source
/// kube-scheduler, `BuildBrokenLinearFunction`: divisions truncate.
fn interpolated(shape: &[ShapePoint], factor: i64, used: i64) -> i64 {
    let score = |point: &ShapePoint| i64::from(point.score) * factor;
    let utilization = |point: &ShapePoint| i64::from(point.utilization);
    let (Some(first), Some(last)) = (shape.first(), shape.last()) else { return 0 };
    if used <= utilization(first) {
        return score(first);
    }
    let Some([from, to]) = shape.windows(2).find(|pair| used <= utilization(&pair[1])) else { return score(last) };
    let rise = score(to) - score(from);
    score(from) + rise * (used - utilization(from)) / (utilization(to) - utilization(from)).max(1)
}

impl Ratio {
    fn check(&self, path: &str, problems: &mut Problems) {
        problems.unless(!self.shape.is_empty(), path, "have at least one point");
        let mut neighbors = self.shape.windows(2).enumerate();
        if let Some((index, pair)) = neighbors.find(|(_, pair)| pair[0].utilization >= pair[1].utilization) {
            let rule = format_args!("be above the {} before it", pair[0].utilization);
            problems.unless(false, format_args!("{path}[{}].utilization", index + 1), rule);
        }
        for (index, point) in self.shape.iter().enumerate() {
            problems.unless_within(point.utilization, 0..=100, format_args!("{path}[{index}].utilization"));
            problems.unless_within(point.score, 0..=10, format_args!("{path}[{index}].score"));
        }
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
    fn a_shape_is_level_outside_and_linear_between_its_points() {
        #[track_caller]
        fn check(shape: &[(i32, i32)], expected: &[(i64, i64)]) {
            let point = |&(utilization, score): &(i32, i32)| ShapePoint { utilization, score };
            let shape: Vec<ShapePoint> = shape.iter().map(point).collect();
            let found: Vec<(i64, i64)> = expected.iter().map(|(at, _)| (*at, interpolated(&shape, 1, *at))).collect();
            assert_eq!(found, expected, "{shape:?}");
        }
        check(
            &[(10, 1), (90, 9)],
            &[(0, 1), (9, 1), (10, 1), (15, 1), (19, 1), (20, 2), (89, 8), (90, 9), (99, 9), (110, 9)],
        );
        check(
            &[(0, 2), (40, 10), (100, 0)],
            &[(-10, 2), (0, 2), (20, 6), (30, 8), (40, 10), (70, 5), (100, 0), (110, 0)],
        );
        check(&[(0, 2), (40, 2), (100, 2)], &[(-10, 2), (20, 2), (70, 2), (110, 2)]);
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
