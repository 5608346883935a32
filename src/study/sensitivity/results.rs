//! What the runs say: effects of each input, who is cheaper at each point, and the tables of both.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::estimate::{Estimate, Series, combined};
use super::super::results::CONFIDENCE;
use super::super::statistics::{Interval, ROUNDING};
use super::choice::Chosen;
use super::effects::{Effect, Estimator, Step};
use super::experiment::{Costs, Experiment};
use super::input::Scale;
use super::told;
use crate::diagnostics::{Remark, Tone};
use crate::observe::Row as _;
use crate::report::{EffectRow, PointRow, named_table_text};

/// How far the answer of a study rests on what was assumed.
#[derive(Clone, Debug, PartialEq)]
pub struct SensitivityResults {
    /// Name of the study.
    pub study: String,
    /// Its file, as it was given; none if it was no file.
    pub file: Option<String>,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// The seed of the last one.
    pub last_seed: u64,
    /// Runs of each variant at each point.
    pub replications: u32,
    /// Trajectories through the space of inputs.
    pub trajectories: usize,
    /// Runs that were played.
    pub runs: usize,
    /// What the baseline is called.
    pub baseline: String,
    /// What the other variant is called.
    pub variant: String,
    /// Why it is this one.
    pub chosen: Chosen,
    /// Whether the study says what is assumed; else what usually is was taken.
    pub is_said: bool,
    /// What is assumed.
    pub inputs: Vec<InputOutcome>,
    /// Points that were played, each once; the first is the scenario as it is, at the study's prices.
    pub points: Vec<PointOutcome>,
    /// Trajectory, the input that has moved, and the point.
    pub(super) stops: Vec<(usize, Option<usize>, usize)>,
}

/// One input, and what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputOutcome {
    /// Its name.
    pub name: String,
    /// The path of the scenario's field, or the metric that has the price.
    pub of: String,
    /// The least value.
    pub from: String,
    /// The highest.
    pub to: String,
    /// How values lie between them.
    pub(super) scale: Scale,
    /// What it does to the baseline's cost.
    pub cost: Effect,
    /// What it does to what the variant saves against the baseline.
    pub saving: Effect,
    /// How often it turns the answer round.
    pub turns: Turns,
}

/// Steps in which an input moves, and those of them that turn the answer round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// All steps.
    pub steps: usize,
    /// Those before and after which another one of the two is cheaper on average.
    pub turned: usize,
    /// Those of these where both is told.
    pub told: usize,
}

/// Who costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The baseline.
    Baseline,
    /// The other variant.
    Variant,
    /// Neither: both cost the same.
    Neither,
}

impl Answer {
    /// Of what costs so much, what is saved by rounding alone is nothing.
    fn of(saving: Interval, size: f64) -> Self {
        match saving.mean {
            mean if mean > ROUNDING * size => Self::Variant,
            mean if mean < -ROUNDING * size => Self::Baseline,
            _ => Self::Neither,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Variant => "variant",
            Self::Neither => "neither",
        }
    }

    /// Whether the other one of the two is cheaper.
    #[must_use]
    pub fn is_opposite(self, other: Self) -> bool {
        self != other && self != Self::Neither && other != Self::Neither
    }
}

/// What came of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointOutcome {
    /// The value of each input; nothing of the scenario as it is.
    pub values: Vec<String>,
    /// What the baseline costs.
    pub cost: Interval,
    /// What the variant costs.
    pub variant_cost: Interval,
    /// What the variant saves against the baseline, run by run. The interval holds at all points at once.
    pub saving: Interval,
    /// Who costs less on average.
    pub answer: Answer,
    /// Whether that is told.
    pub is_told: bool,
}

impl SensitivityResults {
    pub(super) fn of(experiment: &Experiment, costs: &[Costs]) -> Self {
        let (study, inputs) = (experiment.study(), &experiment.inputs);
        let of_baseline: Vec<Series> = costs.iter().map(|of| of.baseline.clone()).collect();
        let savings: Vec<Series> = costs
            .iter()
            .map(|of| combined(&of.baseline, &of.variant, |baseline, variant| baseline - variant))
            .collect();
        let points = points(experiment, costs);
        let all = costs.iter().flat_map(|of| of.baseline.iter().chain(&of.variant));
        let size = all.fold(0.0, |size: f64, (_, cost)| size.max(cost.abs()));
        let estimator = |columns: &[Series]| {
            let asked = (inputs.len(), experiment.trajectories);
            Estimator::new((study.is_antithetic, study.is_chancy()), columns, size, asked)
        };
        let estimators = [estimator(&of_baseline), estimator(&savings)];
        let outcome = |(index, input): (usize, &super::Assumed)| {
            // Where it is lower, where it is higher, and how far these are apart.
            let steps: Vec<(usize, usize, f64)> = experiment
                .stops
                .windows(2)
                .filter(|two| two[1].moved == Some(index))
                .map(|two| {
                    let place = |point: usize| experiment.points[point].values[index].place;
                    let (before, after) = (two[0].point, two[1].point);
                    let moved = place(after) - place(before);
                    if moved > 0.0 { (before, after, moved) } else { (after, before, -moved) }
                })
                .collect();
            let effect = |columns: &[Series], estimator: &Estimator| {
                let step = |(low, high, share): &(usize, usize, f64)| Step {
                    low: &columns[*low],
                    high: &columns[*high],
                    share: *share,
                };
                estimator.effect(&steps.iter().map(step).collect::<Vec<_>>())
            };
            let turned: Vec<bool> = steps
                .iter()
                .map(|(low, high, _)| (&points[*low], &points[*high]))
                .filter(|(low, high)| low.answer.is_opposite(high.answer))
                .map(|(low, high)| low.is_told && high.is_told)
                .collect();
            let (from, to) = input.ends();
            InputOutcome {
                name: input.name.clone(),
                of: input.of().to_owned(),
                from,
                to,
                scale: input.scale,
                cost: effect(&of_baseline, &estimators[0]),
                saving: effect(&savings, &estimators[1]),
                turns: Turns {
                    steps: steps.len(),
                    turned: turned.len(),
                    told: turned.iter().filter(|is_told| **is_told).count(),
                },
            }
        };
        let [baseline, variant] = experiment.labels.clone();
        let seed =
            |replication: u32| super::super::results::seed_of(study.first_seed, study.is_antithetic, replication);
        Self {
            study: study.name.clone(),
            file: study.file.clone(),
            first_seed: study.first_seed,
            last_seed: seed(study.replications - 1),
            replications: study.replications,
            trajectories: experiment.trajectories,
            runs: study.variants.len() * study.replications as usize,
            baseline,
            variant,
            chosen: experiment.chosen,
            is_said: experiment.is_said,
            inputs: inputs.iter().enumerate().map(outcome).collect(),
            points,
            stops: experiment.stops.iter().map(|stop| (stop.trajectory, stop.moved, stop.point)).collect(),
        }
    }

    /// Points whose answer is the opposite of that of the scenario as it is, and those of them where it is told.
    #[must_use]
    pub fn turned(&self) -> (usize, usize) {
        let as_it_is = self.points[0].answer;
        let turned = self.points.iter().filter(|point| point.answer.is_opposite(as_it_is));
        (turned.clone().count(), turned.filter(|point| point.is_told).count())
    }

    /// `sensitivity.csv`: two rows for each input.
    #[must_use]
    pub fn effects_csv(&self) -> String {
        let rows = self.inputs.iter().flat_map(|input| {
            [("cost", input.cost), ("saving", input.saving)].map(|(figure, effect)| EffectRow {
                input: input.name.clone(),
                of: input.of.clone(),
                from: input.from.clone(),
                to: input.to.clone(),
                scale: if input.scale == Scale::Log { "log" } else { "linear" },
                figure,
                mu: [effect.mu.mean, effect.mu.low, effect.mu.high],
                mu_star: effect.mu_star,
                sigma: effect.sigma,
                noise: effect.noise,
                is_told: effect.is_told,
                turns: [input.turns.steps, input.turns.turned, input.turns.told],
            })
        });
        String::from_utf8(named_table_text::<EffectRow>(&[], rows)).expect("cells are text")
    }

    /// `points.csv`: the scenario as it is, then each stop of each trajectory.
    #[must_use]
    pub fn points_csv(&self) -> String {
        let as_it_is = vec!["as it is".to_owned(); self.inputs.len()];
        let row = |trajectory: Option<usize>, moved: Option<usize>, point: usize| {
            let of = &self.points[point];
            let numbers = |of: Interval| [of.mean, of.low, of.high];
            PointRow {
                trajectory: trajectory.map(|trajectory| trajectory as i64),
                moved: moved.map_or_else(String::new, |input| self.inputs[input].name.clone()),
                values: if of.values.is_empty() { as_it_is.clone() } else { of.values.clone() },
                cost: numbers(of.cost),
                variant_cost: numbers(of.variant_cost),
                saving: numbers(of.saving),
                cheaper: of.answer.as_str(),
                is_told: of.is_told,
            }
        };
        let stops = self.stops.iter().map(|(trajectory, moved, point)| row(Some(*trajectory), *moved, *point));
        let rows = std::iter::once(row(None, None, 0)).chain(stops);
        let names: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        String::from_utf8(named_table_text::<PointRow>(&[&names], rows)).expect("cells are text")
    }

    /// The content of `summary.json`.
    ///
    /// # Panics
    ///
    /// Never: it is plain data.
    #[must_use]
    pub fn summary(&self) -> Value {
        let as_it_is = &self.points[0];
        let count = |answer: Answer| self.points.iter().filter(|point| point.answer == answer).count();
        let (turned, told) = self.turned();
        json!({
            "sensitivity": self.study,
            "file": self.file,
            "version": env!("CARGO_PKG_VERSION"),
            "verdict": told::verdict(self),
            "notes": told::notes(self),
            "seed": self.first_seed,
            "replications": self.replications,
            "trajectories": self.trajectories,
            "runs": self.runs,
            "baseline": self.baseline,
            "variant": self.variant,
            "chosen": self.chosen,
            "asked": (self.chosen == Chosen::Named).then_some(&self.variant),
            "assumed_by": if self.is_said { "study" } else { "default" },
            "inputs": self.inputs,
            "as_it_is": {
                "cost": as_it_is.cost,
                "variant_cost": as_it_is.variant_cost,
                "saving": as_it_is.saving,
                "cheaper": as_it_is.answer,
                "told": as_it_is.is_told,
            },
            "points": {
                "played": self.points.len(),
                "variant_cheaper": count(Answer::Variant),
                "baseline_cheaper": count(Answer::Baseline),
                "neither": count(Answer::Neither),
                "turned": turned,
                "turned_told": told,
            },
            "confidence": CONFIDENCE,
            "rows": {EffectRow::TABLE.file: 2 * self.inputs.len(), PointRow::TABLE.file: self.stops.len() + 1},
        })
    }

    /// What has been found, in sentences, the answer first.
    #[must_use]
    pub fn verdict(&self) -> Vec<Remark> {
        told::verdict(self)
    }

    /// How the figures are to be read.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        told::notes(self)
    }

    /// Whether the answer is the same wherever it was asked.
    pub(super) fn tone(&self) -> Tone {
        match self.turned() {
            (_, told) if told > 0 => Tone::Bad,
            (0, _) if self.points.iter().all(|point| point.is_told) => Tone::Good,
            _ => Tone::Neutral,
        }
    }
}

/// Who is cheaper at each point.
fn points(experiment: &Experiment, costs: &[Costs]) -> Vec<PointOutcome> {
    let study = experiment.study();
    let columns: Vec<Series> = costs.iter().flat_map(|of| [of.baseline.clone(), of.variant.clone()]).collect();
    let at =
        |confidence: f64| Estimate::of_seen(study.is_antithetic, confidence).with_unseen(&columns, study.is_chancy());
    let (plain, of_all) = (at(CONFIDENCE), at(1.0 - (1.0 - CONFIDENCE) / costs.len() as f64));
    let outcome = |(point, of): (&super::experiment::Point, &Costs)| {
        let saving = of_all.difference(&of.baseline, &of.variant);
        let (cost, variant_cost) = (plain.mean(&of.baseline), plain.mean(&of.variant));
        let answer = Answer::of(saving, cost.mean.max(variant_cost.mean));
        PointOutcome {
            values: point.values.iter().map(|given| given.text.clone()).collect(),
            cost,
            variant_cost,
            saving,
            answer,
            is_told: answer != Answer::Neither && !saving.has_zero(),
        }
    };
    experiment.points.iter().zip(costs).map(outcome).collect()
}
