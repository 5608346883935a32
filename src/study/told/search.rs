//! What a search of ranges has found, in words.

use super::super::search::{AtEnd, Ended, Found, FoundPoint, Searched};
use super::words::{number, spread};
use super::{Remark, Teller};
use crate::diagnostics::Tone;
use crate::units::{counted, grouped};

impl Teller<'_> {
    /// How many points were played, where; what is predicted of the others; and why the search ended. Nothing of a study without ranges.
    pub(super) fn search(&self) -> Vec<Remark> {
        let Some(found) = self.results.found() else { return Vec::new() };
        let mut remarks = vec![searched(&found)];
        remarks.extend(found.lowest.as_ref().map(|lowest| predicted(&found, lowest)));
        remarks.extend(found.at_ends.iter().map(at_end));
        remarks.extend(found.ranges.iter().filter(|range| range.is_inert).map(inert));
        remarks.push(ended(&found));
        remarks
    }
}

/// Which points were played, and what was not.
fn searched(found: &Found) -> Remark {
    let ranges: Vec<String> =
        found.ranges.iter().map(|of| format!("{} from {} to {}", of.name, of.from, of.to)).collect();
    let chosen = found.played - found.begun_with - found.plainer;
    let text = format!(
        "Searched {}: {} of {} points were played, with {} instead of {}",
        ranges.join(", "),
        found.played,
        grouped(found.points),
        counted(usize::try_from(found.runs).unwrap_or(usize::MAX), "run", "runs"),
        grouped(found.runs_of_all)
    );
    let begun = format!("{} to begin with, spread over the ranges", found.begun_with);
    let chosen = format!("{chosen} where most was to be expected");
    let points = match found.plainer {
        0 => format!("{begun}, and {chosen}"),
        plainer => format!("{begun}, {chosen}, and {plainer} to see whether one change less does as well"),
    };
    let between =
        if found.played as u64 == found.points { "" } else { "; what lies between was predicted and not played" };
    let mut remark = Remark::new(Tone::Neutral, text).with(format!("{points}{between}")).with(
        "the search picked what is recommended by its own runs, which flatter it: what it saves is what the new seeds say, and no other \
         interval"
            .to_owned(),
    );
    if found.unplayable > 0 {
        let points = counted(found.unplayable as usize, "point was", "points were");
        remark = remark.with(format!("{points} left out, as the scenario is invalid there"));
    }
    remark
}

/// The lowest prediction of all points.
fn predicted(found: &Found, lowest: &FoundPoint) -> Remark {
    let FoundPoint { values, is_played, difference } = lowest;
    let played = match is_played {
        true => "which was played",
        false => "which was not played",
    };
    let text = format!("Lowest prediction: {values}, {played}, at {} a run against the baseline", spread(*difference));
    let remark = Remark::new(Tone::Neutral, text)
        .with("predictions go by the runs that were played, and do not allow for those that nobody has seen");
    match &found.best {
        Some(best) if !is_played => {
            remark.with(format!("of what was played: {}, at {}", best.values, spread(best.difference)))
        }
        _ => remark,
    }
}

fn at_end(AtEnd { name, value, is_least }: &AtEnd) -> Remark {
    let (end, side) = if *is_least { ("least", "below") } else { ("highest", "above") };
    Remark::new(
        Tone::Neutral,
        format!("{name}={value} is the {end} value of its range: what is best may lie {side} it, where nobody looked"),
    )
    .with("widen the range".to_owned())
}

fn inert(Searched { name, .. }: &Searched) -> Remark {
    let text = format!("{name} made no difference: points that differ in it alone had the same costs, run by run");
    Remark::new(Tone::Neutral, text).with("no more of its values were played".to_owned())
}

fn ended(found: &Found) -> Remark {
    let (expected, least) = (number(found.expected_improvement), number(found.least_improvement));
    match found.ended {
        Ended::Settled => Remark::new(
            Tone::Neutral,
            format!("The search is over: no other point is expected to be cheaper by more than {expected} a run"),
        )
        .with(format!("less than {least}, a tenth of what is worth a change, does not pay for a point")),
        Ended::Points => Remark::new(
            Tone::Bad,
            format!(
                "The search is NOT over after {} of its {} points: another one is expected to be cheaper by {expected} a run",
                found.played, found.points_max
            ),
        )
        .with("raise `points` of the study's `search`, and go on with `--resume`; until then values that make no difference may be among those recommended".to_owned()),
        Ended::All => {
            let that = if found.ranges.iter().any(|range| range.is_inert) { " that may be another" } else { "" };
            Remark::new(Tone::Neutral, format!("The search is over: every point{that} was played"))
        }
    }
}
