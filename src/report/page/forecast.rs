//! The page of a forecast: what to change and the proof that it helps, who is hurt by what, and what all of that stands on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use askama::Template;
use serde::Serialize;
use serde_json::Value;

use super::{Module, Shell, blocks, modules};
use crate::report::tables::read_text;
use crate::report::{TableError, forecast_file};

/// What the page is made of besides what all pages share.
pub(super) const MODULES: &[Module] = modules!["figures.js" "listing.js" "plots.js" "findings.js" "forecast.js"];

#[derive(Template)]
#[template(path = "forecast.html")]
struct Page<'a> {
    shell: Shell<'a>,
    version: &'a str,
    seed: String,
    years: String,
    incidents: usize,
}

/// What the page shows besides the summary.
#[derive(Serialize)]
struct Data {
    forecast: Value,
    /// What each finding changes, by the name of its kubectl lines: these, and the documents.
    patches: BTreeMap<String, [String; 2]>,
}

/// The content of the `forecast.json` of a directory.
///
/// # Errors
///
/// If it is missing or damaged, or says what no forecast says.
pub fn read_forecast(dir: &Path) -> Result<Value, TableError> {
    let path = dir.join("forecast.json");
    let text = read_text(&path)?;
    let forecast: Value = serde_json::from_str(&text)
        .map_err(|error| TableError::new(&path, Some(error.line() as u64), error.to_string()))?;
    match forecast_file::check(&forecast) {
        Ok(()) => Ok(forecast),
        Err(problem) => Err(TableError::new(&path, None, format!("this is not what a forecast says: {problem}"))),
    }
}

/// The text of the page of the forecast in `dir`, whose `summary.json` has been read.
///
/// # Errors
///
/// If a file is missing or damaged: nothing is shown of a part of the results.
pub fn draw_forecast_page(dir: &Path, summary: &Value) -> Result<String, TableError> {
    let forecast = read_forecast(dir)?;
    let mut patches = BTreeMap::new();
    let named = forecast["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["patch"].as_str());
    for name in named.filter(|name| is_patch(name)) {
        let lines = read_text(&dir.join(name))?;
        // A finding may change nothing that a document can say.
        let documents = fs::read_to_string(dir.join(name).with_extension("yaml")).unwrap_or_default();
        patches.insert(name.to_owned(), [lines, documents]);
    }
    let list = |name: &str| forecast[name].as_array().map_or(0, Vec::len);
    let years = format!(
        "{} plays of {:.0} d",
        forecast["years"]["played"],
        forecast["years"]["length_d"].as_f64().unwrap_or_default()
    );
    let (incidents, seed, version) =
        (list("incidents"), forecast["seed"].to_string(), forecast["version"].as_str().unwrap_or_default().to_owned());
    let data = Data { forecast, patches };
    let block = blocks::packed(&serde_json::to_vec(&data).expect("plain data"));
    let page = Page {
        version: &version,
        seed,
        years,
        incidents,
        shell: Shell::new(summary["forecast"].as_str().unwrap_or_default(), MODULES, summary, vec![("data", block)]),
    };
    Ok(page.render().expect("a template of texts writes to memory"))
}

/// Whether a forecast names its kubectl lines so: nothing outside its directory is read.
fn is_patch(name: &str) -> bool {
    name.strip_prefix("patches/")
        .and_then(|name| name.strip_suffix(".sh"))
        .is_some_and(|stem| !stem.is_empty() && stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>";

    #[test]
    fn what_names_contain_is_text_and_nothing_else_is_read() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let write =
            |forecast: &Value| fs::write(dir.path().join("forecast.json"), forecast.to_string()).expect("written");
        let mut forecast = forecast_file::tests::forecast(HOSTILE);
        (forecast["findings"][0]["finding"], forecast["findings"][0]["patch"]) =
            (json!(HOSTILE), json!("../../etc/passwd.sh"));
        write(&forecast);
        let page = draw_forecast_page(dir.path(), &json!({"forecast": HOSTILE})).expect("a page");
        assert!(!page.contains("<script>alert"));
        assert_eq!(page.matches("</script>").count(), page.matches("<script").count());
        forecast["findings"][0]["patch"] = json!("patches/01-replicas.sh");
        write(&forecast);
        let error = draw_forecast_page(dir.path(), &json!({})).expect_err("the patch is not there");
        assert!(error.file.ends_with("01-replicas.sh"), "{error}");
        forecast["lost_min_per_year"]["mean"] = json!(-5);
        write(&forecast);
        let error = draw_forecast_page(dir.path(), &json!({})).expect_err("nothing is lost below zero");
        assert!(error.problem.ends_with("lost_min_per_year.mean is -5, not a number from 0 up"), "{error}");
    }
}
