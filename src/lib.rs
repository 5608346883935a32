//! kubesquall: a deterministic discrete-event simulator of a Kubernetes cluster under chaos.
//!
//! It reads your own YAML, plays node failures, zone outages, drains and rollouts second by second through a model of the control
//! plane, and tells who is evicted when, who stays Pending and why, and how long each workload is short of replicas. The same inputs
//! and seed give the same bytes, on any machine and with any number of threads.
//!
//! This is the library below the command `kubesquall`, which goes through the same door. A play needs no clock, no network and no
//! files. What a scenario may say is in `docs/scenario.md`, what its results mean in `docs/results.md`.
//!
//! # One run
//!
//! A [`Scenario`] is read, from a file with [`Scenario::load`] or, as here, from text; played with a seed; and gives an [`Outcome`].
//!
//! ```
//! use kubesquall::Scenario;
//!
//! let text = r#"
//! apiVersion: kubesquall.sim/v1alpha1
//! kind: Scenario
//! metadata: {name: one-node-dies}
//! spec:
//!   duration: 15m
//!   cluster:
//!     manifests: [apps]
//!     nodePools:
//!     - {name: worker, count: 3, template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}}
//!   timeline:
//!   - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-0]}, for: 12m}}
//! "#;
//! let web = r#"
//! apiVersion: apps/v1
//! kind: Deployment
//! metadata: {name: web}
//! spec:
//!   replicas: 6
//!   selector: {matchLabels: {app: web}}
//!   template:
//!     metadata: {labels: {app: web}}
//!     spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]}
//! "#;
//! let scenario = Scenario::parse(text, [("apps/web.yaml", web)])?;
//! let outcome = scenario.play(42);
//!
//! // The pods of the lost node are evicted five minutes after it is found lost.
//! assert_eq!(outcome.metric("evictions"), Some(2.0));
//! # let dir = tempfile::tempdir().unwrap();
//! # let dir = dir.path().join("results");
//! outcome.write(&dir)?;
//! assert!(dir.join("events.csv").exists() && dir.join("charts/node-states.svg").exists());
//!
//! // What is in the files can be read as rows, too.
//! let pods = outcome.rows("pods.csv")?;
//! let is_evicted = |row: &kubesquall::Row| row.get("deletion_cause").unwrap().as_str() == Some("TaintManagerEviction");
//! assert_eq!(pods.iter().filter(is_evicted).count(), 2);
//!
//! // What would have been, had pods waited a minute only.
//! let sooner = scenario.with_set("spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds=60")?;
//! let unready = |outcome: &kubesquall::Outcome| outcome.metric("unready_replica_s").unwrap();
//! assert!(unready(&sooner.play(42)) < unready(&outcome));
//! # Ok::<(), kubesquall::Error>(())
//! ```
//!
//! # What is wrong, all at once
//!
//! An [`Error`] of the input holds every problem as a [`Diagnostic`], each with its place, what would be valid, and a code.
//!
//! ```
//! use kubesquall::Scenario;
//!
//! let text = "\
//! apiVersion: kubesquall.sim/v1alpha1
//! kind: Scenario
//! metadata: {name: example}
//! spec: {duration: 10m, sead: 7, cluster: {manifests: [web.yaml]}}
//! ";
//! let error = Scenario::parse(text, [("web.yaml", "{apiVersion: v1, kind: Node, metadata: {name: a}}")]).unwrap_err();
//! assert_eq!(error.kind(), kubesquall::ErrorKind::Document);
//! let problem = &error.diagnostics()[0];
//! assert_eq!((problem.code, problem.location().unwrap().line), ("scenario::unknown_field", 4));
//! assert!(error.to_string().contains("the nearest field is `seed`"));
//! ```
//!
//! # Many seeds
//!
//! Bringing a cluster up takes longer than most incidents. [`Scenario::settle`] does it once; every play is a copy of the result. What
//! only needs metrics keeps no rows. A run can also be played piece by piece and looked into: [`Simulation`].
//!
//! ```
//! use kubesquall::{PlayOptions, Scenario};
//!
//! # let text = r#"
//! # apiVersion: kubesquall.sim/v1alpha1
//! # kind: Scenario
//! # metadata: {name: crashes}
//! # spec:
//! #   duration: 1d
//! #   cluster:
//! #     nodePools:
//! #     - {name: worker, count: 3, template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}}
//! #   faults:
//! #   - name: crashes
//! #     kind: Crash
//! #     nodes: {pool: worker}
//! #     timeToFailure: {exponential: {mean: 8h}}
//! #     timeToRepair: {constant: 10m}
//! # "#;
//! let settled = Scenario::parse(text, [("", ""); 0])?.settle();
//! let failures = |seed| settled.play_with(seed, &PlayOptions::new().summary_only()).summary()["counts"]["machine_failures"].as_u64();
//! let (total, again): (Option<u64>, Option<u64>) = ((0..10).map(failures).sum(), (0..10).map(failures).sum());
//! assert!(total > Some(0));
//! assert_eq!(total, again);
//! # Ok::<(), kubesquall::Error>(())
//! ```
//!
//! # Studies, plans and single decisions
//!
//! They have the same shape: a [`Study`] is swept or tuned and gives a [`StudyOutcome`], a [`Plan`] is solved and gives a
//! [`PlanOutcome`], and a [`Cluster`], what `kubectl get` saves, gives [`Decisions`]. A [`Forecast`] takes a cluster, too, and finds what
//! hurts it most and what helps.
//!
//! ```
//! use kubesquall::Cluster;
//!
//! let state = r#"
//! apiVersion: v1
//! kind: Node
//! metadata: {name: small}
//! status: {allocatable: {cpu: "1", memory: 4Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
//! ---
//! apiVersion: v1
//! kind: Pod
//! metadata: {name: web}
//! spec: {containers: [{name: web, image: web, resources: {requests: {cpu: "2"}}}]}
//! "#;
//! let cluster = Cluster::parse([("state.yaml", state)])?;
//! let decision = cluster.decisions().iter().next().unwrap();
//! assert_eq!((decision.pod.as_str(), decision.node), ("default/web", None));
//! assert_eq!(decision.filtered["small"].reasons, ["Insufficient cpu"]);
//! # Ok::<(), kubesquall::Error>(())
//! ```
//!
//! # Plug-ins of your own
//!
//! A filter or score of kube-scheduler, or a controller that watches and writes as any client does, is a closure: [`Plugins`]. Runs with
//! them say so in `summary.json`.
//!
//! # What is stable
//!
//! What this page lists, and the documents and files that go in and come out. The modules are the inside: they are public for the tests
//! and benches of this crate alone, hidden here, and change without notice. Row types, the crates that the inside is made of and the
//! numbers behind a digest are not part of the promise; the same version gives the same bytes.
//!
//! # Features
//!
//! `cli` (default) is the command line with its crates, `serve` (default) its API server for real clients, `parallel` (in `cli`) reads and plays on several threads, `mimalloc` (default) is
//! the allocator of the binary, `parquet` and `png` (default) write tables and charts in these formats, `live` holds the simulator for pages that play. With `default-features = false` the core remains, which also builds for `wasm32-unknown-unknown`.

#[doc(hidden)]
pub mod apiserver;
#[doc(hidden)]
pub mod arena;
#[doc(hidden)]
pub mod chaos;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod component;
#[doc(hidden)]
pub mod controllers;
#[doc(hidden)]
pub mod diagnostics;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod evidence;
mod facade;
#[doc(hidden)]
pub mod import;
#[doc(hidden)]
pub mod inspect;
#[doc(hidden)]
pub mod kubectl;
#[doc(hidden)]
pub mod kubelet;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod observe;
mod parallel;
#[doc(hidden)]
pub mod procedures;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod rest;
#[doc(hidden)]
pub mod scenario;
#[doc(hidden)]
pub mod scheduler;
#[cfg(feature = "serve")]
#[doc(hidden)]
pub mod serve;
#[doc(hidden)]
pub mod simulation;
#[doc(hidden)]
pub mod state;
#[doc(hidden)]
pub mod study;
#[cfg(test)]
mod testing;
#[doc(hidden)]
pub mod units;
#[doc(hidden)]
pub mod verify;

#[doc(inline)]
pub use component::{PluginError, PluginNode, PluginPod};
#[doc(inline)]
pub use diagnostics::{Diagnostic, Diagnostics, Label, Location, Severity};
pub use facade::{
    Cell, Cluster, ClusterOptions, Column, Columns, Comparison, Decision, Decisions, Document, Error, ErrorKind,
    Explanation, FaultImport, Forecast, ForecastInputs, ForecastOptions, ForecastOutcome, Imported, LoadOptions,
    NodeView, Observations, Outcome, Plan, PlanOutcome, PlayOptions, Plugins, PodCounts, PodView, RefineOptions,
    Refined, Refinement, Rejected, Replay, Report, Row, Rows, Scenario, SensitivityOptions, SensitivityOutcome,
    Settled, Simulation, SolveOptions, Study, StudyOutcome, SweepOptions, Unsure, Values, WriteOptions,
};
#[cfg(feature = "bundles")]
#[doc(inline)]
pub use facade::{ClusterImport, LatencyImport, OutageImport};
#[doc(inline)]
pub use observe::{Cells, ColumnInfo};
#[doc(inline)]
pub use report::DrawnCharts;
#[doc(inline)]
pub use rest::{ChangeKind, ClientRequest, ClusterReader, Method, ObjectChange};
#[doc(inline)]
pub use state::PodPhase;
#[doc(inline)]
pub use study::forecast::{Handed, PlayPool};
#[doc(inline)]
pub use study::{
    BreakEven, CostBy, InputUncertainty, Interval, InvalidCostBy, InvalidRareEvent, InvalidShard, Patches, PriceRange,
    Progress, RareEstimate, RareEvent, RareFactors, RareSide, RunRow, Shard, Uncertain,
};
#[doc(inline)]
pub use units::{SimDuration, SimTime};
