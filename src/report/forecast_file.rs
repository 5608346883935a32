//! A `forecast.json` that is drawn again: what it says has to hold together, so that a page shows nothing that no forecast would say.

use std::collections::BTreeSet;

use serde_json::Value;

/// By how much sums may differ, as a share: they are made in other orders.
const ROUNDING: f64 = 1e-6;

/// What is wrong with a file, as a sentence that begins with the place.
type Problem = String;

/// Says what is wrong with a forecast; nothing if it holds together.
///
/// # Errors
///
/// The first field that is missing, of another type, out of its range, or contradicts another one.
pub(super) fn check(forecast: &Value) -> Result<(), Problem> {
    let root = Field { value: forecast, path: String::new() };
    for name in ["forecast", "version"] {
        root.field(name)?.text()?;
    }
    root.field("seed")?.count()?;
    check_frame(&root)?;
    let fixes = root.field("fixes")?.items()?;
    let fixes = fixes.iter().map(|fix| fix.field("words")?.text().and(fix.field("fix")?.text()));
    let known = Known {
        fixes: fixes.collect::<Result<_, _>>()?,
        units: root.field("units")?.names("unit")?,
        incidents: root.field("incidents")?.names("incident")?,
        apart: check_apart(&root)?,
    };
    let whole = check_whole(&root)?;
    for unit in root.field("units")?.items()? {
        check_unit(&unit, &known)?;
    }
    for incident in root.field("incidents")?.items()? {
        check_incident(&incident, &known)?;
    }
    for (index, finding) in root.field("findings")?.items()?.iter().enumerate() {
        check_finding(finding, index, whole, &known)?;
    }
    for dropped in root.field("dropped")?.items()? {
        dropped.field("fix")?.one_of(&known.fixes, "fixes")?;
        dropped.field("workloads")?.count()?;
        dropped.field("why")?.text()?;
    }
    for unhelped in root.field("unhelped")?.items()? {
        check_worst(&unhelped, &known)?;
        unhelped.field("hurt")?.at_most(known.units.len() as f64, "that `units` has")?;
        for list in ["tried", "untried"] {
            // What was tried elsewhere is there if there is any.
            if list == "tried" || unhelped.value.get(list).is_some() {
                unhelped.field(list)?.items()?.iter().try_for_each(|fix| fix.one_of(&known.fixes, "fixes"))?;
            }
        }
    }
    for step in root.field("together")?.items()? {
        step.field("fix")?.one_of(&known.fixes, "fixes")?;
        step.field("cost")?.interval(Some(0.0))?;
        step.field("gained")?.interval(None)?;
        step.field("blocked_per_year")?.number(Some(0.0))?;
        check_price(&step)?;
    }
    Ok(())
}

/// What a forecast names, and others of its fields may name.
struct Known<'a> {
    fixes: BTreeSet<&'a str>,
    units: BTreeSet<&'a str>,
    incidents: BTreeSet<&'a str>,
    /// Units that are in no sum.
    apart: BTreeSet<&'a str>,
}

/// What was asked, and what it stands on.
fn check_frame(root: &Field<'_>) -> Result<(), Problem> {
    let asked = root.field("asked")?;
    for list in ["inputs", "set"] {
        asked.field(list)?.texts()?;
    }
    asked.field("years")?.count()?;
    let stands = root.field("stands_on")?;
    let objects = stands.field("objects")?;
    objects.entries()?.iter().try_for_each(|count| count.count().map(drop))?;
    for count in ["zones", "unscheduled"] {
        stands.field(count)?.count()?;
    }
    for list in ["down", "unread"] {
        stands.field(list)?.texts()?;
    }
    if stands.value.get("not_played").is_some() {
        stands.field("not_played")?.texts()?;
    }
    for assumed in stands.field("assumed")?.items()? {
        ["text", "effect", "change"].iter().try_for_each(|name| assumed.field(name)?.text().map(drop))?;
        assumed.field("count")?.count()?;
    }
    let years = root.field("years")?;
    years.field("played")?.count()?;
    years.field("chosen_by")?.count()?;
    years.field("length_d")?.at_most(366.0, "that a year has")?;
    for count in ["plays", "plays_left_out"] {
        root.field(count)?.count()?;
    }
    root.field("left_out")?.texts()?;
    let metrics = root.field("metrics")?.entries()?;
    metrics.iter().try_for_each(|figure| figure.number(Some(0.0)).map(drop))?;
    root.field("metrics")?.field("blocked_per_year").map(drop)
}

/// The units of pods without a controller, if there are any: they have figures of their own.
fn check_apart<'a>(root: &Field<'a>) -> Result<BTreeSet<&'a str>, Problem> {
    if root.value["without_controller"].is_null() {
        return Ok(BTreeSet::new());
    }
    let apart = root.field("without_controller")?;
    apart.field("lost_min_per_year")?.interval(Some(0.0))?;
    apart.field("units")?.names("unit")
}

/// The figures of everybody together; the mean of what all of it costs, if that is known.
fn check_whole(root: &Field<'_>) -> Result<Option<f64>, Problem> {
    let cost = root.field("cost_min_per_year")?;
    let whole = cost.interval(Some(0.0))?;
    let part = |name: &str| root.field(name)?.interval(Some(0.0));
    let (lost, blocked) = (part("lost_min_per_year")?, part("blocked_min_per_year")?);
    part("short_min_per_year")?;
    if let (Some(whole), Some(lost), Some(blocked)) = (whole, lost, blocked) {
        cost.expect_sum(whole, lost + blocked, "lost traffic and planned work that waits")?;
    }
    let units = root.field("units")?.items()?;
    for (name, sum) in [("lost_min_per_year", lost), ("blocked_min_per_year", blocked)] {
        let of_units = units.iter().map(|unit| unit.field(name)?.interval(Some(0.0)));
        let of_units: Option<Vec<f64>> = of_units.collect::<Result<_, _>>()?;
        if let (Some(sum), Some(of_units)) = (sum, of_units) {
            let added = of_units.iter().fold(0.0, |sum, of| sum + of);
            root.field(name)?.expect_sum(sum, added, "what `units` have")?;
        }
    }
    Ok(whole)
}

fn check_unit(unit: &Field<'_>, known: &Known<'_>) -> Result<(), Problem> {
    unit.field("workloads")?.texts()?;
    unit.field("short_min_per_year")?.interval(Some(0.0))?;
    unit.field("availability")?.share()?;
    unit.field("worst_year_min")?.number(Some(0.0))?;
    let by_fault = unit.field("lost_min_per_year_by_fault")?;
    by_fault.entries()?.iter().try_for_each(|minutes| minutes.number(Some(0.0)).map(drop))?;
    let by_phase = unit.field("share_by_phase")?;
    let shares = by_phase.entries()?.iter().map(Field::share).collect::<Result<Vec<f64>, _>>()?;
    let sum = shares.iter().fold(0.0, |sum, share| sum + share);
    if sum > 1.0 + ROUNDING {
        return Err(by_phase.wrong(&format!("shares that add up to {sum}, more than 1")));
    }
    let worst = unit.field("worst")?;
    if worst.value.is_null() { Ok(()) } else { check_worst(&worst, known) }
}

fn check_incident(incident: &Field<'_>, known: &Known<'_>) -> Result<(), Problem> {
    for name in ["kind", "label"] {
        incident.field(name)?.text()?;
    }
    incident.field("set")?.texts()?;
    for count in ["alike", "evictions", "unscheduled", "pods_lost"] {
        incident.field(count)?.count()?;
    }
    incident.field("per_year")?.number(Some(0.0))?;
    incident.field("hurt")?.at_most(known.units.len() as f64, "that `units` has")?;
    let lost = incident.field("lost_min")?.known(Some(0.0))?;
    incident.field("worst_min")?.at_most(lost, "that all lose together")?;
    incident.field("is_blocked")?.truth()?;
    let worst = incident.field("worst")?;
    if worst.value.is_null() { Ok(()) } else { worst.one_of(&known.units, "units") }
}

fn check_finding(finding: &Field<'_>, index: usize, whole: Option<f64>, known: &Known<'_>) -> Result<(), Problem> {
    let rank = finding.field("rank")?;
    if rank.count()? != index as u64 + 1 {
        return Err(rank.wrong(&format!("{}, but it is number {} of them", rank.value, index + 1)));
    }
    for name in ["finding", "words", "patch"] {
        finding.field(name)?.text()?;
    }
    finding.field("fix")?.one_of(&known.fixes, "fixes")?;
    let units = finding.field("units")?.items()?;
    let is_apart = finding.value["is_apart"] == true;
    let (of, list) = if is_apart { (&known.apart, "without_controller.units") } else { (&known.units, "units") };
    units.iter().try_for_each(|unit| unit.one_of(of, list))?;
    finding.field("workloads")?.texts()?;
    let cost_field = finding.field("cost_min_per_year")?;
    let cost = cost_field.interval(Some(0.0))?;
    if let (Some(whole), Some(cost), false) = (whole, cost, is_apart) {
        cost_field.expect_part(cost, whole, "that everything costs")?;
    }
    let saved = finding.field("saved_min_per_year")?;
    for name in ["lost", "others"] {
        saved.field(name)?.interval(None)?;
    }
    if let (Some(saved_of), Some(cost)) = (saved.field("cost")?.interval(None)?, cost) {
        saved.field("cost")?.expect_part(saved_of, cost, "that it is saved from")?;
    }
    for pair in ["evictions_per_year", "needless_evictions_per_year", "blocked_per_year"] {
        let pair = saved.field(pair)?;
        let figures = pair.items()?;
        if figures.len() != 2 {
            return Err(pair.wrong("not two figures, before and after"));
        }
        figures.iter().try_for_each(|figure| figure.known(Some(0.0)).map(drop))?;
    }
    finding.field("worst_after_min")?.known(Some(0.0))?;
    let worst = finding.field("worst")?;
    if !worst.value.is_null() {
        check_worst(&worst, known)?;
    }
    for other in finding.field("alternatives")?.items()? {
        other.field("fix")?.one_of(&known.fixes, "fixes")?;
        other.field("units")?.at_most(units.len() as f64, "that the finding has")?;
        other.field("share")?.share()?;
    }
    finding.field("is_confirmed")?.truth()?;
    check_price(finding)
}

fn check_worst(worst: &Field<'_>, known: &Known<'_>) -> Result<(), Problem> {
    worst.field("incident")?.one_of(&known.incidents, "incidents")?;
    worst.field("label")?.text()?;
    worst.field("cost_min")?.known(Some(0.0)).map(drop)
}

fn check_price(of: &Field<'_>) -> Result<(), Problem> {
    let price = of.field("price")?;
    for name in ["pods", "nodes"] {
        price.field(name)?.count()?;
    }
    price.field("interventions_per_year")?.known(Some(0.0)).map(drop)
}

/// A value and where it stands.
struct Field<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Field<'a> {
    fn wrong(&self, is: &str) -> Problem {
        let path = if self.path.is_empty() { "it" } else { &self.path };
        format!("{path} is {is}")
    }

    /// What is written there, as far as a message quotes it.
    fn quoted(&self) -> String {
        const SHOWN_MAX: usize = 60;
        let text = self.value.to_string();
        let short: String = text.chars().take(SHOWN_MAX).collect();
        if short.len() < text.len() { format!("{short}…") } else { short }
    }

    fn expected(&self, what: &str) -> Problem {
        self.wrong(&format!("{}, not {what}", self.quoted()))
    }

    fn within(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn field(&self, name: &str) -> Result<Self, Problem> {
        let Some(fields) = self.value.as_object() else { return Err(self.expected("an object")) };
        let path = self.within(name);
        match fields.get(name) {
            Some(value) => Ok(Self { value, path }),
            None => Err(format!("{path} is missing; every forecast of this version has it")),
        }
    }

    fn items(&self) -> Result<Vec<Self>, Problem> {
        let Some(items) = self.value.as_array() else { return Err(self.expected("a list")) };
        let item = |(index, value)| Self { value, path: format!("{}[{index}]", self.path) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    fn entries(&self) -> Result<Vec<Self>, Problem> {
        let Some(fields) = self.value.as_object() else { return Err(self.expected("an object")) };
        Ok(fields.iter().map(|(name, value)| Self { value, path: self.within(name) }).collect())
    }

    fn text(&self) -> Result<&'a str, Problem> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    fn texts(&self) -> Result<(), Problem> {
        self.items()?.iter().try_for_each(|item| item.text().map(drop))
    }

    fn truth(&self) -> Result<bool, Problem> {
        self.value.as_bool().ok_or_else(|| self.expected("`true` or `false`"))
    }

    fn count(&self) -> Result<u64, Problem> {
        self.value.as_u64().ok_or_else(|| self.expected("a whole number from 0 up"))
    }

    /// A number that is not below another one; none if it is null, as what nothing tells.
    fn number(&self, least: Option<f64>) -> Result<Option<f64>, Problem> {
        if self.value.is_null() { Ok(None) } else { self.known(least).map(Some) }
    }

    fn known(&self, least: Option<f64>) -> Result<f64, Problem> {
        let number = self.value.as_f64().ok_or_else(|| self.expected("a number"))?;
        if least.is_some_and(|least| number < least) { Err(self.expected("a number from 0 up")) } else { Ok(number) }
    }

    fn share(&self) -> Result<f64, Problem> {
        let share = self.number(None)?.unwrap_or(0.0);
        if (0.0..=1.0 + ROUNDING).contains(&share) { Ok(share) } else { Err(self.expected("a share from 0 to 1")) }
    }

    fn at_most(&self, most: f64, of: &str) -> Result<(), Problem> {
        let number = self.known(Some(0.0))?;
        if number <= most * (1.0 + ROUNDING) {
            Ok(())
        } else {
            Err(self.wrong(&format!("{number}, more than the {most} {of}")))
        }
    }

    /// The mean of a figure with its interval, or nothing if it is not known.
    fn interval(&self, least: Option<f64>) -> Result<Option<f64>, Problem> {
        let [low, mean, high] = ["low", "mean", "high"].map(|name| self.field(name)?.number(least));
        let (low, mean, high) = (low?, mean?, high?);
        let slack = mean.unwrap_or(0.0).abs() * ROUNDING;
        let is_above =
            |low: Option<f64>, high: Option<f64>| low.zip(high).is_some_and(|(low, high)| low > high + slack);
        if is_above(low, mean) || is_above(mean, high) || is_above(low, high) {
            return Err(self.wrong(&format!("{}, whose mean is not between its ends", self.quoted())));
        }
        Ok(mean)
    }

    fn one_of(&self, known: &BTreeSet<&str>, list: &str) -> Result<(), Problem> {
        let name = self.text()?;
        if known.contains(name) {
            Ok(())
        } else {
            Err(self.wrong(&format!("{}, which `{list}` does not have", self.quoted())))
        }
    }

    /// The names of a list's items, each once.
    fn names(&self, field: &str) -> Result<BTreeSet<&'a str>, Problem> {
        let mut names = BTreeSet::new();
        for item in self.items()? {
            let name = item.field(field)?;
            if !names.insert(name.text()?) {
                return Err(name.wrong(&format!("{}, which is there twice", name.quoted())));
            }
        }
        Ok(names)
    }

    fn expect_sum(&self, sum: f64, added: f64, of: &str) -> Result<(), Problem> {
        let is_equal = (sum - added).abs() <= ROUNDING * sum.abs().max(added.abs()).max(1.0);
        if is_equal { Ok(()) } else { Err(self.wrong(&format!("{sum}, but {of} add up to {added}"))) }
    }

    fn expect_part(&self, part: f64, whole: f64, of: &str) -> Result<(), Problem> {
        let is_part = part <= whole + ROUNDING * whole.max(1.0);
        if is_part { Ok(()) } else { Err(self.wrong(&format!("{part}, more than the {whole} {of}"))) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A forecast that holds together, of a name.
    pub(in crate::report) fn forecast(name: &str) -> Value {
        let minutes = |mean: f64| json!({"mean": mean, "low": mean / 2.0, "high": mean * 2.0, "widened": false});
        let worst = json!({"incident": "nodeLost/a", "label": "a lost for 30m", "cost_min": 6.0});
        let price = json!({"pods": 1, "cpu_milli": 100, "memory": 0, "nodes": 0, "interventions_per_year": 0.0});
        json!({
            "forecast": name, "version": "0.1.0", "seed": 1,
            "asked": {"inputs": ["cluster.yaml"], "set": [], "catalog": null, "rates": null, "years": 2, "precision": null, "plays": null},
            "stands_on": {"objects": {"Node": 2}, "zones": 1, "unscheduled": 0, "down": [], "unread": [], "assumed": []},
            "years": {"played": 2, "length_d": 365.0, "chosen_by": 2}, "plays": 9, "plays_left_out": 0, "left_out": [],
            "metrics": {"lost_traffic_min_per_year": 10.0, "blocked_per_year": 0.0, "zone_worst_min": null},
            "cost_min_per_year": minutes(10.0), "lost_min_per_year": minutes(10.0), "short_min_per_year": minutes(20.0),
            "blocked_min_per_year": minutes(0.0), "fixes": [{"fix": "replicas", "words": "run a second replica"}],
            "findings": [{
                "rank": 1, "finding": "service/shop/web has a single pod", "fix": "replicas", "words": "run a second replica",
                "patch": "patches/01-replicas.sh", "by_hand": null, "units": ["service/shop/web"], "workloads": ["deployment/shop/web"],
                "cost_min_per_year": minutes(10.0),
                "saved_min_per_year": {
                    "cost": minutes(9.0), "lost": minutes(9.0), "others": {"mean": 0.0, "low": 0.0, "high": 0.0, "widened": false},
                    "evictions_per_year": [1.0, 1.0], "needless_evictions_per_year": [0.0, 0.0], "blocked_per_year": [0.0, 0.0],
                },
                "worst": worst, "worst_after_min": 0.0, "price": price, "takes": "1 pod more",
                "alternatives": [{"fix": "replicas", "units": 1, "share": 0.5}], "is_confirmed": true,
            }],
            "dropped": [{"fix": "replicas", "workloads": 1, "why": "new seeds do not bear it out"}],
            "unhelped": [{"incident": "nodeLost/a", "label": "a lost for 30m", "cost_min": 6.0, "hurt": 1, "tried": ["replicas"]}],
            "together": [{"fix": "replicas", "cost": minutes(1.0), "gained": minutes(9.0), "blocked_per_year": 0.0, "price": price, "takes": null}],
            "units": [{
                "unit": "service/shop/web", "workloads": ["deployment/shop/web"], "lost_min_per_year": minutes(10.0),
                "short_min_per_year": minutes(20.0), "blocked_min_per_year": minutes(0.0), "availability": 0.9999, "worst_year_min": 20.0,
                "lost_min_per_year_by_fault": {"machine": 10.0}, "share_by_phase": {"wait": 0.7, "start": 0.3}, "worst": worst,
            }],
            "incidents": [{
                "incident": "nodeLost/a", "kind": "nodeLost", "label": "a lost for 30m", "set": [], "alike": 1, "per_year": 0.0,
                "lost_min": 6.0, "hurt": 1, "worst": "service/shop/web", "worst_min": 6.0, "evictions": 1, "unscheduled": 0,
                "pods_lost": 0, "is_blocked": false,
            }],
        })
    }

    #[test]
    fn what_holds_together_is_fine_and_what_is_not_known_too() {
        assert_eq!(check(&forecast("shop")), Ok(()));
        let mut unknown = forecast("shop");
        unknown["findings"] = json!([]);
        let none = json!({"mean": null, "low": null, "high": null, "widened": false});
        for name in ["cost_min_per_year", "lost_min_per_year", "blocked_min_per_year", "short_min_per_year"] {
            unknown[name] = none.clone();
        }
        unknown["metrics"]["lost_traffic_min_per_year"] = Value::Null;
        assert_eq!(check(&unknown), Ok(()));
    }

    #[test]
    fn what_no_forecast_says_is_told_with_its_place() {
        #[track_caller]
        fn changed(path: &str, value: Value, expected: &str) {
            let mut forged = forecast("shop");
            *forged.pointer_mut(path).expect("a field") = value;
            assert_eq!(check(&forged).expect_err(path), expected);
        }
        let whole = "/lost_min_per_year/mean";
        changed(whole, json!(-5), "lost_min_per_year.mean is -5, not a number from 0 up");
        changed(whole, json!("many"), "lost_min_per_year.mean is \"many\", not a number");
        changed(
            "/units/0/lost_min_per_year/mean",
            json!(8),
            "lost_min_per_year is 10, but what `units` have add up to 8",
        );
        changed("/units/0/availability", json!(1.5), "units[0].availability is 1.5, not a share from 0 to 1");
        changed(
            "/units/0/share_by_phase/wait",
            json!(0.9),
            "units[0].share_by_phase is shares that add up to 1.2, more than 1",
        );
        changed(
            "/units/0/worst/incident",
            json!("x"),
            "units[0].worst.incident is \"x\", which `incidents` does not have",
        );
        changed(
            "/findings/0/worst/incident",
            json!("x"),
            "findings[0].worst.incident is \"x\", which `incidents` does not have",
        );
        changed("/findings/0/units/0", json!("x"), "findings[0].units[0] is \"x\", which `units` does not have");
        let mut forged = forecast("shop");
        forged["unhelped"][0]["untried"] = json!(["x"]);
        assert_eq!(
            check(&forged).expect_err("no such change"),
            "unhelped[0].untried[0] is \"x\", which `fixes` does not have"
        );
        let mut forged = forecast("shop");
        forged["stands_on"]["not_played"] = json!("zone");
        assert_eq!(check(&forged).expect_err("no list"), "stands_on.not_played is \"zone\", not a list");
        changed("/findings/0/fix", json!("x"), "findings[0].fix is \"x\", which `fixes` does not have");
        changed("/findings/0/rank", json!(2), "findings[0].rank is 2, but it is number 1 of them");
        changed(
            "/findings/0/alternatives/0/share",
            json!(2),
            "findings[0].alternatives[0].share is 2, not a share from 0 to 1",
        );
        let more = json!({"mean": 11, "low": 1, "high": 20});
        changed(
            "/findings/0/saved_min_per_year/cost",
            more.clone(),
            "findings[0].saved_min_per_year.cost is 11, more than the 10 that it is saved from",
        );
        changed(
            "/findings/0/cost_min_per_year",
            more,
            "findings[0].cost_min_per_year is 11, more than the 10 that everything costs",
        );
        changed(
            "/incidents/0/worst_min",
            json!(7),
            "incidents[0].worst_min is 7, more than the 6 that all lose together",
        );
        changed("/incidents/0/evictions", json!(-1), "incidents[0].evictions is -1, not a whole number from 0 up");
        changed("/incidents/0/hurt", json!(9), "incidents[0].hurt is 9, more than the 1 that `units` has");
        changed(
            "/together/0/cost/low",
            json!(5),
            "together[0].cost is {\"high\":2.0,\"low\":5,\"mean\":1.0,\"widened\":false}, whose mean is not between its ends",
        );
        changed("/years/length_d", json!(900), "years.length_d is 900, more than the 366 that a year has");
        let mut forged = forecast("shop");
        forged.as_object_mut().expect("an object").remove("cost_min_per_year");
        assert!(check(&forged).expect_err("of another version").starts_with("cost_min_per_year is missing"));
        let mut forged = forecast("shop");
        let row = forged["incidents"][0].clone();
        forged["incidents"].as_array_mut().expect("a list").push(row);
        assert!(check(&forged).expect_err("twice").ends_with("which is there twice"));
        assert_eq!(check(&json!([])).expect_err("a list"), "it is [], not an object");
    }
}
