//! The summary against the rows of the files: every figure counted anew, from the rows alone and by code of its own.

mod counted;
mod courses;
mod disruptions;
mod pods;
mod services;

use std::collections::{BTreeMap, BTreeSet};

use crate::component::InvolvedKind;
use crate::observe::{ClusterRow, FIGURES, Matter, Observed, SCENARIO, Tone, reason};
use crate::units::SimTime;
use counted::{Figures, are_alike};

/// Counts every figure of the summary anew, from the rows of a run whose files were kept.
///
/// # Errors
///
/// The first that differs.
pub fn compare(observed: &Observed) -> Result<(), String> {
    let Some(end) = observed.cluster.last().map(|row| row.at) else { return Err("cluster.csv is empty".to_owned()) };
    let mut figures = Figures::default();
    let matched = disruptions::matched(observed)?;
    pods::count(&mut figures, observed, &matched);
    pods::causes(observed)?;
    pods::firsts(observed)?;
    courses::count(&mut figures, observed, &matched, end)?;
    services::count(&mut figures, observed, end)?;
    of_cluster(&mut figures, observed);
    orders(&mut figures, observed);
    figures.count("events", observed.events.len());
    figures.count("rollouts_unfinished_end", observed.summary.unfinished_rollouts.len());
    figures.count("workloads_refused_end", observed.summary.refused_workloads.len());
    let wanted = observed.summary.workloads.iter().filter(|of| of.is_asked_for());
    figures.count("workloads_wanted_end", wanted.count());
    figures.count("jobs_failed", observed.summary.failed_jobs.len());
    let metrics = &observed.summary.metrics;
    for figure in &FIGURES {
        let Some(&reported) = metrics.get(figure.name) else {
            return Err(format!("no metric is called {}", figure.name));
        };
        match figures.found.get(figure.name) {
            Some(&found) if !are_alike(found, reported) => {
                return Err(format!("the summary's {} is {reported}, the rows give {found}", figure.name));
            }
            None if !(figure.rows == "none" || observed.is_thinned) => {
                return Err(format!("nothing counts {} anew", figure.name));
            }
            _ => {}
        }
    }
    running_counts(observed)?;
    verdict(observed)
}

/// The extremes and the end of `cluster.csv`.
fn of_cluster(figures: &mut Figures, observed: &Observed) {
    let rows = &observed.cluster;
    let last = |field: fn(&ClusterRow) -> i64| rows.last().map_or(0, field) as f64;
    figures.put("refusals", last(|row| row.refusals));
    figures.put("pods_pending_end", last(|row| row.pods_pending));
    figures.put("pods_unscheduled_end", last(|row| row.pods_unscheduled));
    figures.put("pods_terminating_end", last(|row| row.pods_terminating));
    figures.put("pods_failed_end", last(|row| row.pods_failed));
    figures.put("pods_ready_end", last(|row| row.pods_ready));
    figures.put("nodes_ready_end", last(|row| row.nodes_ready));
    if observed.is_thinned {
        return;
    }
    let most = |field: fn(&ClusterRow) -> i64| rows.iter().map(field).max().unwrap_or(0) as f64;
    let fewest = |field: fn(&ClusterRow) -> i64| rows.iter().map(field).min().unwrap_or(0) as f64;
    figures.put("pods_pending_max", most(|row| row.pods_pending));
    figures.put("pods_unscheduled_max", most(|row| row.pods_unscheduled));
    figures.put("pods_terminating_max", most(|row| row.pods_terminating));
    figures.put("pods_ready_min", fewest(|row| row.pods_ready));
    figures.put("nodes_ready_min", fewest(|row| row.nodes_ready));
}

/// What `cluster.csv` adds up never falls, and ends where the summary does.
fn running_counts(observed: &Observed) -> Result<(), String> {
    type Field = fn(&ClusterRow) -> i64;
    let fields: [(&str, Field); 2] = [("evictions", |row| row.evictions), ("preemptions", |row| row.preemptions)];
    for (name, field) in fields {
        if let Some(pair) = observed.cluster.windows(2).find(|pair| field(&pair[0]) > field(&pair[1])) {
            return Err(format!("{name} of cluster.csv fall at {} s", pair[1].at));
        }
        let last = observed.cluster.last().map_or(0, field) as f64;
        if observed.summary.metrics.get(name) != Some(&last) {
            return Err(format!("cluster.csv ends with {last} {name}, the summary has another number"));
        }
    }
    Ok(())
}

/// Lines and procedures of the timeline, from the events and the transcript.
fn orders(figures: &mut Figures, observed: &Observed) {
    let typed = observed
        .events
        .iter()
        .filter(|event| event.kind == InvolvedKind::Kubectl.as_str() && event.reason == reason::KUBECTL);
    // What procedures type is theirs to answer for.
    let by_procedures: BTreeSet<(SimTime, &str)> =
        typed.filter(|event| event.component != SCENARIO).map(|event| (event.at, &*event.name)).collect();
    let lines = observed.transcript.iter().filter(|row| !by_procedures.contains(&(row.at, &*row.command)));
    let exits: Vec<Option<i32>> = lines.map(|row| row.exit).collect();
    figures.count("commands_failed", exits.iter().flatten().filter(|exit| **exit != 0).count());
    figures.count("commands_unfinished", exits.iter().filter(|exit| exit.is_none()).count());
    let count = |reason: &str| observed.events.iter().filter(|event| event.reason == reason).count();
    figures.count("procedures_failed", count(reason::ROLLING_UPGRADE_FAILED));
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for event in observed.events.iter().filter(|event| event.kind == InvolvedKind::NodePool.as_str()) {
        match event.reason {
            // Asked for again while they are under way, they are the same reboots.
            reason::REBOOT_REQUIRED => *open.entry(&event.name).or_default() = 1,
            reason::REBOOTS_ENDED => *open.entry(&event.name).or_default() = 0,
            _ => {}
        }
    }
    let upgrades = count(reason::ROLLING_UPGRADE_BEGAN)
        .saturating_sub(count(reason::ROLLING_UPGRADE_ENDED) + count(reason::ROLLING_UPGRADE_FAILED));
    figures.count("procedures_unfinished", upgrades + open.values().sum::<usize>());
}

/// The verdict is bad for every reason for which it has to be.
fn verdict(observed: &Observed) -> Result<(), String> {
    let metrics = &observed.summary.metrics;
    let reasons = [
        ("workloads_below_desired_end", Matter::WorkloadsShort),
        ("rollouts_unfinished_end", Matter::RolloutUnfinished),
        ("workloads_refused_end", Matter::PodsRefused),
        ("pods_lost", Matter::PodsLost),
        ("jobs_failed", Matter::JobFailed),
        ("objectives_missed", Matter::ObjectiveMissed),
        ("commands_failed", Matter::CommandFailed),
        ("commands_unfinished", Matter::CommandUnfinished),
        ("procedures_failed", Matter::ProcedureFailed),
        ("procedures_unfinished", Matter::ProcedureUnfinished),
    ];
    let verdict = &observed.summary.verdict;
    for (metric, matter) in reasons {
        // Jobs that had failed before are told, too, and not counted among those of the run.
        let had_failed = matter == Matter::JobFailed && !observed.summary.jobs_failed_before.is_empty();
        let is_bad = had_failed || metrics.get(metric).is_some_and(|count| *count > 0.0);
        let is_said = verdict.iter().any(|sentence| sentence.kind == matter && sentence.tone == Tone::Bad);
        // Of many orders only the first are listed one by one.
        let is_cut = verdict.iter().any(|sentence| sentence.text.starts_with("and "));
        if is_bad != is_said && !(is_bad && is_cut) {
            return Err(format!("{metric} is {:?}, and the verdict says {verdict:?}", metrics.get(metric)));
        }
    }
    let (bad, good) = (Tone::Bad, Tone::Good);
    if verdict.iter().any(|sentence| sentence.tone == bad) && verdict.iter().any(|sentence| sentence.tone == good) {
        return Err(format!("the verdict is good and bad: {verdict:?}"));
    }
    Ok(())
}
