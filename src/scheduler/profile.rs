//! Profiles: which plugins decide about a pod, in which order, with which weights and arguments.

use std::sync::Arc;

use smallvec::SmallVec;

use super::framework::Plugin;
use super::plugins::default_preemption::DefaultPreemptionArgs;
use super::registry::{self, Point};
use crate::arena::Symbol;
use crate::model::config::{KubeSchedulerConfiguration, KubeSchedulerProfile, PluginSet};
use crate::state::Pod;
use crate::units::SimDuration;

/// One way to schedule.
#[derive(Clone)]
pub(super) struct Profile {
    scheduler_name: Symbol,
    /// Its place among the profiles.
    pub(super) index: usize,
    /// Every plugin that filters or scores, once.
    pub(super) plugins: Vec<Arc<dyn Plugin>>,
    /// Plugins that let pods into the queue.
    pub(super) pre_enqueue: Vec<Arc<dyn Plugin>>,
    /// Filters in order; the first that rejects gives the reason.
    pub(super) filters: Vec<Arc<dyn Plugin>>,
    /// Scorers in order, with their weights.
    pub(super) scorers: Vec<(Arc<dyn Plugin>, i64)>,
    /// Places of the filters and scorers that look at nothing but the spec and the node.
    pub(super) local_filters: SmallVec<[usize; 8]>,
    pub(super) local_scorers: SmallVec<[usize; 8]>,
    /// Plugins that are asked when no node takes a pod.
    pub(super) post_filters: Vec<Arc<dyn Plugin>>,
    /// How room is made by preemption; none if it is not.
    pub(super) preemption: Option<DefaultPreemptionArgs>,
    /// How long a pod waits for its volumes before it is bound; none if nobody binds them.
    pub(super) volume_timeout: Option<SimDuration>,
    /// `percentageOfNodesToScore`; 0 adapts to the cluster's size.
    pub(super) percentage_of_nodes_to_score: i32,
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filters: Vec<&str> = self.filters.iter().map(|plugin| plugin.name()).collect();
        let scorers: Vec<(&str, i64)> = self.scorers.iter().map(|(plugin, weight)| (plugin.name(), *weight)).collect();
        write!(formatter, "Profile {} {filters:?} {scorers:?}", self.scheduler_name)
    }
}

/// The profiles of one kube-scheduler.
#[derive(Clone, Debug)]
pub(super) struct Profiles(Vec<Profile>);

impl Profiles {
    /// The profiles of a configuration whose defaults are filled in.
    ///
    /// # Panics
    ///
    /// If a plugin cannot read its arguments: they are refused when the configuration is checked.
    pub(super) fn new(configuration: &KubeSchedulerConfiguration) -> Self {
        let all = &configuration.profiles;
        let percentage = configuration.percentage_of_nodes_to_score;
        if all.is_empty() {
            return Self(vec![Profile::new(0, &KubeSchedulerProfile::default(), percentage)]);
        }
        let profiles = all.iter().enumerate().map(|(index, profile)| Profile::new(index, profile, percentage));
        Self(profiles.collect())
    }

    /// The profile at a place.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub(super) fn at(&self, index: usize) -> &Profile {
        &self.0[index]
    }

    /// The profile that a pod asks for by `schedulerName`; none if another scheduler is meant.
    pub(super) fn of(&self, scheduler_name: Option<Symbol>) -> Option<&Profile> {
        let wanted = scheduler_name.unwrap_or_else(|| Symbol::new("default-scheduler"));
        self.0.iter().find(|profile| profile.scheduler_name == wanted)
    }
}

impl Profile {
    fn new(index: usize, profile: &KubeSchedulerProfile, percentage: Option<i32>) -> Self {
        let everywhere = merged(&defaults(), &profile.plugins.multi_point);
        let at_filter = expanded(&everywhere, &profile.plugins.filter, |entry| entry.has(Point::Filter));
        let at_score = expanded(&everywhere, &profile.plugins.score, |entry| entry.has(Point::Score));
        let arguments = |name: &str| {
            let config = profile.plugin_config.iter().find(|config| config.name.as_str() == name);
            config.map_or(serde_json::Value::Null, |config| config.args.clone())
        };
        let mut plugins: Vec<Arc<dyn Plugin>> = Vec::new();
        let mut make = |name: &str| {
            if let Some(made) = plugins.iter().find(|plugin| plugin.name() == name) {
                return Some(Arc::clone(made));
            }
            let made = registry::make(name, &arguments(name))?;
            plugins.push(Arc::clone(&made));
            Some(made)
        };
        let filters: Vec<_> = at_filter.iter().filter_map(|(name, _)| make(name)).collect();
        let scorers: Vec<_> = at_score
            .iter()
            .filter_map(|(name, weight)| Some((make(name)?, if *weight == 0 { 1 } else { *weight })))
            .collect();
        let at_post_filter = expanded(&everywhere, &profile.plugins.post_filter, |entry| entry.has(Point::PostFilter));
        let at_pre_enqueue = expanded(&everywhere, &profile.plugins.pre_enqueue, |entry| entry.has(Point::PreEnqueue));
        let pre_enqueue: Vec<_> = at_pre_enqueue.iter().filter_map(|(name, _)| make(name)).collect();
        let post_filters: Vec<_> = at_post_filter.iter().filter_map(|(name, _)| make(name)).collect();
        Self {
            scheduler_name: profile.scheduler_name.unwrap_or_else(|| Symbol::new("default-scheduler")),
            index,
            local_filters: local(filters.iter()),
            local_scorers: local(scorers.iter().map(|(plugin, _)| plugin)),
            volume_timeout: plugins.iter().find_map(|plugin| plugin.volume_timeout()),
            plugins,
            preemption: post_filters.iter().find_map(|plugin| plugin.preemption()),
            post_filters,
            pre_enqueue,
            filters,
            scorers,
            percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score.or(percentage).unwrap_or(0),
        }
    }

    /// Whether a pod may enter the queue.
    pub(super) fn lets_in(&self, pod: &Pod) -> bool {
        self.pre_enqueue.iter().all(|plugin| plugin.pre_enqueue(pod))
    }

    /// The plugin of that name.
    pub(super) fn find(&self, name: &str) -> Option<&dyn Plugin> {
        self.plugins.iter().map(|plugin| &**plugin).find(|plugin| plugin.name() == name)
    }
}

/// Places of the plugins that are local.
fn local<'a>(plugins: impl Iterator<Item = &'a Arc<dyn Plugin>>) -> SmallVec<[usize; 8]> {
    plugins.enumerate().filter(|(_, plugin)| plugin.is_local()).map(|(place, _)| place).collect()
}

/// A plugin by name, with its weight; 0 where none is set.
type Named = (Symbol, i64);

fn defaults() -> Vec<Named> {
    registry::ALL.iter().map(|entry| (Symbol::new(entry.name), entry.weight)).collect()
}

fn names(of: &[crate::model::config::Plugin]) -> impl Iterator<Item = Symbol> + '_ {
    of.iter().map(|plugin| plugin.name)
}

/// The default plugins with the user's set merged in.
///
/// # Source
/// kube-scheduler configuration, `mergePluginSet`: defaults named under `disabled` go, or all with `*`; one named under
/// `enabled` is replaced in its place; the other enabled ones come behind.
fn merged(defaults: &[Named], custom: &PluginSet) -> Vec<Named> {
    let is_all_disabled = names(&custom.disabled).any(|name| name == "*");
    let mut out: Vec<Named> = Vec::new();
    for &(name, weight) in defaults {
        let replaced = custom.enabled.iter().find(|plugin| plugin.name == name);
        if is_all_disabled || names(&custom.disabled).any(|disabled| disabled == name) {
            continue;
        }
        out.push((name, replaced.map_or(weight, |plugin| plugin.weight.into())));
    }
    for plugin in &custom.enabled {
        if !out.iter().any(|(name, _)| *name == plugin.name) {
            out.push((plugin.name, plugin.weight.into()));
        }
    }
    out
}

/// The plugins of one extension point.
///
/// # Source
/// kube-scheduler framework, `expandMultiPointPlugins`: first those enabled both here and everywhere, in the order given
/// here; then the others of everywhere that have this point and are not disabled here; then what is enabled here alone. A
/// weight given here wins; none or zero stands for the plugin's own.
fn expanded(
    everywhere: &[Named],
    here: &PluginSet,
    has_point: fn(&registry::Entry) -> bool,
) -> Vec<(&'static str, i64)> {
    let entry = |name: Symbol| registry::entry(name.as_str()).filter(|entry| has_point(entry));
    let own = |name: Symbol| everywhere.iter().find(|(other, _)| *other == name).map(|(_, weight)| *weight);
    let is_all_disabled = names(&here.disabled).any(|name| name == "*");
    let is_disabled = |name: Symbol| is_all_disabled || names(&here.disabled).any(|disabled| disabled == name);
    let weight = |wanted: i64, name: Symbol| match wanted {
        0 => own(name).unwrap_or(1),
        weight => weight,
    };
    let enabled = || here.enabled.iter().filter_map(|plugin| Some((entry(plugin.name)?, plugin)));
    let (both, alone): (Vec<_>, Vec<_>) =
        enabled().partition(|(_, plugin)| !is_all_disabled && own(plugin.name).is_some());
    let mut out = Vec::new();
    for (entry, plugin) in both {
        out.push((entry.name, weight(plugin.weight.into(), plugin.name)));
    }
    for &(name, own_weight) in everywhere {
        let is_listed = names(&here.enabled).any(|enabled| enabled == name);
        if let Some(entry) = entry(name).filter(|_| !is_listed && !is_disabled(name)) {
            out.push((entry.name, own_weight));
        }
    }
    for (entry, plugin) in alone {
        out.push((entry.name, weight(plugin.weight.into(), plugin.name)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(json: &str) -> Profile {
        let mut configuration: KubeSchedulerConfiguration = serde_json::from_str(json).expect("a configuration");
        configuration.apply_defaults();
        Profiles::new(&configuration).0[0].clone()
    }

    #[track_caller]
    fn check(plugins: &str, filters: &[&str], scorers: &[(&str, i64)]) {
        let found = profile(&format!(r#"{{"profiles":[{{"plugins":{plugins}}}]}}"#));
        let names: Vec<&str> = found.filters.iter().map(|plugin| plugin.name()).collect();
        assert_eq!(names, filters, "{plugins}");
        let weights: Vec<(&str, i64)> = found.scorers.iter().map(|(plugin, weight)| (plugin.name(), *weight)).collect();
        assert_eq!(weights, scorers, "{plugins}");
    }

    const FILTERS: [&str; 12] = [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
    ];
    const SCORERS: [(&str, i64); 9] = [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
    ];

    #[test]
    fn without_a_word_the_defaults_hold() {
        check("{}", &FILTERS, &SCORERS);
    }

    #[test]
    fn a_point_may_leave_out_what_is_everywhere() {
        check(
            r#"{"score":{"disabled":[{"name":"ImageLocality"},{"name":"TaintToleration"}]}}"#,
            &FILTERS,
            &SCORERS[1..8],
        );
        check(
            r#"{"filter":{"disabled":[{"name":"*"}],"enabled":[{"name":"NodeResourcesFit"}]}}"#,
            &["NodeResourcesFit"],
            &SCORERS,
        );
    }

    #[test]
    fn what_is_named_at_a_point_comes_first_and_its_weight_wins() {
        check(
            r#"{"score":{"enabled":[{"name":"NodeResourcesFit","weight":7}]}}"#,
            &FILTERS,
            &[&[("NodeResourcesFit", 7)], &SCORERS[..2], &SCORERS[3..]].concat(),
        );
    }

    #[test]
    fn what_is_named_everywhere_is_replaced_in_its_place() {
        check(
            r#"{"multiPoint":{"disabled":[{"name":"NodePorts"}],"enabled":[{"name":"TaintToleration","weight":5}]}}"#,
            &[&FILTERS[..4], &FILTERS[5..]].concat(),
            &[&[("TaintToleration", 5)], &SCORERS[1..]].concat(),
        );
    }

    #[test]
    fn pods_choose_their_profile_by_name() {
        let json = r#"{"profiles":[{"schedulerName":"default-scheduler"},{"schedulerName":"packing","percentageOfNodesToScore":30}]}"#;
        let configuration: KubeSchedulerConfiguration = serde_json::from_str(json).expect("a configuration");
        let profiles = Profiles::new(&configuration);
        assert!(profiles.of(None).is_some_and(|profile| profile.percentage_of_nodes_to_score == 0));
        let packing = profiles.of(Some(Symbol::new("packing")));
        assert!(packing.is_some_and(|profile| profile.percentage_of_nodes_to_score == 30));
        assert!(profiles.of(Some(Symbol::new("other"))).is_none());
    }
}
