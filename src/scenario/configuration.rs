//! The control plane's configuration and latencies, and the cluster autoscaler's.

use super::at::At;
use super::document::Node;
use super::files::Files;
use super::resolver::Resolver;
use super::schema::{AutoscaledPoolEntry, Spec};
use crate::component::{Config, Latencies};
use crate::diagnostics::{Diagnostic, Location};
use crate::engine::Distribution;
use crate::model::config::{ClusterAutoscaler, FlagError, KubeApiserver, KubeControllerManager};
use crate::procedures::ProcedurePlan;
use crate::procedures::cluster_autoscaler::{AutoscaledPool, AutoscalerPlan};
use crate::units::SimDuration;

/// After so long a kubelet gives up a heartbeat's request, and a process of the control plane the renewal of its leadership.
pub const HEARTBEAT_TIMEOUT: SimDuration = SimDuration::from_secs(10);

impl Resolver<'_> {
    /// What the control plane runs with.
    pub(super) fn configuration(&mut self, root: &Node, spec: &Spec, files: &mut Files<'_>) -> Config {
        let control_plane = &spec.control_plane;
        let version = control_plane.kubernetes_version;
        let (kube_apiserver, errors) = KubeApiserver::resolve(&control_plane.kube_apiserver, version);
        let at = At::root(root).field("spec").field("controlPlane");
        self.flag_errors(at.field("kubeApiserver"), errors);
        let (kube_controller_manager, errors) =
            KubeControllerManager::resolve(&control_plane.kube_controller_manager, version);
        self.flag_errors(at.field("kubeControllerManager"), errors);
        let mut kube_scheduler = control_plane.kube_scheduler.clone();
        kube_scheduler.apply_defaults();
        let latency = self.latencies(root, spec, files);
        Config {
            version,
            kube_apiserver,
            kube_controller_manager,
            kube_scheduler,
            scheduler_plugins: [].into(),
            kubelet: control_plane.kubelet.resolve(version),
            round_trip: Config::round_trip(&latency.api_call),
            latency,
            epoch_unix_s: 0,
        }
    }

    /// The cluster autoscaler, if the scenario has one.
    pub(super) fn autoscaler(
        &mut self,
        root: &Node,
        spec: &Spec,
        procedures: &ProcedurePlan,
        files: &mut Files<'_>,
    ) -> Option<AutoscalerPlan> {
        let written = spec.cluster_autoscaler.as_ref()?;
        let version = spec.control_plane.kubernetes_version;
        let (flags, errors) = ClusterAutoscaler::resolve(&written.flags, version);
        let at = At::root(root).field("spec").field("clusterAutoscaler");
        self.flag_errors(at.field("flags"), errors);
        let mut provisioning = written.provisioning.clone().unwrap_or(Distribution::Constant(SimDuration::ZERO));
        self.observations(&mut provisioning, at.field("provisioning").location(), files);
        let group = |entry: &AutoscaledPoolEntry| {
            let AutoscaledPoolEntry { min, max, priority, .. } = *entry;
            let pool = procedures.pool(entry.name.as_str())?;
            Some(AutoscaledPool { pool, min, max, priority })
        };
        Some(AutoscalerPlan { groups: written.pools.iter().filter_map(group).collect(), flags, provisioning })
    }

    fn flag_errors(&mut self, at: At<'_>, errors: Vec<FlagError>) {
        for error in errors {
            let entry = at.node().and_then(|node| node.entry(error.flag.as_str()));
            let is_unknown = error.message.contains("is not a flag");
            let location = match entry {
                Some(entry) if is_unknown => entry.key_location.clone(),
                Some(entry) => entry.node.location.clone(),
                None => at.location(),
            };
            let (code, label) =
                if is_unknown { ("scenario::unknown_flag", "unknown flag") } else { ("scenario::bad_value", "") };
            let mut diagnostic = Diagnostic::error(code, error.message).at(location, label);
            if let Some(help) = error.help {
                diagnostic = diagnostic.help(help);
            }
            self.diagnostics.push(diagnostic);
        }
    }

    fn latencies(&mut self, root: &Node, spec: &Spec, files: &mut Files<'_>) -> Latencies {
        let at = At::root(root).field("spec").field("latency");
        let mut written = spec.latency.clone();
        for (field, latency) in written.said() {
            self.observations(latency, at.field(field).location(), files);
        }
        let latencies = written.resolve();
        self.warn_of_slow_calls(&latencies, at);
        latencies
    }

    /// Calls that take longer than real clients wait for the answer.
    ///
    /// # Source
    /// kubelet: a heartbeat's request is given up after `nodeStatusUpdateFrequency`; client-go, leader election: a renewal after
    /// `renewDeadline`; both are ten seconds.
    fn warn_of_slow_calls(&mut self, latencies: &Latencies, at: At<'_>) {
        let usual = latencies.api_call.quantile(0.5);
        // What could not be read has been reported, and stands as the longest there is.
        if usual < HEARTBEAT_TIMEOUT || usual == SimDuration::MAX {
            return;
        }
        let message = format!(
            "half of all calls take {usual} or more: where answers take longer than {HEARTBEAT_TIMEOUT}, kubelets give up renewing their \
             leases and the control plane's processes their leadership, which is not played"
        );
        let help = "an API server that cannot be reached is a fault: `kind: ControlPlaneOutage` or `kind: Partition`";
        let location = at.field("apiCall").location();
        let diagnostic =
            Diagnostic::warning("scenario::no_effect", message).at(location, "no cluster lives long with that");
        self.diagnostics.push(diagnostic.help(help));
    }

    /// Reads the file of an empirical distribution.
    pub(super) fn observations(&mut self, distribution: &mut Distribution, location: Location, files: &mut Files<'_>) {
        let mut unreadable = None;
        let result = distribution.resolve_files(&mut |path| {
            files.text(path).map_err(|diagnostic| {
                let message = diagnostic.message.clone();
                unreadable = Some(diagnostic);
                message
            })
        });
        if let Err(error) = result {
            let diagnostic = unreadable.unwrap_or_else(|| Diagnostic::error("scenario::bad_value", error.to_string()));
            self.diagnostics.push(diagnostic.at(location, ""));
            // Something that can be sampled, as checks go on, and that gives no further trouble.
            *distribution = Distribution::Constant(SimDuration::MAX);
        }
    }
}
