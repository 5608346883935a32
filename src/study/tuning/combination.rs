//! The combinations of what is not `tolerationSeconds`, and what each costs when every workload has its best value.

use std::collections::BTreeMap;

use super::super::estimate::{Series, combined};
use super::super::grid::TODAY;
use super::Tuner;

/// One combination of what is not `tolerationSeconds`.
pub(super) struct Combination {
    /// Its values by axis; none where the scenario is left as it is, and at axes of `tolerationSeconds`.
    pub(super) key: Vec<Option<usize>>,
    /// A variant that has it.
    pub(super) variant: usize,
    /// Variants that say what the values of `tolerationSeconds` cost with it.
    pub(super) variants: Vec<usize>,
    /// Costs of each workload, by the value of its axis.
    pub(super) costs: Vec<Vec<Series>>,
    /// What belongs to none of the workloads.
    pub(super) rest: Series,
    /// What the whole costs if every workload has its best value, or, where that cannot be told of the scenario as it is, what
    /// it costs with the scenario's own.
    pub(super) at_best: Series,
    /// Whether it cannot be recommended, as it leaves work undone, or is not told to meet what is required.
    pub(super) is_ruled_out: bool,
    /// Whether it was not played on.
    pub(super) is_set_aside: bool,
    /// Whether it has the values of the scenario as it is, which none of the grid's have.
    pub(super) is_outside: bool,
}

impl Combination {
    /// Whether it cannot be chosen.
    pub(super) fn is_out(&self) -> bool {
        self.is_ruled_out || self.is_set_aside
    }
}

/// The sum of two series.
pub(super) fn sum(a: &[(u32, f64)], b: &[(u32, f64)]) -> Series {
    combined(a, b, |a, b| a + b)
}

/// The mean of several series, run by run.
fn averaged(series: &[Series]) -> Series {
    let Some((first, rest)) = series.split_first() else { return Series::new() };
    let total = rest.iter().fold(first.clone(), |total, next| sum(&total, next));
    total.into_iter().map(|(replication, value)| (replication, value / series.len() as f64)).collect()
}

impl Tuner<'_> {
    /// Position of the value of each axis; none where the scenario is left as it is.
    pub(super) fn choice(&self, variant: usize) -> Vec<Option<usize>> {
        let position = |(levels, label): (&Vec<String>, &String)| levels.iter().position(|known| known == label);
        self.levels.iter().zip(&self.variants[variant]).map(position).collect()
    }

    pub(super) fn is_of_tolerations(&self, axis: usize) -> bool {
        self.tuned.iter().any(|(_, of)| *of == axis)
    }

    /// The choice of what is not `tolerationSeconds`.
    pub(super) fn others(&self, variant: usize) -> Vec<Option<usize>> {
        let choice = self.choice(variant).into_iter().enumerate();
        choice.map(|(axis, index)| index.filter(|_| !self.is_of_tolerations(axis))).collect()
    }

    /// A metric of a workload under a value of its axis: the mean over the variants that have it.
    pub(super) fn at_level(&self, variants: &[usize], workload: usize, level: usize, metric: usize) -> Series {
        let axis = self.tuned[workload].1;
        let with = variants.iter().filter(|&&variant| self.choice(variant)[axis] == Some(level));
        averaged(&with.map(|&variant| self.of_workload(variant, workload, metric)).collect::<Vec<_>>())
    }

    /// Of variants that have something in common, the one that differs least from the baseline otherwise: what that one leaves undone,
    /// it does because of what they have in common.
    pub(super) fn closest(&self, variants: impl Iterator<Item = usize>) -> Option<usize> {
        let today = self.choice(self.baseline);
        let changes = |variant: &usize| self.choice(*variant).iter().zip(&today).filter(|(a, b)| a != b).count();
        variants.min_by_key(changes)
    }

    /// Of each value of an axis, the variant that shows what it leaves undone; none where nobody has it.
    pub(super) fn shows(&self, variants: &[usize], axis: usize) -> Vec<Option<usize>> {
        let with = |level: usize| {
            let has = |variant: &usize| self.choice(*variant)[axis] == Some(level);
            self.closest(variants.iter().copied().filter(has))
        };
        (0..self.levels[axis].len()).map(with).collect()
    }

    /// Which values of an axis are ruled out.
    pub(super) fn levels_ruled_out(&self, variants: &[usize], axis: usize, is_out: &[bool]) -> Vec<bool> {
        self.shows(variants, axis).into_iter().map(|variant| variant.is_some_and(|variant| is_out[variant])).collect()
    }

    fn combination(&self, key: Vec<Option<usize>>, variants: Vec<usize>, is_out: &[bool]) -> Combination {
        let of = |workload: usize| -> Vec<Series> {
            let levels = self.levels[self.tuned[workload].1].len();
            (0..levels).map(|level| self.at_level(&variants, workload, level, 0)).collect()
        };
        let costs: Vec<Vec<Series>> = (0..self.tuned.len()).map(of).collect();
        // What belongs to no tuned workload. Variants that were not played on do not shorten what is known of the others.
        let is_set_aside = self.are_set_aside(&variants);
        let counts = |variant: &&usize| is_set_aside || !self.is_set_aside(**variant);
        let rest = variants.iter().filter(counts).map(|&variant| {
            let own = |workload| self.of_workload(variant, workload, 0);
            (0..self.tuned.len())
                .fold(self.costs(variant), |rest, workload| combined(&rest, &own(workload), |a, b| a - b))
        });
        let rest = averaged(&rest.collect::<Vec<_>>());
        let at_best = costs.iter().zip(self.tuned).fold(rest.clone(), |total, (levels, (_, axis))| {
            let best = self.contest(levels, &self.levels_out(&variants, *axis, is_out)).order[0];
            sum(&total, &levels[best])
        });
        let variant = variants[0];
        // What is there already is no choice that could be refused, unless something is required of it.
        let can_be_refused = self.requires() || key != self.others(self.baseline);
        let is_ruled_out =
            can_be_refused && self.closest(variants.iter().copied()).is_some_and(|variant| is_out[variant]);
        Combination { key, variant, variants, costs, rest, at_best, is_ruled_out, is_set_aside, is_outside: false }
    }

    /// Every combination that was played. That of the baseline is always among them: what is there must be beaten, also if the
    /// grid has other values only.
    pub(super) fn combinations(&self, is_out: &[bool]) -> Vec<Combination> {
        let mut groups: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
        for variant in 0..self.variants.len() {
            // The scenario as it is may stand behind the grid.
            if self.choice(variant).iter().all(Option::is_some) {
                groups.entry(self.others(variant)).or_default().push(variant);
            }
        }
        let go_on = groups.values().filter(|variants| !self.are_set_aside(variants));
        let mut of_grid: Vec<usize> = go_on.flatten().copied().collect();
        if of_grid.is_empty() {
            of_grid = groups.values().flatten().copied().collect();
        }
        let mut found: Vec<Combination> =
            groups.into_iter().map(|(key, variants)| self.combination(key, variants, is_out)).collect();
        let today = self.others(self.baseline);
        if found.iter().any(|of| of.key == today) {
            return found;
        }
        // With its values only the scenario's own `tolerationSeconds` were played, so that all are compared with these, if the
        // grid has them.
        let wanted = self.choice(self.baseline);
        let has_them = |variant: usize| {
            let choice = self.choice(variant);
            (0..choice.len()).all(|axis| !self.is_of_tolerations(axis) || choice[axis] == wanted[axis])
        };
        for of in &mut found {
            if let Some(like) = of.variants.iter().find(|variant| has_them(**variant)) {
                of.at_best = self.costs(*like);
            }
        }
        let Combination { costs, rest, .. } = self.combination(today.clone(), of_grid.clone(), is_out);
        let at_best = self.costs(self.baseline);
        found.push(Combination {
            key: today,
            variant: self.baseline,
            variants: of_grid,
            costs,
            rest,
            at_best,
            is_ruled_out: is_out[self.baseline],
            is_set_aside: false,
            is_outside: true,
        });
        found
    }

    /// `nodes=6, grace=40s`: the values of a combination.
    pub(super) fn others_named(&self, key: &[Option<usize>]) -> Vec<(String, String)> {
        let value = |axis: usize| key[axis].map_or_else(|| TODAY.to_owned(), |level| self.levels[axis][level].clone());
        let axes = (0..key.len()).filter(|&axis| !self.is_of_tolerations(axis));
        axes.map(|axis| (self.axes[axis].clone(), value(axis))).collect()
    }
}
