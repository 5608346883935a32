//! Which pool grows when several would help.

use crate::engine::Stream;
use crate::model::Resources;
use crate::state::PodId;

/// A way to scale up.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) group: usize,
    pub(super) priority: i64,
    pub(super) count: usize,
    pub(super) pods: Vec<PodId>,
    /// What a new node can give, and what the pods ask for.
    pub(super) allocatable: Resources,
    pub(super) requested: Resources,
}

impl Choice {
    /// The shares of CPU and of memory that would be left over, added up.
    fn waste(&self) -> f64 {
        let count = self.count as i64;
        let share = |there: i64, asked: i64| if there == 0 { 0.0 } else { (there - asked) as f64 / there as f64 };
        share(self.allocatable.cpu_milli * count, self.requested.cpu_milli)
            + share(self.allocatable.memory * count, self.requested.memory)
    }
}

/// The names of criteria that are understood.
pub const EXPANDERS: [&str; 5] = ["random", "least-waste", "most-pods", "least-nodes", "priority"];

/// Keeps those that have the least of something.
fn keep_least<T: PartialOrd + Copy>(choices: &mut Vec<Choice>, of: impl Fn(&Choice) -> T) {
    let least = choices.iter().map(&of).reduce(|a, b| if b < a { b } else { a });
    if let Some(least) = least {
        choices.retain(|choice| of(choice) <= least);
    }
}

/// Applies one criterion after the other; what is left is drawn from.
///
/// # Source
/// cluster-autoscaler, expanders: their output is passed on, and the last decision is random.
pub(super) fn choose<'a>(
    mut choices: Vec<Choice>,
    expanders: impl Iterator<Item = &'a str>,
    stream: &mut Stream,
) -> Option<Choice> {
    for expander in expanders {
        match expander {
            "least-waste" => keep_least(&mut choices, Choice::waste),
            "most-pods" => keep_least(&mut choices, |choice| usize::MAX - choice.pods.len()),
            "least-nodes" => keep_least(&mut choices, |choice| choice.count),
            "priority" => keep_least(&mut choices, |choice| i64::MAX - choice.priority.max(0)),
            _ => break,
        }
    }
    let count = u32::try_from(choices.len()).ok().filter(|count| *count > 0)?;
    let index = if count == 1 { 0 } else { stream.below(count) };
    Some(choices.swap_remove(index as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Streams;

    /// Group, priority, nodes, CPU of a node, CPU asked for.
    fn choice((group, priority, count, cpu, asked): (usize, i64, usize, i64, i64)) -> Choice {
        let resources = |cpu_milli| Resources { cpu_milli, ..Resources::default() };
        Choice {
            group,
            priority,
            count,
            pods: vec![PodId::MIN; group + 1],
            allocatable: resources(cpu),
            requested: resources(asked),
        }
    }

    #[track_caller]
    fn check(expanders: &[&str], expected: &[usize]) {
        let choices = [(0, 10, 2, 4000, 5000), (1, 50, 1, 16000, 5000), (2, 50, 3, 2000, 5000)].map(choice);
        let mut found: Vec<usize> = (0..50)
            .filter_map(|seed| {
                let mut stream = Streams::new(seed).stream("test", "");
                choose(choices.to_vec(), expanders.iter().copied(), &mut stream).map(|choice| choice.group)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{expanders:?}");
    }

    #[test]
    fn criteria_are_applied_one_after_the_other_and_the_rest_is_drawn() {
        check(&["random"], &[0, 1, 2]);
        check(&["least-waste"], &[2]);
        check(&["most-pods"], &[2]);
        check(&["least-nodes"], &[1]);
        check(&["priority"], &[1, 2]);
        check(&["priority", "least-waste"], &[2]);
        check(&["priority", "least-nodes"], &[1]);
    }
}
