//! Profiles: which plugins decide about a pod, in which order, with which weights and arguments.

use std::sync::Arc;

use super::framework::{AnyPlugin, LocalPlugin, Plugin, Point, WidePlugin};
use super::own::OwnPlugin;
use super::plugins::{self, Entry};
use crate::arena::Symbol;
use crate::component::{Config, SchedulerHook, SchedulerPlugin};
use crate::model::config::{KubeSchedulerConfiguration, KubeSchedulerProfile, KubernetesVersion, PluginSet};
use crate::state::Pod;

/// One way to schedule.
#[derive(Clone)]
pub(super) struct Profile {
    scheduler_name: Symbol,
    /// Its place among the profiles.
    pub(super) index: usize,
    /// Every plugin, once, by its name.
    plugins: Vec<(&'static str, AnyPlugin)>,
    /// Those that look at more than the spec and the node.
    pub(super) wide: Vec<(&'static str, Arc<dyn WidePlugin>)>,
    /// Plugins that let pods into the queue.
    pre_enqueue: Vec<AnyPlugin>,
    /// Filters in order; the first that rejects gives the reason.
    pub(super) filters: Vec<Part>,
    /// Scorers in order, with their weights.
    pub(super) scorers: Vec<(Part, i64)>,
    /// The local ones among the filters, with their places.
    pub(super) local_filters: Vec<(usize, Arc<dyn LocalPlugin>)>,
    /// The local ones among the scorers.
    pub(super) local_scorers: Vec<Arc<dyn LocalPlugin>>,
    /// Plugins that are asked when no node takes a pod.
    pub(super) post_filters: Vec<AnyPlugin>,
    /// Plugins that set something aside for a pod when its node is chosen.
    pub(super) reserving: Vec<AnyPlugin>,
    /// `percentageOfNodesToScore`; 0 adapts to the cluster's size.
    pub(super) percentage_of_nodes_to_score: i32,
}

/// A plugin that filters or scores.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// Where a filter or scorer is found.
#[derive(Clone)]
pub(super) enum Kind {
    /// Here; as a scorer, at this place among [`Profile::local_scorers`].
    Local { plugin: Arc<dyn LocalPlugin>, slot: usize },
    /// At this place among [`Profile::wide`].
    Wide(usize),
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let filters: Vec<&str> = self.filters.iter().map(|part| part.name).collect();
        let scorers: Vec<(&str, i64)> = self.scorers.iter().map(|(part, weight)| (part.name, *weight)).collect();
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
    pub(super) fn new(configuration: &KubeSchedulerConfiguration, version: KubernetesVersion) -> Self {
        let percentage = configuration.percentage_of_nodes_to_score;
        let make = |(index, profile)| Profile::new(index, profile, percentage, version);
        match configuration.profiles.as_slice() {
            [] => Self(vec![make((0, &KubeSchedulerProfile::default()))]),
            profiles => Self(profiles.iter().enumerate().map(make).collect()),
        }
    }

    /// The profiles of a kube-scheduler, each with the plugins that its user brings along.
    pub(super) fn of_config(config: &Config) -> Self {
        let mut profiles = Self::new(&config.kube_scheduler, config.version);
        for profile in &mut profiles.0 {
            profile.extend(&config.scheduler_plugins);
        }
        profiles
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

/// The plugins of a profile as they are made, each once.
struct Making<'a> {
    profile: &'a KubeSchedulerProfile,
    version: KubernetesVersion,
    plugins: Vec<(&'static str, AnyPlugin)>,
    wide: Vec<(&'static str, Arc<dyn WidePlugin>)>,
}

impl Making<'_> {
    fn plugin(&mut self, entry: &'static Entry) -> AnyPlugin {
        if let Some((_, made)) = self.plugins.iter().find(|(name, _)| *name == entry.name) {
            return made.clone();
        }
        let config = self.profile.plugin_config.iter().find(|config| config.name == entry.name);
        let made = entry.make(config.map_or(&serde_json::Value::Null, |config| &config.args), self.version);
        self.plugins.push((entry.name, made.clone()));
        if let AnyPlugin::Wide(plugin) = &made {
            self.wide.push((entry.name, Arc::clone(plugin)));
        }
        made
    }

    /// The plugin as a filter or scorer, if it is one; local ones are put behind those there are.
    fn part(&mut self, entry: &'static Entry, local: &mut Vec<Arc<dyn LocalPlugin>>) -> Option<Part> {
        let kind = match self.plugin(entry) {
            AnyPlugin::Local(plugin) => {
                local.push(Arc::clone(&plugin));
                Kind::Local { plugin, slot: local.len() - 1 }
            }
            AnyPlugin::Wide(_) => Kind::Wide(self.wide.iter().position(|(name, _)| *name == entry.name)?),
            AnyPlugin::Other(_) => return None,
        };
        Some(Part { name: entry.name, kind })
    }
}

impl Profile {
    fn new(index: usize, profile: &KubeSchedulerProfile, percentage: Option<i32>, version: KubernetesVersion) -> Self {
        let sets = &profile.plugins;
        let everywhere = merged(&defaults(), &sets.multi_point);
        let at = |set: &PluginSet, point: Point| expanded(&everywhere, set, point);
        let mut making = Making { profile, version, plugins: Vec::new(), wide: Vec::new() };
        let (mut local, mut local_scorers) = (Vec::new(), Vec::new());
        let filters = at(&sets.filter, Point::Filter);
        let filters: Vec<Part> = filters.into_iter().filter_map(|(entry, _)| making.part(entry, &mut local)).collect();
        let mut scorers = Vec::new();
        for (entry, weight) in at(&sets.score, Point::Score) {
            let weight = if weight == 0 { 1 } else { weight };
            scorers.extend(making.part(entry, &mut local_scorers).map(|part| (part, weight)));
        }
        let mut made_at = |set, point| -> Vec<AnyPlugin> {
            at(set, point).into_iter().map(|(entry, _)| making.plugin(entry)).collect()
        };
        let pre_enqueue = made_at(&sets.pre_enqueue, Point::PreEnqueue);
        let post_filters = made_at(&sets.post_filter, Point::PostFilter);
        let local_filters = filters.iter().enumerate().filter_map(|(place, part)| match &part.kind {
            Kind::Local { plugin, .. } => Some((place, Arc::clone(plugin))),
            Kind::Wide(_) => None,
        });
        let reserves = |name: &str| plugins::entry(name).is_some_and(|entry| entry.has(Point::Reserve));
        let reserving = making.plugins.iter().filter(|(name, _)| reserves(name));
        Self {
            scheduler_name: profile.scheduler_name.unwrap_or_else(|| Symbol::new("default-scheduler")),
            index,
            local_filters: local_filters.collect(),
            local_scorers,
            reserving: reserving.map(|(_, plugin)| plugin.clone()).collect(),
            plugins: making.plugins,
            wide: making.wide,
            post_filters,
            pre_enqueue,
            filters,
            scorers,
            percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score.or(percentage).unwrap_or(0),
        }
    }

    /// Adds the user's own plugins behind all others.
    fn extend(&mut self, own: &[SchedulerPlugin]) {
        for plugin in own {
            let (name, made) = (plugin.name.as_str(), Arc::new(OwnPlugin(plugin.clone())));
            let part = Part { name, kind: Kind::Wide(self.wide.len()) };
            self.wide.push((name, Arc::clone(&made) as Arc<dyn WidePlugin>));
            self.plugins.push((name, AnyPlugin::Wide(made)));
            match plugin.hook {
                SchedulerHook::Filter(_) => self.filters.push(part),
                SchedulerHook::Score(_, weight) => self.scorers.push((part, weight.into())),
            }
        }
    }

    /// One with a single plugin, which filters and scores.
    #[cfg(test)]
    pub(super) fn of_wide(name: &'static str, plugin: impl WidePlugin + 'static) -> Self {
        let off = r#"{"plugins":{"multiPoint":{"disabled":[{"name":"*"}]}}}"#;
        let nothing = serde_json::from_str(off).expect("a profile");
        let mut profile = Self::new(0, &nothing, None, KubernetesVersion::NEWEST);
        let part = || Part { name, kind: Kind::Wide(0) };
        (profile.filters, profile.scorers) = (vec![part()], vec![(part(), 1)]);
        profile.wide.push((name, Arc::new(plugin)));
        profile
    }

    /// Whether a pod may enter the queue.
    pub(super) fn admits_to_queue(&self, pod: &Pod) -> bool {
        self.pre_enqueue.iter().all(|plugin| plugin.pre_enqueue(pod))
    }

    /// The plugin of that name.
    pub(super) fn find(&self, name: &str) -> Option<&dyn Plugin> {
        self.plugins.iter().find(|(other, _)| *other == name).map(|(_, plugin)| &**plugin)
    }
}

/// A plugin by name, with its weight; 0 where none is set.
type Named = (Symbol, i64);

fn defaults() -> Vec<Named> {
    let on = plugins::ALL.iter().filter(|entry| entry.is_default);
    on.map(|entry| (Symbol::new(entry.name), entry.weight)).collect()
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
fn expanded(everywhere: &[Named], here: &PluginSet, point: Point) -> Vec<(&'static Entry, i64)> {
    let entry = |name: Symbol| plugins::entry(name.as_str()).filter(|entry| entry.has(point));
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
        out.push((entry, weight(plugin.weight.into(), plugin.name)));
    }
    for &(name, own_weight) in everywhere {
        let is_listed = names(&here.enabled).any(|enabled| enabled == name);
        if let Some(entry) = entry(name).filter(|_| !is_listed && !is_disabled(name)) {
            out.push((entry, own_weight));
        }
    }
    for (entry, plugin) in alone {
        out.push((entry, weight(plugin.weight.into(), plugin.name)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(json: &str) -> Profile {
        let mut configuration: KubeSchedulerConfiguration = serde_json::from_str(json).expect("a configuration");
        configuration.apply_defaults();
        Profiles::new(&configuration, KubernetesVersion::NEWEST).0[0].clone()
    }

    #[track_caller]
    fn check(plugins: &str, filters: &[&str], scorers: &[(&str, i64)]) {
        let found = profile(&format!(r#"{{"profiles":[{{"plugins":{plugins}}}]}}"#));
        let names: Vec<&str> = found.filters.iter().map(|part| part.name).collect();
        assert_eq!(names, filters, "{plugins}");
        let weights: Vec<(&str, i64)> = found.scorers.iter().map(|(part, weight)| (part.name, *weight)).collect();
        assert_eq!(weights, scorers, "{plugins}");
    }

    const FILTERS: [&str; 13] = [
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
        "DynamicResources",
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
        let profiles = Profiles::new(&configuration, KubernetesVersion::NEWEST);
        assert!(profiles.of(None).is_some_and(|profile| profile.percentage_of_nodes_to_score == 0));
        let packing = profiles.of(Some(Symbol::new("packing")));
        assert!(packing.is_some_and(|profile| profile.percentage_of_nodes_to_score == 30));
        assert!(profiles.of(Some(Symbol::new("other"))).is_none());
    }
}
