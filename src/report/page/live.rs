//! A page of a run that plays: besides the tables it has what plays the run again with other values, and what can be turned.
//!
//! What plays is either in the page, the simulator as WebAssembly with the run's lock file, or behind the address from which the page came.
//! `web/live.js` is its other side.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::Value;

use super::run::draw_with;
use super::{STYLE, UPLOT, UPLOT_STYLE};
use super::{Shell, blocks, policy};
use crate::report::{RunTables, TableError};

/// The simulator, in gzip; `live/build` makes it.
#[cfg(feature = "live")]
const SIMULATOR: Option<&[u8]> = Some(include_bytes!(env!("KUBESQUALL_LIVE")));
#[cfg(not(feature = "live"))]
const SIMULATOR: Option<&[u8]> = None;

/// What runs beside the page and holds the simulator.
const WORKER: &str = include_str!("../../../web/worker.js");

/// The tables of another play that the page puts beside its own.
pub(crate) const COMPARED_TABLES: [&str; 5] =
    ["faults.csv", "transcript.jsonl", "cluster.csv", "workloads.csv", "disruptions.csv"];

/// What of a summary the page compares.
const COMPARED: [&str; 9] =
    ["scenario", "seed", "version", "duration_s", "overrides", "verdict", "metrics", "workloads", "expectations"];

/// Whether this program has the simulator for pages.
pub(crate) fn is_live_built() -> bool {
    SIMULATOR.is_some()
}

/// What plays a page's run again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Live<'a> {
    /// The page itself, from this lock file.
    InPage { lock_file: &'a str },
    /// Who has served it.
    Served,
}

/// The text of the page of a run that plays; `knobs` are what can be turned, and `digest` is that of the run.
///
/// # Errors
///
/// If a table is missing or damaged.
///
/// # Panics
///
/// If the page is to hold the simulator, and this program does not.
pub(crate) fn draw_live_page(
    run: &RunTables,
    live: Live<'_>,
    knobs: &Value,
    digest: u64,
) -> Result<String, TableError> {
    let about = serde_json::json!({"digest": digest_text(digest), "knobs": knobs});
    draw_with(run, |shell| {
        shell.tables.push(("live", blocks::packed(about.to_string().as_bytes())));
        let more = match live {
            Live::Served => "; connect-src 'self'",
            Live::InPage { lock_file } => {
                let simulator = SIMULATOR.expect("who asks for such a page has asked whether there can be one");
                shell.tables.push(("scenario", blocks::packed(lock_file.as_bytes())));
                shell.tables.push(("worker", blocks::packed(WORKER.as_bytes())));
                shell.tables.push(("simulator", BASE64.encode(simulator)));
                "; worker-src blob:"
            }
        };
        shell.backend = Some(if matches!(live, Live::Served) { "server" } else { "page" });
        shell.policy = live_policy(shell, more);
    })
}

/// The policy of a page that plays: what it runs besides is a module of WebAssembly and the thread for it.
fn live_policy(shell: &Shell<'_>, more: &str) -> String {
    let policy = policy(&[UPLOT, &shell.script], &format!("{UPLOT_STYLE}\n{STYLE}"));
    format!("{}{more}", policy.replacen("script-src ", "script-src 'wasm-unsafe-eval' ", 1))
}

/// A digest as it is written.
fn digest_text(digest: u64) -> String {
    format!("{digest:016x}")
}

#[derive(Serialize)]
struct Header<'a> {
    digest: String,
    summary: serde_json::Map<String, Value>,
    /// Names and lengths of the blocks that follow.
    tables: Vec<(&'a str, usize)>,
}

/// Another play, as the page takes it: the length of a header (four bytes, the little end first), the header (JSON), and the tables that
/// the page shows beside its own, as blocks that are not packed.
///
/// # Errors
///
/// If a table is damaged.
pub(crate) fn replayed(run: &RunTables, digest: u64) -> Result<Vec<u8>, TableError> {
    let mut bytes = Vec::new();
    let mut tables = Vec::new();
    for file in COMPARED_TABLES {
        let Some(table) = run.find(file)? else { continue };
        let block = blocks::joined(table, &blocks::Names::default());
        tables.push((file.split('.').next().unwrap_or(file), block.len()));
        bytes.extend(block);
    }
    let summary = COMPARED.iter().filter_map(|field| Some(((*field).to_owned(), run.summary().get(*field)?.clone())));
    let header = Header { digest: digest_text(digest), summary: summary.collect(), tables };
    let header = serde_json::to_vec(&header).expect("plain data");
    let length = u32::try_from(header.len()).expect("a header of less than four gigabytes");
    Ok([&length.to_le_bytes()[..], &header, &bytes].concat())
}
