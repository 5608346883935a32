//! What the records leave open of the figures of a study.

use serde::Serialize;

use super::super::confirmation::Confirmation;
use super::super::estimate::{Series, combined};
use super::super::requirement::Place;
use super::super::results::{CONFIDENCE, Results};
use super::super::run::RunRow;
use super::super::statistics::{Interval, Sample};
use super::super::tables::Statistic;
use super::super::tuning::Tuning;
use super::components::Components;
use super::runs::InputResults;

/// A figure whose interval allows for chance of the runs and for what the records leave open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Uncertain {
    /// The figure, of runs with the inputs as they were fitted, in an interval that allows for both.
    pub interval: Interval,
    /// The standard error that chance of the runs leaves.
    pub runs: f64,
    /// The standard deviation that the inputs make, noise of their runs taken out; 0 if there is no more than noise.
    pub records: f64,
    /// Whether it is told that the inputs make any.
    pub told: bool,
}

impl Uncertain {
    /// Which share of both variances is the records'; none if there is none of either.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (runs, records) = (self.runs * self.runs, self.records * self.records);
        let all = runs + records;
        (all > 0.0 && all.is_finite()).then(|| records / all)
    }

    /// Of a figure with its interval as the runs alone have it. A side is as long as the runs' and the inputs' are together: the root of
    /// the sum of their squares.
    fn of(seen: Interval, runs: f64, components: &Components, confidence: f64) -> Self {
        let (below, above) = components.reach(confidence);
        let [below, above] =
            [(seen.mean - seen.low, below), (seen.high - seen.mean, above)].map(|(a, b)| libm::hypot(a, b));
        // The mean with all inputs is what goes with the records as likely as any, even where few of them carry it.
        let (low, high) = ((seen.mean - below).min(components.mean()), (seen.mean + above).max(components.mean()));
        let interval = Interval { low, high, ..seen };
        Self { interval, runs, records: components.deviation(), told: components.is_told() }
    }
}

/// What the records leave open of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InputUncertainty {
    /// Position of the variant.
    pub variant: usize,
    /// How many inputs were played.
    pub inputs: usize,
    /// The mean of all of them.
    pub mean_of_inputs: f64,
    /// The figure itself.
    pub figure: Uncertain,
    /// Its difference to the baseline, run by run; none of the baseline, and where runs last otherwise.
    pub difference: Option<Uncertain>,
    /// With how many inputs it is lower than the baseline's, once noise is taken out; none where it is not told that they make a difference
    /// to that: what is left of them is no count of anything.
    pub lower_with: Option<usize>,
}

/// What the records leave open of whether something is cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Saving {
    /// What it costs more than the baseline, with the inputs as they were fitted, in an interval that allows for what the records leave open.
    pub difference: Interval,
    /// The standard deviation that the inputs make of it, noise of their runs taken out.
    pub records: f64,
    /// Whether it is told that the inputs make any.
    pub told: bool,
    /// With how many inputs it is cheaper, once noise is taken out; none where it is not told that they make a difference to that.
    pub cheaper_with: Option<usize>,
    /// Of how many.
    pub inputs: usize,
}

impl Saving {
    /// Whether it holds for what the records leave open that it is cheaper, or dearer.
    pub(in crate::study) fn holds(&self) -> bool {
        !self.difference.has_zero()
    }
}

/// The standard error of a mean of what has nothing to do with each other.
fn error_of(series: &Series) -> f64 {
    let sample = Sample::new(series.iter().map(|(_, value)| *value).collect());
    if sample.len() < 2 { f64::INFINITY } else { sample.deviation() / (sample.len() as f64).sqrt() }
}

impl Results {
    /// What the records leave open of a figure, by variant; none of a study without inputs, or before all of them are played.
    ///
    /// # Panics
    ///
    /// If no metric, and no figure of which the study requires something, has that name.
    #[must_use]
    pub fn input_uncertainty(&self, figure: &str) -> Option<Vec<InputUncertainty>> {
        let inputs = self.inputs.as_ref().filter(|inputs| inputs.runs.iter().all(|runs| inputs.is_whole(runs)))?;
        let place = Place::of(&self.requirements, figure).expect("a metric of ours");
        let column = |variant: usize| self.series(variant, |run| place.in_run(run));
        let values: Vec<Vec<Vec<f64>>> =
            inputs.runs.iter().map(|runs| inputs.values(runs, |run| place.in_run(run))).collect();
        let baseline = column(self.baseline);
        let of = |(variant, statistic): (usize, Statistic)| {
            let components = Components::of(&values[variant])?;
            let ours = column(variant);
            let figure = Uncertain::of(statistic.interval, error_of(&ours), &components, self.confidence());
            let figure = Uncertain { interval: figure.interval.not_below_zero(), ..figure };
            let is_other = variant != self.baseline && self.compares(variant, self.baseline);
            let apart = is_other.then(|| apart(&values[variant], &values[self.baseline])).flatten();
            let difference = apart.as_ref().map(|of| {
                let error = error_of(&combined(&ours, &baseline, |a, b| a - b));
                Uncertain::of(statistic.difference, error, of, self.confidence())
            });
            Some(InputUncertainty {
                variant,
                inputs: components.len(),
                mean_of_inputs: components.mean(),
                figure,
                difference,
                lower_with: apart.and_then(|of| of.told_below_zero()),
            })
        };
        self.of_metric(figure).into_iter().enumerate().map(of).collect()
    }

    /// What the records leave open of the difference of what a variant costs to the baseline, as it was found at that confidence.
    pub(in crate::study) fn saving_of(&self, variant: usize, found: Interval, confidence: f64) -> Option<Saving> {
        self.saving(&self.inputs.as_ref()?.runs[variant], found, confidence)
    }

    /// The same of what is recommended, as it was found on new seeds; that may be one of the variants.
    pub(in crate::study) fn saving_of_recommended(&self, of_grid: Option<usize>, found: Interval) -> Option<Saving> {
        let inputs = self.inputs.as_ref()?;
        self.saving(of_grid.map_or(&inputs.recommended, |variant| &inputs.runs[variant]), found, CONFIDENCE)
    }

    /// The same of what costs least, or is recommended, as it was found in the runs of the study.
    pub(in crate::study) fn saving_of_best(&self, tuning: Option<&Tuning>) -> Option<Saving> {
        let of = self.comparison_of(tuning.and_then(Tuning::recommended_variant))?;
        if of.best == self.baseline { None } else { self.saving_of(of.best, of.against_baseline, of.confidence) }
    }

    /// The same of what is recommended, as it was found on new seeds.
    pub(in crate::study) fn saving_of_tuning(
        &self,
        tuning: Option<&Tuning>,
        confirmation: Option<&Confirmation>,
    ) -> Option<Saving> {
        self.saving_of_recommended(tuning?.recommended_variant(), confirmation?.difference)
    }

    fn saving(&self, ours: &[RunRow], found: Interval, confidence: f64) -> Option<Saving> {
        let inputs = self.inputs.as_ref()?;
        let theirs = &inputs.runs[self.baseline];
        if !inputs.is_whole(ours) || !inputs.is_whole(theirs) {
            return None;
        }
        let costs = |runs: &[RunRow]| inputs.values(runs, |run| run.metrics[run.metrics.len() - 1]);
        let components = apart(&costs(ours), &costs(theirs))?;
        let Uncertain { interval, records, told, .. } = Uncertain::of(found, 0.0, &components, confidence);
        Some(Saving {
            difference: interval,
            records,
            told,
            cheaper_with: components.told_below_zero(),
            inputs: components.len(),
        })
    }

    /// Takes in what was played of what is recommended with every input, if anything was: its runs, and their number.
    pub(crate) fn take_inputs_of_recommended(&mut self, found: Option<(Vec<RunRow>, usize)>) {
        if let (Some(inputs), Some((rows, number))) = (&mut self.inputs, found) {
            inputs.take(rows, Some(number));
        }
    }

    /// What was played with other inputs, if anything was.
    #[must_use]
    pub fn inputs_played(&self) -> Option<&InputResults> {
        self.inputs.as_ref()
    }
}

/// The components of a difference, run by run.
fn apart(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> Option<Components> {
    let differences =
        ours.iter().zip(theirs).map(|(ours, theirs)| ours.iter().zip(theirs).map(|(a, b)| a - b).collect());
    Components::of(&differences.collect::<Vec<Vec<f64>>>())
}
