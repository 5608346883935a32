//! How far the answer rests on what was assumed, in words.

use super::super::told::words::{names, number, spread};
use super::effects::Effect;
use super::results::{Answer, InputOutcome, SensitivityResults};
use crate::diagnostics::{Remark, Tone};
use crate::units::{counted, grouped};

/// Inputs that a sentence names.
const NAMED_MAX: usize = 8;

/// The verdict: whether the answer turns round, what turns it, what matters, and what it stands on.
pub(super) fn verdict(results: &SensitivityResults) -> Vec<Remark> {
    let mut verdict = vec![answer(results)];
    verdict.extend(turning(results));
    verdict.push(rests_on(results, "what it saves", |input| &input.saving));
    verdict.push(rests_on(results, "what the baseline costs", |input| &input.cost));
    verdict.extend(no_effect(results));
    verdict.push(stands_on(results));
    verdict
}

/// How the figures are to be read.
pub(super) fn notes(results: &SensitivityResults) -> Vec<String> {
    let mut notes = vec![
        "an effect is by how much a run costs more, or saves more, as an input moves from its least to its highest value and all others stay"
            .to_owned(),
        "mu is its mean over all places where that was tried, [low, high] what the runs leave open at 95 %; mu* the mean of its size; sigma how \
         much it differs from place to place"
            .to_owned(),
    ];
    notes.push(match results.replications {
        1 => "one replication tells no noise, so that no effect is told".to_owned(),
        _ => "noise is what mu* would be on average of chance alone, if there were no effect; an effect is told at 95 % for all inputs and steps \
              at once"
            .to_owned(),
    });
    if !results.is_said {
        notes.push(
            "the study does not list what it assumes: latencies that no manifest says, and the means between random failures, from half as long \
             to twice as long, were taken"
                .to_owned(),
        );
    }
    notes
}

fn answer(results: &SensitivityResults) -> Remark {
    let (as_it_is, all) = (&results.points[0], results.points.len());
    let (variant, baseline) = (&results.variant, &results.baseline);
    let (turned, told) = results.turned();
    let told_of =
        |answer: Answer| results.points.iter().filter(|point| point.answer == answer && point.is_told).count();
    let others = |answer: Answer| results.points.iter().filter(|point| point.answer == answer).count();
    let (cheaper, dearer) = match as_it_is.answer {
        Answer::Baseline => (baseline, variant),
        Answer::Variant | Answer::Neither => (variant, baseline),
    };
    let same = match others(Answer::Neither) {
        0 => String::new(),
        count => format!("; at {count} both cost the same"),
    };
    let text = match (as_it_is.answer, turned) {
        (Answer::Neither, _) => format!(
            "As it is, {variant} and the baseline {baseline} cost the same; of {all} points {variant} is cheaper at {} and dearer at {}",
            others(Answer::Variant),
            others(Answer::Baseline)
        ),
        (answer, 0) => {
            let played = others(answer);
            let all = if played == all { format!("all {all}") } else { format!("{played} of {all}") };
            format!(
                "The answer does not turn round: {cheaper} is cheaper than {dearer} at {all} points (told cheaper at {}){same}",
                told_of(answer)
            )
        }
        (answer, turned) => format!(
            "The answer turns round: {cheaper} is cheaper than {dearer} as it is and at {} of {all} points (told cheaper at {}), and dearer at {turned} \
             (told dearer at {told}){same}",
            others(answer),
            told_of(answer)
        ),
    };
    let is_told = if as_it_is.is_told { "" } else { ", which the data cannot tell from nothing" };
    let tone = if as_it_is.answer == Answer::Neither { Tone::Neutral } else { results.tone() };
    Remark::new(tone, text).with(format!(
        "as it is, {variant} costs {} instead of {} and saves {}{is_told}",
        spread(as_it_is.variant_cost),
        spread(as_it_is.cost),
        spread(as_it_is.saving)
    ))
}

/// The inputs that turn the answer round, the most often first.
fn turning(results: &SensitivityResults) -> Option<Remark> {
    let mut turning: Vec<&InputOutcome> = results.inputs.iter().filter(|input| input.turns.turned > 0).collect();
    turning.sort_by_key(|input| std::cmp::Reverse((input.turns.told, input.turns.turned)));
    let named: Vec<String> = turning
        .iter()
        .map(|input| {
            let turns = input.turns;
            format!("{} in {} of {} steps (told in {})", input.name, turns.turned, turns.steps, turns.told)
        })
        .collect();
    let tone = if turning.iter().any(|input| input.turns.told > 0) { Tone::Bad } else { Tone::Neutral };
    (!named.is_empty()).then(|| Remark::new(tone, format!("What turns it: {}", names(&named, NAMED_MAX, "; "))))
}

/// The inputs of which an effect on a figure is told, the largest first.
fn rests_on(results: &SensitivityResults, what: &str, of: impl Fn(&InputOutcome) -> &Effect) -> Remark {
    let mut told: Vec<&InputOutcome> = results.inputs.iter().filter(|input| of(input).is_told).collect();
    told.sort_by(|a, b| of(b).mu_star.total_cmp(&of(a).mu_star));
    let named: Vec<String> = told
        .iter()
        .map(|input| {
            let effect = of(input);
            format!(
                "{} from {} to {} changes it by {} on average (mu {}, sigma {})",
                input.name,
                input.from,
                input.to,
                number(effect.mu_star),
                spread(effect.mu),
                number(effect.sigma)
            )
        })
        .collect();
    if named.is_empty() {
        return Remark::new(Tone::Neutral, format!("No input is told to change {what}"));
    }
    let remark =
        Remark::new(Tone::Neutral, format!("What {} rests on, the most first:", what.trim_start_matches("what ")));
    let left = named.len().saturating_sub(NAMED_MAX);
    let remark = named.into_iter().take(NAMED_MAX).fold(remark, Remark::with);
    if left > 0 { remark.with(format!("and {}", counted(left, "other", "others"))) } else { remark }
}

/// The inputs of which no effect is told.
fn no_effect(results: &SensitivityResults) -> Option<Remark> {
    let is_none = |input: &&InputOutcome| !input.cost.is_told && !input.saving.is_told;
    let named: Vec<String> = results
        .inputs
        .iter()
        .filter(is_none)
        .map(|input| match input.cost.differs || input.saving.differs {
            true => format!("{} (its runs do not tell one)", input.name),
            false => format!("{} (no run differs)", input.name),
        })
        .collect();
    (!named.is_empty())
        .then(|| Remark::new(Tone::Neutral, format!("No effect is told of: {}", names(&named, NAMED_MAX, "; "))))
}

fn stands_on(results: &SensitivityResults) -> Remark {
    let points = counted(results.points.len(), "point", "points");
    let (first, last) = (results.first_seed, results.last_seed);
    let seeds = if first == last { format!("seed {first}") } else { format!("seeds {first} to {last}") };
    let text = format!(
        "It stands on {} runs: {points} on {}, 2 variants, {} each, with {seeds}",
        grouped(results.runs as u64),
        counted(results.trajectories, "trajectory", "trajectories"),
        grouped(results.replications)
    );
    Remark::new(Tone::Neutral, text).with(format!(
        "{} was played beside the baseline: {}",
        results.variant,
        results.chosen.why()
    ))
}
