//! What can be wrong with a plan itself: names, ranges, priorities, and whether the search can be carried out.

use super::definition::{Case, PoolRange};
use super::document::Spec;
use super::placement::{PLACEMENTS_MAX, Placements};
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Location, nearest};
use crate::model::{Object, SYSTEM_PRIORITY_CLASSES, is_dns_subdomain, zone_of};
use crate::scenario::{self, ResolvedScenario};
use crate::study::problems::Problems;

/// More mixes of pools than this are not tried.
const MIXES_MAX: u64 = 20_000;

/// More nodes than this are not searched for.
const COUNT_MAX: u32 = 5_000;

/// What is said of lists in which nothing is written.
const EMPTY: &str = "empty";

/// Collects what is wrong with the plan itself.
pub(super) struct Checker<'a> {
    pub(super) problems: Problems,
    pub(super) place: &'a dyn Fn(&str) -> Location,
    /// Whether something within the value at a path was wrong and has been taken out.
    pub(super) has_lost: &'a dyn Fn(&str) -> bool,
}

impl Checker<'_> {
    fn problem(&mut self, diagnostic: Diagnostic, path: &str, label: &str) {
        // What is empty because all of it was wrong has been reported.
        if label == EMPTY && (self.has_lost)(path) {
            return;
        }
        self.problems.push(diagnostic.at((self.place)(path), label));
    }

    pub(super) fn name(&mut self, name: &str) {
        if !is_dns_subdomain(name) {
            let message = format!("`{name}` cannot be the name of a plan");
            let help = "use lower-case letters, digits, `-` and `.`; the results go to a directory of that name";
            self.problem(Diagnostic::error("plan::bad_name", message).help(help), "metadata.name", "");
        }
    }

    pub(super) fn pools(&mut self, spec: &Spec) {
        if spec.pools.is_empty() {
            let diagnostic = Diagnostic::error("plan::no_pools", "no pool is named whose count is to be found");
            let help = "name at least one node pool of the scenario, such as `- {name: worker, min: 3, max: 30}`";
            self.problem(diagnostic.help(help), "spec.pools", EMPTY);
        }
        for (index, pool) in spec.pools.iter().enumerate() {
            let at = |field: &str| format!("spec.pools[{index}].{field}");
            if pool.min > pool.max {
                let message =
                    format!("the pool `{}` has a `min` of {} and a `max` of {}", pool.name, pool.min, pool.max);
                let diagnostic = Diagnostic::error("plan::bad_range", message);
                self.problem(diagnostic.help("a range goes from the smaller to the larger"), &at("min"), "above `max`");
            }
            if pool.max > COUNT_MAX {
                let message = format!("more than {COUNT_MAX} nodes of a pool are not searched for");
                self.problem(Diagnostic::error("plan::too_large", message), &at("max"), "too many");
            }
            if !pool.price.is_finite() || pool.price < 0.0 || pool.price > 1e9 {
                let diagnostic = Diagnostic::error("plan::bad_price", "a price is a number from 0 to a billion");
                self.problem(diagnostic, &at("price"), "");
            }
            if spec.pools[..index].iter().any(|other| other.name == pool.name) {
                let message = format!("the pool `{}` is named twice", pool.name);
                self.problem(Diagnostic::error("plan::repeated_name", message), &at("name"), "again");
            }
        }
    }

    pub(super) fn cases(&mut self, spec: &Spec) {
        if spec.survive.is_empty() {
            let diagnostic = Diagnostic::error("plan::no_cases", "there is nothing to survive");
            let help =
                "name at least one case: `zone`, `node`, `nodes: 2`, `rollingUpgrade`, or the file of a scenario";
            self.problem(diagnostic.help(help), "spec.survive", EMPTY);
        }
        for (index, case) in spec.survive.iter().enumerate() {
            if spec.survive[..index].contains(case) {
                let message = format!("the case `{}` is named twice", case.label());
                self.problem(
                    Diagnostic::error("plan::repeated_name", message),
                    &format!("spec.survive[{index}]"),
                    "again",
                );
            }
        }
        if spec.priority.is_some() && spec.priority_class.is_some() {
            let diagnostic =
                Diagnostic::error("plan::two_priorities", "there is both a `priority` and a `priorityClass`");
            self.problem(diagnostic.help("one of them says which pods count"), "spec.priorityClass", "");
        }
    }

    /// In how many draws of chance counts are tried.
    pub(super) fn placements(&mut self, spec: &Spec) -> Placements {
        let default = Placements::default();
        let placements = Placements {
            count: spec.placements.unwrap_or(default.count),
            probability: spec.probability.map(|share| share.0),
            confidence: spec.confidence.map(|share| share.0),
            ..default
        };
        if !(1..=PLACEMENTS_MAX).contains(&placements.count) {
            let message = format!("a plan is played in 1 to {PLACEMENTS_MAX} placements");
            let diagnostic = Diagnostic::error("plan::bad_placements", message);
            let help = "30 tell counts that just hold from those that do; 1 is one draw of chance";
            self.problem(diagnostic.help(help), "spec.placements", "");
            return default;
        }
        if placements.probability.is_some_and(|share| share <= 0.0) {
            let diagnostic = Diagnostic::error("plan::bad_probability", "what need not be survived is no question");
            self.problem(diagnostic.help("write a share above 0, such as `95%`"), "spec.probability", "");
            return default;
        }
        if placements.confidence.is_some_and(|confidence| !(0.5..1.0).contains(&confidence)) {
            let diagnostic = Diagnostic::error("plan::bad_confidence", "a confidence is 50 % or more, and below 100 %");
            self.problem(diagnostic.help("95% is usual"), "spec.confidence", "");
            return default;
        }
        match (placements.probability, placements.confidence) {
            (None, Some(_)) if !(self.has_lost)("spec.probability") => {
                let diagnostic = Diagnostic::error("plan::bad_confidence", "a `confidence` needs a `probability`");
                let help = "write `probability: 95%` for what has to be shown with that confidence";
                self.problem(diagnostic.help(help), "spec.confidence", "of nothing");
            }
            (Some(share), Some(_)) if share >= 1.0 => {
                let message = "no number of placements shows that all that there can be are survived";
                let diagnostic = Diagnostic::error("plan::bad_probability", message);
                let help = "write less, such as `99%`, or leave `confidence` out: then all that are played decide";
                self.problem(diagnostic.help(help), "spec.probability", "cannot be shown");
            }
            _ if placements.needed().is_none() => {
                let (count, fewest) = (placements.count, placements.fewest());
                let message = format!("{count} placements cannot show that, even if all of them are survived");
                let diagnostic = Diagnostic::error("plan::bad_placements", message);
                let help = format!("at least {fewest} can: write `placements: {fewest}`, or more");
                let at = if spec.placements.is_some() { "spec.placements" } else { "spec.confidence" };
                self.problem(diagnostic.help(help), at, "too few");
            }
            _ => {}
        }
        placements
    }

    /// The pools with what the scenario says of them.
    pub(super) fn pools_of(&mut self, spec: &Spec, scenario: &ResolvedScenario) -> Vec<PoolRange> {
        let mut pools = Vec::new();
        for (index, entry) in spec.pools.iter().enumerate() {
            let Some(pool) = scenario.pools.iter().find(|pool| *pool.name.as_str() == *entry.name) else {
                let message = format!("the scenario has no node pool `{}`", entry.name);
                let names = || scenario.pools.iter().map(|pool| pool.name.as_str());
                let help = match nearest(&entry.name, names()) {
                    Some(nearest) => format!("the nearest is `{nearest}`"),
                    None if scenario.pools.is_empty() => {
                        "its nodes stand in manifests; add a pool under `spec.cluster.nodePools` (a `count` of 0 is enough)".to_owned()
                    }
                    None => format!("its pools are `{}`", names().collect::<Vec<_>>().join("`, `")),
                };
                let diagnostic = Diagnostic::error("plan::unknown_pool", message).help(help);
                self.problem(diagnostic, &format!("spec.pools[{index}].name"), "unknown");
                continue;
            };
            let price_micros = (entry.price * 1e6).round() as i64;
            pools.push(PoolRange { name: pool.name, min: entry.min, max: entry.max, price_micros, now: pool.count });
        }
        pools
    }

    /// The priority from which on pods count.
    pub(super) fn priority(&mut self, spec: &Spec, scenario: &ResolvedScenario) -> (i32, Option<String>) {
        if let Some(priority) = spec.priority {
            return (priority, Some(format!("priority {priority}")));
        }
        let Some(name) = &spec.priority_class else { return (i32::MIN, None) };
        let own = scenario.objects.iter().filter_map(|object| match &object.object {
            Object::PriorityClass(class) => Some((class.metadata.name.as_str(), class.value)),
            _ => None,
        });
        let known: Vec<(&str, i32)> = own.chain(SYSTEM_PRIORITY_CLASSES).collect();
        if let Some((_, value)) = known.iter().find(|(known, _)| known == name) {
            return (*value, Some(format!("the priority of {name}")));
        }
        let message = format!("there is no priority class `{name}`");
        let help = match nearest(name, known.iter().map(|(known, _)| *known)) {
            Some(nearest) => format!("the nearest is `{nearest}`"),
            None => format!("there is {}", known.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ")),
        };
        let diagnostic = Diagnostic::error("plan::unknown_priority_class", message).help(help);
        self.problem(diagnostic, "spec.priorityClass", "unknown");
        (i32::MIN, None)
    }

    /// A priority that no pod has leaves nothing that could be lost, and every count of nodes would do.
    pub(super) fn warn_of_nobody(&mut self, spec: &Spec, priority: i32, base: &ResolvedScenario, cases: &[Case]) {
        let played = cases.iter().filter_map(|case| case.kind.scenario().map(|scenario| &**scenario));
        let scenarios = || std::iter::once(base).chain(played.clone());
        let highest = scenarios().filter_map(scenario::highest_priority).max();
        let field = if spec.priority.is_some() { "spec.priority" } else { "spec.priorityClass" };
        if (spec.priority.is_none() && spec.priority_class.is_none()) || highest.is_some_and(|of| of >= priority) {
            return;
        }
        let message = format!("no pod has a priority of {priority} or more, so that none counts");
        let there = match highest {
            Some(highest) => format!("the highest priority of a pod here is {highest}"),
            None => "there are no pods".to_owned(),
        };
        let judged = scenarios().any(|scenario| !scenario.objectives.is_empty() || !scenario.expectations.is_empty());
        let help = if judged {
            format!("only `slo` and `expect` of the scenarios decide then; {there}")
        } else {
            format!("every count of nodes survives then; {there}; leave the line out, and every pod counts")
        };
        self.problem(Diagnostic::warning("plan::nobody_counts", message).help(help), field, "no pod is judged");
    }

    /// Whether the search can be carried out, and the cases mean anything.
    pub(super) fn sizes(&mut self, spec: &Spec, base: &ResolvedScenario, pools: &[PoolRange]) {
        let mixes = pools.iter().map(|pool| u64::from(pool.max - pool.min) + 1).try_fold(1, u64::checked_mul);
        if mixes.is_none_or(|mixes| mixes > MIXES_MAX) && pools.len() > 1 {
            let message = format!("the ranges of the pools make more than {MIXES_MAX} mixes");
            let diagnostic = Diagnostic::error("plan::too_large", message);
            self.problem(diagnostic.help("narrow the ranges, or search for fewer pools"), "spec.pools", "multiplied");
        }
        let nodes = || {
            base.objects.iter().filter_map(|object| match &object.object {
                Object::Node(node) => Some(node),
                _ => None,
            })
        };
        let node_count = nodes().count() as u64;
        let mut zones: Vec<Symbol> = nodes().filter_map(|node| zone_of(&node.metadata.labels)).collect();
        zones.sort_unstable();
        zones.dedup();
        for (index, case) in spec.survive.iter().enumerate() {
            if let Some((diagnostic, label)) = case.problem(node_count, &zones) {
                self.problem(diagnostic, &format!("spec.survive[{index}]"), label);
            }
        }
    }

    /// Pods that request nothing fit everywhere, so that no count of nodes could be too small for them.
    pub(super) fn warn_of_requests(&mut self, written: &ResolvedScenario) {
        let Some(silent) = written.assumed.iter().find(|assumption| assumption.name == "podRequests") else { return };
        let objects = silent.objects.join(", ");
        let more = if silent.count > silent.objects.len() { ", …" } else { "" };
        let message = format!(
            "{} without a request for CPU or memory: room for their pods is never short, so that the answer holds for the others only",
            if silent.count == 1 {
                "1 workload or pod is".to_owned()
            } else {
                format!("{} workloads or pods are", silent.count)
            }
        );
        let diagnostic = Diagnostic::warning("plan::no_requests", message);
        let help =
            "give their containers `resources: {requests: {cpu: …, memory: …}}`, as measured or as they are limited to";
        self.problem(diagnostic.help(help), "spec.scenario", &format!("{objects}{more}"));
    }

    pub(super) fn warn_of_timeline(&mut self, file: &str) {
        let message = "what happens in the scenario is not played: a plan takes its cluster and goals only";
        let diagnostic = Diagnostic::warning("plan::timeline", message);
        self.problem(diagnostic.help(format!("add `- {file}` to `survive` to have it played")), "spec.scenario", "");
    }
}
