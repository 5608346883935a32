//! What can happen at an instant of the timeline: one file an action.

mod action;

use serde::de::Deserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::at::At;
use super::inventory::Inventory;
use crate::component::Config;
use crate::diagnostics::Diagnostics;
use crate::units::{SimDuration, SimTime, with_days};
use action::Action;
pub(super) use action::{Plans, Timeline};

/// An entry of the timeline.
#[derive(Clone, Debug)]
pub(crate) struct TimelineEntry {
    pub(crate) at: SimDuration,
    /// One, in an entry that is right.
    pub(crate) actions: Vec<ActionEntry>,
}

/// What the entries do, in the order in which they are written.
pub(super) fn resolve(
    entries: &[TimelineEntry],
    place: At<'_>,
    mut timeline: Timeline<'_, '_, '_>,
) -> Vec<(SimTime, TimelineAction)> {
    let mut actions = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let at = SimTime::ZERO + entry.at;
        let Some(action) = entry.actions.first() else { continue };
        action.resolve(at, place.index(index), &mut timeline, &mut actions);
    }
    actions
}

/// Makes the modules and the enums of the list of actions.
macro_rules! timeline_actions {
    ($($module:ident::$written:ident => $action:ident = $field:literal, $about:literal)+) => {
        $(mod $module;)+

        /// What happens at an instant of the timeline, as it is written.
        #[derive(Clone, Debug)]
        pub(crate) enum ActionEntry { $($action($module::$written),)+ }

        /// What happens at an instant of the timeline, by its position in the plan of who does it.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum TimelineAction { $(#[doc = concat!("`", $field, "` of an entry.")] $action(usize),)+ }

        impl ActionEntry {
            /// The fields of which an entry has one.
            pub(crate) const FIELDS: &'static [&'static str] = &[$($field,)+];

            /// Its field, in an entry that stands there.
            fn place<'a>(&self, entry: At<'a>) -> At<'a> {
                entry.field(match self { $(Self::$action(_) => $field,)+ })
            }

            fn resolve(
                &self, at: SimTime, entry: At<'_>, timeline: &mut Timeline<'_, '_, '_>, actions: &mut Vec<(SimTime, TimelineAction)>,
            ) {
                let place = self.place(entry);
                match self {
                    $(Self::$action(written) => {
                        let positions = written.resolve(at, place, timeline);
                        actions.extend(positions.map(|index| (at, TimelineAction::$action(index))));
                    })+
                }
            }

            /// The action as a lock file writes it.
            pub(super) fn written(action: TimelineAction, plans: Plans<'_>) -> Self {
                match action {
                    $(TimelineAction::$action(index) => Self::$action(<$module::$written>::written(plans, index)),)+
                }
            }

            /// Everything that can be wrong with it although its fields have the right types.
            pub(super) fn check(
                &self, entry: At<'_>, config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics,
            ) {
                let place = self.place(entry);
                match self { $(Self::$action(written) => written.check(place, config, inventory, diagnostics),)+ }
            }

            /// Where it is written, and how many nodes it adds.
            pub(super) fn added_nodes<'a>(&self, entry: At<'a>) -> (At<'a>, u32) {
                (self.place(entry), match self { $(Self::$action(written) => written.node_count(),)+ })
            }
        }

        impl<'de> Deserialize<'de> for TimelineEntry {
            /// Reads all that is there: that it is one action is checked where its place is known.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Deserialize)]
                #[serde(deny_unknown_fields)]
                #[expect(non_snake_case, reason = "fields are called as the actions are")]
                struct Fields {
                    #[serde(with = "with_days")]
                    at: SimDuration,
                    $(#[serde(rename = $field, default)] $action: Option<$module::$written>,)+
                }
                let fields = Fields::deserialize(deserializer)?;
                let actions = [$(fields.$action.map(ActionEntry::$action),)+];
                Ok(Self { at: fields.at, actions: actions.into_iter().flatten().collect() })
            }
        }

        #[cfg(feature = "cli")]
        impl schemars::JsonSchema for TimelineEntry {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "TimelineEntry".into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let actions = vec![$(($field, $about, generator.subschema_for::<$module::$written>()),)+];
                super::schemas::of_entry(generator, actions)
            }
        }

        impl Serialize for TimelineEntry {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut fields = serializer.serialize_map(None)?;
                fields.serialize_entry("at", &self.at)?;
                for action in &self.actions {
                    match action {
                        $(ActionEntry::$action(written) => fields.serialize_entry($field, written)?,)+
                    }
                }
                fields.end()
            }
        }
    };
}

// One line an action: `file::Type` of what is written, what it is called in other places, its field, and what it does.
timeline_actions! {
    fault::FaultSpec => Fault = "fault", "something goes wrong"
    kubectl::KubectlEntry => Kubectl = "kubectl", "lines that operators type into one shell, one after the other; `&` at the end of one does not wait for it"
    add_nodes::AddNodesEntry => AddNodes = "addNodes", "machines join a pool"
    rolling_upgrade::RollingUpgradeSpec => RollingUpgrade = "rollingUpgrade", "every machine of a pool is replaced"
    rolling_reboot::RollingRebootSpec => RollingReboot = "rollingReboot", "the nodes of a pool need a reboot, and a daemon sees to it"
    request::ClientRequest => Request = "request", "a client asks the API server for something"
}

pub(super) use kubectl::remember_applied;
