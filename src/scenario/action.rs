//! What can happen at an instant of the timeline: one line an action.

use std::sync::Arc;

use serde::de::Deserializer;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::arena::Symbol;
use crate::chaos::FaultSpec;
use crate::procedures::{RollingRebootSpec, RollingUpgradeSpec};
use crate::units::{SimDuration, with_days};

/// An entry of the timeline.
#[derive(Clone, Debug)]
pub(crate) struct TimelineEntry {
    pub(crate) at: SimDuration,
    /// One, in an entry that is right.
    pub(crate) actions: Vec<ActionEntry>,
}

/// Names the actions: what they are, what is written, and the field under which it is written.
macro_rules! timeline_actions {
    ($($(#[$doc:meta])+ $action:ident($written:ty) = $field:literal,)+) => {
        /// What happens at an instant of the timeline, as it is written.
        #[derive(Clone, Debug)]
        pub(crate) enum ActionEntry { $($action($written),)+ }

        /// What happens at an instant of the timeline, by its position in the plan of who does it.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub enum TimelineAction { $($(#[$doc])+ $action(usize),)+ }

        impl ActionEntry {
            /// The fields of which an entry has one.
            pub(crate) const FIELDS: &'static [&'static str] = &[$($field,)+];
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
                    $(#[serde(rename = $field, default)] $action: Option<$written>,)+
                }
                let fields = Fields::deserialize(deserializer)?;
                let actions = [$(fields.$action.map(ActionEntry::$action),)+];
                Ok(Self { at: fields.at, actions: actions.into_iter().flatten().collect() })
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

timeline_actions! {
    /// A fault of the [`ChaosPlan`](crate::chaos::ChaosPlan).
    Fault(FaultSpec) = "fault",
    /// A line of the [`Runbook`](crate::kubectl::Runbook).
    Kubectl(Arc<str>) = "kubectl",
    /// Machines that the [`ChaosPlan`](crate::chaos::ChaosPlan) adds.
    AddNodes(AddNodesEntry) = "addNodes",
    /// An upgrade of the [`ProcedurePlan`](crate::procedures::ProcedurePlan).
    RollingUpgrade(RollingUpgradeSpec) = "rollingUpgrade",
    /// A reboot of the [`ProcedurePlan`](crate::procedures::ProcedurePlan).
    RollingReboot(RollingRebootSpec) = "rollingReboot",
}

/// Machines that join a pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddNodesEntry {
    pub(crate) pool: Symbol,
    #[serde(default = "one")]
    pub(crate) count: u32,
}

const fn one() -> u32 {
    1
}
