//! The page of a study: what its variants cost, what is recommended, and what the data cannot tell.

use std::collections::BTreeSet;
use std::path::Path;

use askama::Template;
use serde::Serialize;
use serde_json::{Value, json};

use super::plain::{Plain, Wanted, read};
use super::{Module, Shell, blocks, modules};
use crate::observe::{Cells, FIGURES, TableInfo};
use crate::report::TableError;
use crate::report::study_rows::{MetricRow, SHOWN_METRICS, SurrogateRow, TuningRow};
use crate::report::tables::{self, Checked};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] =
    modules!["figures.js" "listing.js" "plots.js" "variants.js" "choices.js" "searched.js" "inputs.js" "study.js"];

/// Variants up to which the page has every metric of each.
const WITH_METRICS_MAX: usize = 200;
/// Variants up to which it has each; of more it has the cheapest, and those that the verdict speaks of.
const SHOWN_MAX: usize = 500;
/// The cheapest of them.
const CHEAPEST_MAX: usize = 200;
/// Variants whose recoveries are drawn, those first that the verdict speaks of.
const CURVES_MAX: usize = 24;
/// Points of such a curve: of more runs each so many-th has one.
const POINTS_MAX: usize = 1000;
/// How long the longest gap of a run was.
const GAP: &str = "longest_gap_s";
/// What variants are compared by, where something has a price and where nothing has.
const COST: &str = "cost";
const UNREADY: &str = "unready_replica_s";

#[derive(Template)]
#[template(path = "study.html")]
struct Page<'a> {
    shell: Shell<'a>,
    version: &'a str,
    variants: usize,
    replications: u64,
    has_set_aside: bool,
    has_inputs: bool,
    is_tuned: bool,
    is_searched: bool,
    part: Option<String>,
}

/// What the page shows besides the summary.
#[derive(Serialize)]
struct Data {
    /// The metric that variants are compared by.
    decisive: String,
    /// How many variants there are.
    total: usize,
    /// The values of each variant that is shown, by its position.
    shown: Vec<(usize, Value)>,
    /// Rows of `variants.csv`.
    metrics: Plain,
    /// What the metrics are.
    meanings: Vec<Value>,
    /// Where not every variant is shown, what each value of an axis means for all that have it.
    levels: Vec<Level>,
    recoveries: Vec<Recovery>,
    tuning: Option<Plain>,
    /// Rows of `surrogate.csv`, if ranges were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    surrogate: Option<Plain>,
    patch_sh: String,
    patch_yaml: String,
}

/// A value of an axis.
#[derive(Serialize)]
struct Level {
    axis: String,
    value: String,
    variants: usize,
    least: Option<f64>,
    median: Option<f64>,
}

/// The longest gaps of a variant's runs, sorted.
#[derive(Serialize)]
struct Recovery {
    variant: usize,
    runs: usize,
    /// Of so many runs the last one is among these.
    each: usize,
    seconds: Vec<f64>,
}

/// The text of the page of the study in `dir`, whose `summary.json` has been read.
///
/// # Errors
///
/// If a file is missing or damaged: nothing is shown of a part of the results.
pub fn draw_study_page(dir: &Path, summary: &Value) -> Result<String, TableError> {
    let study = &summary["study"];
    let data = data(dir, summary)?;
    let block = blocks::packed(&serde_json::to_vec(&data).expect("plain data"));
    let part = study["shard"]["count"].as_u64().filter(|count| *count > 1);
    // Those that are shown are among the data.
    let mut trimmed = summary.clone();
    trimmed["variants"] = Value::Null;
    trimmed["study"]["variants"] = Value::Null;
    let page = Page {
        version: study["version"].as_str().unwrap_or_default(),
        variants: data.total,
        replications: study["replications"].as_u64().unwrap_or_default(),
        has_set_aside: study["selection"]["set_aside"].as_array().is_some_and(|of| !of.is_empty()),
        has_inputs: !summary["input_uncertainty"].is_null(),
        is_tuned: !summary["tuning"].is_null(),
        is_searched: !summary["search"].is_null(),
        part: part.map(|count| format!("{}/{count}", study["shard"]["index"])),
        shell: Shell::new(study["study"].as_str().unwrap_or_default(), MODULES, &trimmed, vec![("data", block)]),
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}

fn data(dir: &Path, summary: &Value) -> Result<Data, TableError> {
    let study = &summary["study"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (axes, variants) = (list(&study["axes"]).len(), list(&study["variants"]));
    let of_mean = if list(&study["prices"]).is_empty() { UNREADY } else { COST };
    let decisive = summary["judged_by"]["metric"].as_str().unwrap_or(of_mean);
    let means = means(dir, axes, variants.len(), decisive)?;
    let named = named(summary);
    let shown = shown(&means, &named);
    let has_all = shown.len() == variants.len();
    let is_tuned = !summary["tuning"].is_null();
    let is_weighted = !study["rare"].is_null();
    let text = |name: &str| if is_tuned { tables::read_text(&dir.join(name)) } else { Ok(String::new()) };
    Ok(Data {
        decisive: decisive.to_owned(),
        total: variants.len(),
        metrics: metrics(dir, axes, &shown, variants.len(), decisive)?,
        meanings: FIGURES.iter().map(|of| json!({"name": of.name, "unit": of.unit, "meaning": of.meaning})).collect(),
        levels: if has_all { Vec::new() } else { levels(study, &variants, &means) },
        // Of runs with weights a share is not that of all runs.
        recoveries: if is_weighted { Vec::new() } else { recoveries(dir, axes, &curves(&shown, &named))? },
        tuning: if is_tuned { Some(tuning(dir)?) } else { None },
        surrogate: if summary["search"].is_null() { None } else { Some(surrogate(dir, axes)?) },
        patch_sh: text("patch.sh")?,
        patch_yaml: text("patch.yaml")?,
        shown: shown.into_iter().map(|variant| (variant, variants[variant].clone())).collect(),
    })
}

/// The variants that the verdict speaks of: the baseline, what is recommended, the runner-up, what cannot be told from it, the front.
fn named(summary: &Value) -> Vec<usize> {
    let of = &summary["recommendation"];
    let single = [&summary["study"]["baseline"], &of["best"], &of["runner_up"]];
    let several = [&of["alike"], &summary["front"]].into_iter().flat_map(|list| list.as_array().into_iter().flatten());
    let mut named: Vec<usize> = Vec::new();
    for variant in single.into_iter().chain(several).filter_map(Value::as_u64) {
        let variant = variant as usize;
        if !named.contains(&variant) {
            named.push(variant);
        }
    }
    named
}

/// By variant what it is compared by; none where nothing was played.
fn means(dir: &Path, axes: usize, count: usize, decisive: &str) -> Result<Vec<Option<f64>>, TableError> {
    let mut means = vec![None; count];
    let table = TableInfo::of::<MetricRow>();
    let is_column = |name: &str| matches!(name, "variant" | "metric" | "mean");
    let mut is_row = |cells: &[Value]| {
        let [variant, metric, mean] = cells else { return false };
        let place = variant.as_f64().and_then(|variant| means.get_mut(variant as usize));
        if let Some(place) = place.filter(|_| metric == decisive) {
            *place = mean.as_f64();
        }
        false
    };
    read(dir, Wanted { table: &table, named: axes, is_column: &is_column, is_row: &mut is_row })?;
    Ok(means)
}

/// The variants that are shown, in their order.
fn shown(means: &[Option<f64>], named: &[usize]) -> Vec<usize> {
    if means.len() <= SHOWN_MAX {
        return (0..means.len()).collect();
    }
    let mut order: Vec<(f64, usize)> =
        means.iter().enumerate().filter_map(|(variant, mean)| Some(((*mean)?, variant))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let cheapest = order.into_iter().take(CHEAPEST_MAX).map(|(_, variant)| variant);
    let is_there = |variant: &usize| *variant < means.len();
    let shown: BTreeSet<usize> = cheapest.chain(named.iter().copied().filter(is_there).take(SHOWN_MAX)).collect();
    shown.into_iter().collect()
}

fn metrics(dir: &Path, axes: usize, shown: &[usize], count: usize, decisive: &str) -> Result<Plain, TableError> {
    let table = TableInfo::of::<MetricRow>();
    let is_whole = count <= WITH_METRICS_MAX;
    let mut is_row = |cells: &[Value]| {
        let [variant, metric, ..] = cells else { return false };
        let is_shown = variant.as_f64().is_some_and(|of| shown.binary_search(&(of as usize)).is_ok());
        let metric = metric.as_str().unwrap_or_default();
        is_shown
            && (is_whole
                || metric == decisive
                || decisive != UNREADY && metric == COST
                || SHOWN_METRICS.contains(&metric))
    };
    let is_column = |name: &str| !name.starts_with('<');
    read(dir, Wanted { table: &table, named: axes, is_column: &is_column, is_row: &mut is_row })
}

fn tuning(dir: &Path) -> Result<Plain, TableError> {
    let table = TableInfo::of::<TuningRow>();
    read(dir, Wanted { table: &table, named: 0, is_column: &|_| true, is_row: &mut |_| true })
}

/// What a search predicts; the values of other axes go by the summary.
fn surrogate(dir: &Path, axes: usize) -> Result<Plain, TableError> {
    let table = TableInfo::of::<SurrogateRow>();
    let is_column = |name: &str| !name.starts_with('<');
    read(dir, Wanted { table: &table, named: axes, is_column: &is_column, is_row: &mut |_| true })
}

/// What each value of each axis means for the variants that have it.
fn levels(study: &Value, variants: &[Value], means: &[Option<f64>]) -> Vec<Level> {
    let mut levels = Vec::new();
    let axes = study["axes"].as_array().into_iter().flatten().zip(study["levels"].as_array().into_iter().flatten());
    for (position, (axis, values)) in axes.enumerate() {
        for value in values.as_array().into_iter().flatten() {
            let has_it = |variant: &usize| variants[*variant][position] == *value;
            let having: Vec<usize> = (0..variants.len()).filter(has_it).collect();
            let mut costs: Vec<f64> = having.iter().filter_map(|variant| means[*variant]).collect();
            costs.sort_by(f64::total_cmp);
            levels.push(Level {
                axis: axis.as_str().unwrap_or_default().to_owned(),
                value: value.as_str().unwrap_or_default().to_owned(),
                variants: having.len(),
                least: costs.first().copied(),
                median: costs.get(costs.len().saturating_sub(1) / 2).copied(),
            });
        }
    }
    levels
}

/// The variants whose recoveries are drawn.
fn curves(shown: &[usize], named: &[usize]) -> Vec<usize> {
    let named = named.iter().filter(|variant| shown.contains(variant)).copied();
    let others = shown.iter().copied();
    let mut found: Vec<usize> = Vec::new();
    for variant in named.chain(others) {
        if found.len() < CURVES_MAX && !found.contains(&variant) {
            found.push(variant);
        }
    }
    found
}

/// The longest gap of each run of these variants.
fn recoveries(dir: &Path, axes: usize, variants: &[usize]) -> Result<Vec<Recovery>, TableError> {
    // Behind the variant, its values, the replication and the seed.
    let before = axes + 3;
    let mut gaps: Vec<Vec<f64>> = vec![Vec::new(); variants.len()];
    let choose = |header: &[String]| {
        let found = header.iter().skip(before).position(|name| name == GAP);
        let place = found.ok_or_else(|| format!("there is no column `{GAP}`"))? + before;
        let checked = |place: usize, name: &str, cells: Cells| Checked { place, name: name.to_owned(), cells };
        Ok((place, vec![checked(0, "variant", Cells::Number), checked(place, GAP, Cells::Real)]))
    };
    tables::scan(&dir.join("runs.csv"), None, choose, |place, _, row| {
        let variant = row.get(0).and_then(|cell| cell.parse::<usize>().ok());
        let gap = row.get(*place).and_then(|cell| cell.parse::<f64>().ok());
        if let (Some(at), Some(gap)) = (variants.iter().position(|of| Some(*of) == variant), gap) {
            gaps[at].push(gap);
        }
    })?;
    let of = |(variant, mut seconds): (&usize, Vec<f64>)| {
        seconds.sort_by(f64::total_cmp);
        let runs = seconds.len();
        let each = runs.div_ceil(POINTS_MAX).max(1);
        // The last one always: it is the worst.
        let seconds = seconds.into_iter().enumerate().filter(|(at, _)| (runs - 1 - at).is_multiple_of(each));
        Recovery { variant: *variant, runs, each, seconds: seconds.map(|(_, gap)| gap).collect() }
    };
    Ok(variants.iter().zip(gaps).map(of).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\"><img src=x onerror=alert(1)>";

    /// The directory of a sweep of one axis, whose variants cost what their positions are, the highest first.
    fn sweep(count: usize, axis: &str) -> (tempfile::TempDir, Value) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let table = TableInfo::of::<MetricRow>();
        let columns = table.columns.iter().filter(|of| of.name != "<requirement>");
        let names: Vec<&str> = columns.map(|of| if of.name == "<axis>" { "mean" } else { of.name }).collect();
        let (mut metrics, mut runs) = (names.join(","), format!("variant,mean,replication,seed,{GAP},cost"));
        for variant in 0..count {
            let cost = count - variant;
            for metric in [COST, "evictions", "events"] {
                let numbers = vec![cost.to_string(); names.len() - 9].join(",");
                metrics.push_str(&format!("\n{variant},{variant},{metric},1,{numbers},false,false,,{cost},{cost}"));
            }
            runs.push_str(&format!("\n{variant},{variant},0,1,{cost},{cost}"));
        }
        fs::write(dir.path().join("variants.csv"), metrics + "\n").expect("written");
        fs::write(dir.path().join("runs.csv"), runs + "\n").expect("written");
        let variants: Vec<Value> = (0..count).map(|variant| json!([variant.to_string()])).collect();
        let levels: Vec<String> = (0..count).map(|variant| variant.to_string()).collect();
        let study = json!({"study": axis, "axes": [axis], "levels": [levels], "variants": variants, "prices": [["evictions", 1.0]],
            "baseline": 0, "replications": 1, "shard": {"index": 1, "count": 1}});
        let verdict = json!([{"tone": "bad", "text": axis, "details": [axis]}]);
        (
            dir,
            json!({"study": study, "verdict": verdict, "front": [1], "recommendation": {"best": count - 1, "alike": []}}),
        )
    }

    #[test]
    fn what_names_contain_is_text() {
        let (dir, summary) = sweep(3, HOSTILE);
        let page = draw_study_page(dir.path(), &summary).expect("a page");
        assert!(!page.contains("<img") && !page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
    }

    #[test]
    fn columns_go_by_their_places_as_an_axis_may_be_called_anything() {
        let (dir, summary) = sweep(3, "mean");
        let data = data(dir.path(), &summary).expect("whole");
        assert_eq!((data.shown.len(), data.metrics.rows.len(), data.levels.len()), (3, 9, 0));
        let mean = data.metrics.columns.iter().position(|name| *name == "mean").expect("the mean");
        assert_eq!(data.metrics.rows[0][mean], 3.0);
    }

    #[test]
    fn of_many_variants_the_cheapest_and_the_named_are_shown_and_the_values_of_all() {
        let (dir, summary) = sweep(1000, "x");
        let data = data(dir.path(), &summary).expect("whole");
        let shown: Vec<usize> = data.shown.iter().map(|(variant, _)| *variant).collect();
        assert_eq!(shown, [0, 1].into_iter().chain(800..1000).collect::<Vec<_>>());
        assert_eq!(data.total, 1000);
        // Two metrics of three: what happened in all is not compared.
        assert_eq!(data.metrics.rows.len(), 2 * shown.len());
        assert_eq!((data.levels.len(), data.levels[7].variants, data.levels[7].least), (1000, 1, Some(993.0)));
        assert_eq!(data.recoveries.len(), CURVES_MAX);
        assert_eq!(data.recoveries[0].variant, 0);
    }

    #[test]
    fn a_part_of_a_table_is_refused() {
        let (dir, summary) = sweep(3, "x");
        for file in ["variants.csv", "runs.csv"] {
            let place = dir.path().join(file);
            let whole = fs::read(&place).expect("a table");
            fs::write(&place, &whole[..whole.len() - 3]).expect("cut");
            assert!(draw_study_page(dir.path(), &summary).is_err(), "{file}");
            fs::write(&place, whole).expect("written");
        }
        assert!(draw_study_page(dir.path(), &summary).is_ok());
    }

    #[test]
    fn curves_of_many_runs_have_few_points_and_the_last_one() {
        let (dir, summary) = sweep(1, "x");
        let runs: String = (0..2500).map(|run| format!("0,0,{run},1,{run},0\n")).collect();
        fs::write(dir.path().join("runs.csv"), format!("variant,mean,replication,seed,{GAP},cost\n{runs}"))
            .expect("written");
        let data = data(dir.path(), &summary).expect("whole");
        let Recovery { runs, each, seconds, .. } = &data.recoveries[0];
        assert_eq!((*runs, *each, seconds.len(), seconds.last()), (2500, 3, 834, Some(&2499.0)));
    }
}
