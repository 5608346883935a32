//! `report.html`: one page that opens without a network and shows nothing but what its tables say.
//!
//! A page is a template of `web/` that extends `shell.html`, the modules of `web/` that draw it in the browser, and tables, packed. It is
//! made from a directory alone, so that making it again gives the same bytes. What a page of one kind is made of, its file here says.

mod blocks;
mod diff;
mod forecast;
mod live;
mod plain;
mod plan;
mod run;
mod sensitivity;
mod study;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::diagnostics::is_active;

pub use diff::{draw_diff_page, is_place_of_page};
pub use forecast::{draw_forecast_page, read_forecast};
pub(crate) use live::{COMPARED_TABLES, Live, draw_live_page, is_live_built, replayed};
pub use plan::draw_plan_page;
pub use run::draw_run_page;
pub use sensitivity::draw_sensitivity_page;
pub use study::draw_study_page;

/// A module of `web/`: its name and its text.
type Module = (&'static str, &'static str);

/// The modules of `web/` with these names, in an order in which each can stand on those before it.
macro_rules! modules {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../web/", $name)))),*]
    };
}
use modules;

/// What every page stands on.
const SHARED: &[Module] = modules!["format.js" "dom.js" "data.js" "shell.js"];

/// Draws curves.
const UPLOT: &str = include_str!("../../../web/vendor/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../../web/vendor/uPlot.min.css");
const STYLE: &str = include_str!("../../../web/page.css");

/// What `shell.html` shows. All of it comes out escaped, but for texts of this repository and of base64.
struct Shell<'a> {
    title: Cow<'a, str>,
    verdict: Vec<Sentence<'a>>,
    policy: String,
    style: String,
    uplot: &'static str,
    script: String,
    summary: String,
    tables: Vec<(&'static str, String)>,
    /// Of what plays the run again, if anything does: its name.
    backend: Option<&'static str>,
}

/// A sentence of the verdict.
struct Sentence<'a> {
    tone: &'a str,
    text: Cow<'a, str>,
    details: Vec<Cow<'a, str>>,
    see: Option<&'a str>,
}

impl<'a> Shell<'a> {
    /// A page with these modules besides the shared ones, and these tables: the names by which the modules ask for them, and their blocks.
    fn new(title: &'a str, modules: &[Module], summary: &'a Value, tables: Vec<(&'static str, String)>) -> Self {
        let (style, script) = (format!("{UPLOT_STYLE}\n{STYLE}"), joined(modules));
        Self {
            title: visible(title),
            verdict: sentences(summary),
            policy: policy(&[UPLOT, &script], &style),
            backend: None,
            style,
            uplot: UPLOT,
            script,
            summary: blocks::packed(summary.to_string().as_bytes()),
            tables,
        }
    }
}

/// A text in which characters that would do something instead of being seen stand as `\u{202e}`, as on the terminal. What the browser
/// draws goes through `visible` of `web/dom.js`.
fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let seen = |c: char| if is_active(c) { c.escape_unicode().collect() } else { String::from(c) };
    Cow::Owned(text.chars().map(seen).collect())
}

/// The verdict as `summary.json` has it, each trap with its page.
fn sentences(summary: &Value) -> Vec<Sentence<'_>> {
    let traps: Vec<&Value> = summary["traps"].as_array().into_iter().flatten().collect();
    let page_of = |text: &str| {
        let trap = traps.iter().find(|trap| trap["text"].as_str().is_some_and(|said| text.contains(said)))?;
        trap["see"].as_str()
    };
    let all = summary["verdict"].as_array().into_iter().flatten();
    let sentence = all.map(|sentence| {
        let text = sentence["text"].as_str().unwrap_or_default();
        let see = (sentence["kind"] == "trap").then(|| page_of(text)).flatten();
        let details =
            sentence["details"].as_array().into_iter().flatten().filter_map(Value::as_str).map(visible).collect();
        Sentence { details, tone: sentence["tone"].as_str().unwrap_or("neutral"), text: visible(text), see }
    });
    sentence.collect()
}

/// The shared modules and these as one: a page from a disk may not load modules. What they import stands before them.
fn joined(modules: &[Module]) -> String {
    let mut out = String::new();
    for (name, text) in SHARED.iter().chain(modules) {
        out.push_str(&format!("// web/{name}\n"));
        for line in text.lines().filter(|line| !line.starts_with("import ")) {
            out.push_str(line.strip_prefix("export ").unwrap_or(line));
            out.push('\n');
        }
    }
    out
}

/// What the browser may run and load: these texts, and nothing else.
fn policy(scripts: &[&str], style: &str) -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text.as_bytes())));
    let scripts: Vec<String> = scripts.iter().map(|text| hash(text)).collect();
    let style = hash(style);
    format!(
        "default-src 'none'; script-src {}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'",
        scripts.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The name that a line declares for its whole module.
    fn declared(line: &str) -> Option<&str> {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let rest = ["function ", "const ", "let ", "class "].iter().find_map(|word| line.strip_prefix(word))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
    }

    /// The modules of each page, in their order.
    fn pages() -> Vec<Vec<Module>> {
        [run::MODULES, diff::MODULES, study::MODULES, plan::MODULES, forecast::MODULES, sensitivity::MODULES]
            .iter()
            .map(|own| SHARED.iter().chain(*own).copied().collect())
            .collect()
    }

    #[test]
    fn modules_can_stand_in_one_scope() {
        for modules in pages() {
            let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
            for (module, text) in modules {
                for name in text.lines().filter_map(declared) {
                    let other = owners.insert(name, module);
                    assert!(other.is_none(), "`{name}` is declared in {module} and in {other:?}");
                }
            }
            assert!(owners.len() > 30);
        }
    }

    #[test]
    fn imports_are_of_earlier_modules_and_on_one_line() {
        let all = pages();
        let modules = all.iter().flat_map(|modules| modules.iter().enumerate().map(move |(at, of)| (modules, at, of)));
        for (modules, index, (module, text)) in modules {
            let position = |name: &str| modules.iter().position(|(of, _)| *of == name);
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split_once(" from \"./").and_then(|(_, from)| from.strip_suffix("\";"));
                let from = from.unwrap_or_else(|| panic!("{module}: `{line}` is not a whole import"));
                assert!(position(from).is_some_and(|at| at < index), "{module} imports {from}, which is not before it");
            }
            assert!(
                !text.lines().any(|line| line.starts_with("export {") || line.starts_with("export default")),
                "{module}"
            );
        }
    }

    #[test]
    fn nothing_ends_the_script_early() {
        let scripts = pages().into_iter().flatten().map(|(_, text)| text).chain([UPLOT]);
        for text in scripts {
            assert!(!text.contains("</script") && !text.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }
}
