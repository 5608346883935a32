//! The plugins, one file each, and the table of them.
//!
//! To copy: `node_unschedulable` (filters by the spec and the node), `image_locality` (scores by them), `volume_zone` (looks at
//! more), `node_resources_allocatable` (off until a profile names it; arguments), `default_preemption` (after filtering).

use serde_json::Value;

use super::arguments::{ArgumentUse, PluginArguments, from_value};
use super::framework::{AnyPlugin, Point, Register};
use crate::model::config::KubernetesVersion;

mod resource_amount;
mod scoring_strategy;

/// A plugin that can be part of a profile.
pub(super) struct Entry {
    pub(super) name: &'static str,
    /// The extension points that it implements.
    pub(super) points: &'static [Point],
    /// Its weight by default, if it scores.
    pub(super) weight: i64,
    /// Whether it is part of a profile that says nothing about it.
    pub(super) is_default: bool,
    /// What it decides by.
    #[cfg_attr(not(test), expect(dead_code, reason = "the table of the reference is written by a test"))]
    summary: &'static str,
    /// Whether anything hangs on its arguments.
    pub(super) arguments: ArgumentUse,
    make: fn(&Value, KubernetesVersion) -> AnyPlugin,
}

impl Entry {
    const fn of<P: Register>() -> Self {
        Self {
            name: P::NAME,
            points: P::POINTS,
            weight: P::WEIGHT,
            is_default: P::IS_DEFAULT,
            summary: P::SUMMARY,
            arguments: P::Arguments::USE,
            make: |arguments, version| {
                let has_some = P::Arguments::USE != ArgumentUse::None && P::Arguments::exist(version);
                let arguments = has_some.then(|| from_value(arguments).expect("arguments that have been checked"));
                P::make(arguments.unwrap_or_default(), version)
            },
        }
    }

    pub(super) fn has(&self, point: Point) -> bool {
        self.points.contains(&point)
    }

    /// Makes the plugin from its arguments, null if there are none.
    ///
    /// # Panics
    ///
    /// If the arguments cannot be read: they are refused when the configuration is checked.
    pub(super) fn make(&self, arguments: &Value, version: KubernetesVersion) -> AnyPlugin {
        (self.make)(arguments, version)
    }
}

/// Somebody who does the same with arguments of any type.
pub(super) trait VisitArguments {
    type Output;

    fn visit<A: PluginArguments>(self) -> Self::Output;
}

macro_rules! plugins {
    ($($file:ident::$plugin:ident)*) => {
        $(pub(super) mod $file;)*

        /// The text of each file.
        #[cfg(test)]
        static SOURCES: &[&str] = &[$(include_str!(concat!(stringify!($file), ".rs"))),*];

        /// Every plugin that is played.
        pub(super) static ALL: &[Entry] = &[$(Entry::of::<$file::$plugin>()),*];

        /// Shows a visitor the type of a plugin's arguments; none if there is no such plugin.
        pub(super) fn visit_arguments<V: VisitArguments>(plugin: &str, visitor: V) -> Option<V::Output> {
            $(if plugin == $file::$plugin::NAME {
                return Some(visitor.visit::<<$file::$plugin as Register>::Arguments>());
            })*
            None
        }
    };
}

// One line a plugin, `file::Type`, in the order of the default profile.
plugins! {
    scheduling_gates::SchedulingGates
    priority_sort::PrioritySort
    node_unschedulable::NodeUnschedulable
    node_name::NodeName
    taint_toleration::TaintToleration
    node_affinity::NodeAffinity
    node_ports::NodePorts
    node_resources_fit::NodeResourcesFit
    volume_restrictions::VolumeRestrictions
    node_volume_limits::NodeVolumeLimits
    volume_binding::VolumeBinding
    volume_zone::VolumeZone
    pod_topology_spread::PodTopologySpread
    inter_pod_affinity::InterPodAffinity
    dynamic_resources::DynamicResources
    default_preemption::DefaultPreemption
    node_resources_balanced_allocation::NodeResourcesBalancedAllocation
    image_locality::ImageLocality
    node_resources_allocatable::NodeResourcesAllocatable
}

/// The plugin of that name.
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the reference.
    fn table() -> String {
        let mut text = String::from("| plugin | points | weight | what decides |\n|---|---|---|---|\n");
        for entry in ALL {
            let letters = [
                ("E", &[Point::PreEnqueue][..]),
                ("F", &[Point::PreFilter, Point::Filter]),
                ("P", &[Point::PostFilter]),
                ("S", &[Point::PreScore, Point::Score]),
                ("R", &[Point::Reserve, Point::PreBind]),
            ];
            let points = letters.iter().filter(|(_, points)| points.iter().any(|point| entry.has(*point)));
            let points: Vec<&str> = points.map(|(letter, _)| *letter).collect();
            let weight = match entry.weight {
                _ if !entry.is_default => "off".to_owned(),
                _ if !entry.has(Point::Score) => String::new(),
                weight => weight.to_string(),
            };
            text += &format!("| {} | {} | {weight} | {} |\n", entry.name, points.join(" "), entry.summary);
        }
        text
    }

    #[test]
    fn what_a_plugin_implements_is_among_its_points() {
        // Who filters is asked before nodes are looked at, and who scores before they are scored.
        let methods = [
            ("pre_enqueue", Point::PreEnqueue),
            ("pre_filter", Point::Filter),
            ("filter", Point::Filter),
            ("post_filter", Point::PostFilter),
            ("pre_score", Point::Score),
            ("score", Point::Score),
            ("reserve", Point::Reserve),
        ];
        let mut implemented = 0;
        for (entry, source) in ALL.iter().zip(SOURCES) {
            for (method, point) in methods {
                let is_implemented = source.contains(&format!("\n    fn {method}(&self, "));
                assert!(
                    !is_implemented || entry.has(point),
                    "{} is never asked: {point:?} is not among its points",
                    entry.name
                );
                implemented += usize::from(is_implemented);
            }
        }
        assert!(implemented > ALL.len(), "{implemented} methods of {} plugins were found", ALL.len());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "UPDATE=1 writes what the test expects")]
    fn the_plugins_of_the_docs_are_those_of_the_code() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scheduler.md");
        let text = std::fs::read_to_string(&path).expect("the reference");
        let (begin, end) = ("<!-- plugins -->\n", "<!-- end of plugins -->");
        let (before, rest) = text.split_once(begin).expect("where the table begins");
        let (_, after) = rest.split_once(end).expect("where the table ends");
        let expected = format!("{before}{begin}{}{end}{after}", table());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, expected).expect("a reference that can be written");
            return;
        }
        assert_eq!(text, expected, "UPDATE=1 writes the table anew");
    }

    #[test]
    fn weights_belong_to_scorers_and_names_are_unique() {
        for (place, entry) in ALL.iter().enumerate() {
            assert_eq!(entry.weight > 0, entry.has(Point::Score), "{}", entry.name);
            assert!(ALL[..place].iter().all(|other| other.name != entry.name), "{}", entry.name);
        }
    }
}
