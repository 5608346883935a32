//! `serve`: a cluster to talk to.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

use super::failure::{self, Failure};
use super::reading::Reading;
use super::ui::Ui;
use super::{Ending, documents, intake};
use crate::facade::{Cluster, LoadOptions, Scenario};
use crate::model::manifest::is_standard_input;
use crate::report::{is_place_of_result, replace_file};
use crate::scenario::{self, DocumentKind, ResolvedScenario};
use crate::serve::{self, Access, Options, Serving, Session, Speed};
use crate::units::{SimDuration, counted};

/// How long a cluster without a scenario lasts.
const DAY: SimDuration = SimDuration::from_secs(86_400);

/// Serve a simulated cluster to kubectl and other clients
///
/// Real clients talk to it: get, watch, apply, drain, delete. Its time can be stopped, sped up and turned back, and faults are objects
/// that kubectl applies. What clients did can be recorded as a scenario that plays the same again. Ctrl-C ends it.
#[derive(Args, Debug)]
#[command(after_help = "For example:\n  kubesquall serve scenarios/flapping-node.yaml --kubeconfig squall.yaml\n  \
                        KUBECONFIG=squall.yaml kubectl get nodes")]
pub(super) struct ServeArgs {
    /// A scenario, the directory of a run, or what `kubectl get` saves: files, directories, globs
    #[arg(required = true, value_name = "SCENARIO|RUN_DIR|DUMP")]
    inputs: Vec<PathBuf>,
    /// Where to listen; port 0 takes any that is free. Addresses that other machines reach need --token-file
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6440")]
    listen: SocketAddr,
    /// How fast time goes: paused, so many times faster than real (60x), or max
    #[arg(long, value_name = "SPEED", default_value = "1x")]
    speed: Speed,
    /// Write a kubeconfig that leads here
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Write what clients did as a scenario that plays the same again
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// A file that holds the token that clients have to show
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Begin at this instant, such as 5m
    #[arg(long, value_name = "T", value_parser = super::run::duration, allow_hyphen_values = true)]
    at: Option<SimDuration>,
    /// End later or earlier than the scenario says, such as at 8h
    #[arg(long, value_name = "T", value_parser = super::run::duration, allow_hyphen_values = true)]
    until: Option<SimDuration>,
    /// What chance is drawn from, in place of the scenario's seed
    #[arg(long, value_name = "N", value_parser = super::run::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// Set a value of the scenario, such as spec.timeline[0].at=2m
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    reading: Reading,
    /// Check after every event that nothing impossible has happened; time stops where something has
    #[arg(long)]
    verify: bool,
}

pub(super) fn serve(arguments: &ServeArgs, ui: &Ui) -> Result<Ending, Failure> {
    let scenario = Arc::new(read(arguments, ui)?);
    failure::now_playing(&scenario);
    let token = arguments.token_file.as_deref().map(scenario::read_text).transpose()?;
    // Before anything is played, so that a refusal costs no time.
    let listener = Serving::bind(arguments.listen).map_err(|error| {
        let help = "name another address with --listen, such as 127.0.0.1:0 for any port that is free";
        Failure::input(format!("cannot listen at {}: {error}", arguments.listen), help)
    })?;
    let address = listener.local_addr().map_err(|error| Failure::input(error.to_string(), "name another --listen"))?;
    let access = Access::new(address, token.as_deref()).map_err(|problem| {
        let help = "write a long random text to a file and name it with --token-file, or listen at 127.0.0.1";
        Failure::input(format!("{address}: {problem}"), help)
    })?;
    if let Some(path) = &arguments.record {
        expect_place(path, "--record", |text| text.starts_with(crate::model::lock_text::FIRST_LINE))?;
    }
    if let Some(path) = &arguments.kubeconfig {
        expect_place(path, "--kubeconfig", serve::is_our_kubeconfig)?;
        write_private(path, &serve::kubeconfig(address, token.as_deref()))?;
    }
    let mut session = match arguments.verify {
        true => Session::verified(Arc::clone(&scenario)),
        false => Session::new(Arc::clone(&scenario)),
    };
    if let Some(at) = arguments.at {
        if at > scenario.duration {
            let end = scenario.duration;
            ui.always(format_args!("--at {at} is behind the end of the run, where time stops: it begins at {end}; --until says when it ends"));
        }
        session.jump(crate::units::SimTime::ZERO + at);
    }
    session.set_pace(arguments.speed);
    tell(arguments, address, token.is_some(), ui);
    let has_failed = Arc::new(AtomicBool::new(false));
    let save = arguments.record.clone().map(|path| saving(path, Arc::clone(&has_failed)));
    let options = Options { save };
    let served = panic::catch_unwind(AssertUnwindSafe(|| {
        serve::serve(session, Serving::new(listener, access), options, interrupted())
    }));
    let session = match served {
        Ok(served) => served.map_err(|error| {
            Failure::input(format!("cannot go on serving: {error}"), "see whether the machine is short of something")
        })?,
        Err(broken) => {
            if let Some(path) = &arguments.record {
                ui.always(format_args!("what clients did until then is in {}", path.display()));
            }
            panic::resume_unwind(broken)
        }
    };
    let standing = session.standing();
    if let Some(violation) = standing.violation {
        return Err(Failure::Bug { what: violation });
    }
    let played = standing.now.saturating_since(crate::units::SimTime::ZERO);
    ui.note(format_args!(
        "{played} played, {}, digest {:016x}",
        counted(standing.requests, "request for a change", "requests for changes"),
        standing.digest
    ));
    if let Some(path) = &arguments.record {
        if has_failed.load(Ordering::Relaxed) {
            let help = "see whether the disk is full, or name another place";
            return Err(Failure::input(format!("the record could not be written to {}", path.display()), help));
        }
        ui.note(format_args!("recorded; to play it again: kubesquall run {}", path.display()));
    }
    Ok(Ending::Done)
}

fn tell(arguments: &ServeArgs, address: SocketAddr, has_token: bool, ui: &Ui) {
    let speed = arguments.speed;
    ui.always(format_args!("serving at http://{address}, speed {speed}; Ctrl-C ends it"));
    if !address.ip().is_loopback() {
        ui.always("other machines can reach this address: whoever knows the token may do everything here");
    }
    match &arguments.kubeconfig {
        Some(path) => ui.always(format_args!("KUBECONFIG={} kubectl get nodes", path.display())),
        None if has_token => ui.always(format_args!("kubectl --server http://{address} --token … get nodes")),
        None => ui.always(format_args!("kubectl --server http://{address} get nodes")),
    }
}

/// The scenario that a path means, or one in which nothing happens to a cluster.
fn read(arguments: &ServeArgs, ui: &Ui) -> Result<ResolvedScenario, Failure> {
    let mut resolved = match scenario_path(arguments)? {
        Some(path) => {
            let options = arguments.set.iter().fold(arguments.reading.options(), LoadOptions::set);
            let options = arguments.seed.into_iter().fold(options, LoadOptions::seed);
            ResolvedScenario::clone(Scenario::load_with(&path, &options)?.resolved())
        }
        None => {
            if !arguments.set.is_empty() {
                let help = "`kubesquall init` writes a scenario that names the manifests";
                return Err(Failure::input("--set is for values of a scenario, and there is none", help));
            }
            let options = arguments.reading.cluster_options();
            let mut resolved = Cluster::load_with(&arguments.inputs, &options)?.into_resolved();
            resolved.duration = DAY;
            resolved.seed = arguments.seed.unwrap_or(resolved.seed);
            resolved
        }
    };
    if let Some(until) = arguments.until {
        if until.is_zero() {
            return Err(Failure::input("nobody can talk to a run of no duration", "--until is a length, such as 8h"));
        }
        resolved.duration = until;
    }
    ui.diagnostics(&resolved.warnings, &resolved.sources);
    if let Some(unread) = intake::unread_in_one_line(&resolved.input) {
        ui.always(unread);
    }
    Ok(resolved)
}

/// The scenario among the inputs; none if they are manifests.
fn scenario_path(arguments: &ServeArgs) -> Result<Option<PathBuf>, Failure> {
    let [path] = arguments.inputs.as_slice() else { return Ok(None) };
    let locked = path.join("scenario.lock.yaml");
    if path.is_dir() && locked.is_file() {
        return Ok(Some(locked));
    }
    if is_standard_input(path) {
        return Err(Failure::input("serve does not read standard input", "name a file"));
    }
    if path.is_dir() && is_place_of_result(&path.join("summary.json")) {
        let message = format!("`{}` holds results, and nothing that can be served", path.display());
        return Err(Failure::input(message, "name a scenario, manifests, or the directory of a run"));
    }
    let found = documents::list(path)?;
    match found.iter().any(|file| file.kind == DocumentKind::Scenario) {
        true => documents::find(path, DocumentKind::Scenario).map(Some),
        false => Ok(None),
    }
}

/// A file of somebody else is not replaced.
fn expect_place(path: &Path, flag: &str, is_ours: impl Fn(&str) -> bool) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::input(format!("{} is a directory", path.display()), format!("name a file with {flag}")));
    }
    match fs::read_to_string(path) {
        Ok(text) if !text.is_empty() && !is_ours(&text) => {
            let message = format!("{} is there already and was not written by `serve`", path.display());
            Err(Failure::input(message, format!("name another file with {flag}, or remove this one")))
        }
        _ => Ok(()),
    }
}

fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        Failure::input(format!("cannot write {}: {error}", path.display()), "name another file with --kubeconfig")
    })
}

/// Writes a record so that what is there is always whole.
fn saving(path: PathBuf, has_failed: Arc<AtomicBool>) -> Box<dyn FnMut(&str) + Send> {
    Box::new(move |text| {
        has_failed.store(replace_file(&path, text.as_bytes()).is_err(), Ordering::Relaxed);
    })
}

/// Ends with Ctrl-C, or when somebody asks the process to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        let kind = tokio::signal::unix::SignalKind::terminate();
        if let Ok(mut terminated) = tokio::signal::unix::signal(kind) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminated.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
