//! What an observer is, and the macro that makes the one list of them.

use super::Detail;
use super::slo::Slo;
use super::transcript::TranscriptRow;
use super::workloads::WorkloadRow;
use crate::component::{Config, Record};
use crate::state::{Change, ControlPlaneProcess, DeletionCause, MachineChange, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// How a run is observed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Setup<'a> {
    pub(super) detail: Detail,
    /// At most one row of a time series per so long; all, if it is zero.
    pub(super) sample: SimDuration,
    pub(super) config: &'a Config,
}

/// The cluster at the instant at which something happens, and what the first observers made of it.
#[derive(Copy, Clone, Debug)]
pub(super) struct Seen<'a> {
    pub(super) now: SimTime,
    /// As it stands right after.
    pub(super) store: &'a Store,
    pub(super) slo: &'a Slo,
    /// Workloads of pods without a controller that the change touched; only where files are kept.
    pub(super) loose: &'a [WorkloadRow],
    /// What took a pod away, if the change says so.
    pub(super) taken_away: Option<DeletionCause>,
}

/// Something that keeps facts of a run. Nothing flows back into the run.
pub(super) trait Observer {
    /// It is there in runs of this detail and more.
    const NEEDED_FOR: Detail;

    /// The run begins.
    fn begin(&mut self, _setup: &Setup<'_>, _seen: &Seen<'_>) {}

    /// A change was committed.
    fn changed(&mut self, _change: &Change, _seen: &Seen<'_>) {}

    /// A component recorded a fact.
    fn recorded(&mut self, _record: &Record, _seen: &Seen<'_>) {}

    /// The physical world changed.
    fn machine_changed(&mut self, _change: &MachineChange, _seen: &Seen<'_>) {}

    /// The API server refused an eviction for a budget's sake; `pod` is none if the budget is only not counted yet.
    fn refused(&mut self, _pod: Option<PodId>, _seen: &Seen<'_>) {}

    /// A process of the control plane starts in the middle of the run, with empty memory.
    fn restarted(&mut self, _process: ControlPlaneProcess, _seen: &Seen<'_>) {}

    /// The run ends before these command lines do.
    fn left_unfinished(&mut self, _lines: &[TranscriptRow]) {}

    /// The run ends.
    fn end(&mut self, _seen: &Seen<'_>) {}
}

/// An observer that keeps the rows of a table.
pub(super) trait Keeps<R> {
    /// The rows, when the run has ended; they are not there a second time.
    fn take_rows(&mut self) -> Vec<R>;
}

/// Declares the modules of tables, and makes the struct of all observers, the struct of all tables, and the calls of each observer and for each table.
///
/// A line names an observer, as `module::Type`, and the tables whose rows it keeps. Those of the first group are called by name, as
/// the others go on with what they find; the rest are [`Observer`]s.
macro_rules! observers {
    (
        first { $($first:ident::$First:ident => $($first_table:ident: $FirstRow:ident),+;)+ }
        tables { $($module:ident::$Keeper:ident => $($table:ident: $Row:ident),+;)+ }
        summary { $($field:ident: $Observer:ty;)+ }
    ) => {
        $(mod $first;)+
        $(mod $module;)+

        /// All observers of a run.
        #[derive(Clone, Debug, Default)]
        pub struct Observers {
            detail: Detail,
            sample: SimDuration,
            /// Names of the scheduler's profiles.
            schedulers: Vec<Symbol>,
            /// What workloads lacked: others ask it.
            slo: Slo,
            $($first: $first::$First,)+
            $($module: $module::$Keeper,)+
            $($field: $Observer,)+
        }

        $($(pub use $first::$FirstRow;)+)+
        $($(pub use $module::$Row;)+)+

        /// Everything that a finished run leaves: the rows of each table, and the summary.
        #[derive(Clone, Debug)]
        pub struct Observed {
            $($(#[doc = concat!("Of the table of [`", stringify!($FirstRow), "`].")] pub $first_table: Vec<$FirstRow>,)+)+
            $($(#[doc = concat!("Of the table of [`", stringify!($Row), "`].")] pub $table: Vec<$Row>,)+)+
            /// Names of the scheduler's profiles.
            pub schedulers: Vec<Symbol>,
            /// The run in numbers.
            pub summary: Summary,
            /// Whether rows of `cluster.csv` and `zones.csv` were left out.
            pub is_thinned: bool,
        }

        /// The calls of the second group, each of those that runs of this detail need.
        impl Observers {
            fn others_begin(&mut self, setup: &Setup<'_>, store: &Store, loose: &[WorkloadRow]) {
                let seen = Seen { now: SimTime::ZERO, store, slo: &self.slo, loose, taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.begin(setup, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.begin(setup, &seen); })+
            }

            fn others_changed(
                &mut self, change: &Change, store: &Store, loose: &[WorkloadRow], taken_away: Option<DeletionCause>,
            ) {
                let seen = Seen { now: change.at, store, slo: &self.slo, loose, taken_away };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.changed(change, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.changed(change, &seen); })+
            }

            fn others_recorded(&mut self, now: SimTime, record: &Record, store: &Store) {
                let seen = Seen { now, store, slo: &self.slo, loose: &[], taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.recorded(record, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.recorded(record, &seen); })+
            }

            fn others_machine_changed(&mut self, now: SimTime, change: &MachineChange, store: &Store) {
                let seen = Seen { now, store, slo: &self.slo, loose: &[], taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.machine_changed(change, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.machine_changed(change, &seen); })+
            }

            fn others_refused(&mut self, now: SimTime, pod: Option<PodId>, store: &Store) {
                let seen = Seen { now, store, slo: &self.slo, loose: &[], taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.refused(pod, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.refused(pod, &seen); })+
            }

            fn others_restarted(&mut self, now: SimTime, process: ControlPlaneProcess, store: &Store) {
                let seen = Seen { now, store, slo: &self.slo, loose: &[], taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.restarted(process, &seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.restarted(process, &seen); })+
            }

            fn others_left_unfinished(&mut self, lines: &[TranscriptRow]) {
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.left_unfinished(lines); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.left_unfinished(lines); })+
            }

            fn others_end(&mut self, now: SimTime, store: &Store) {
                let seen = Seen { now, store, slo: &self.slo, loose: &[], taken_away: None };
                $(if self.detail >= <$module::$Keeper as Observer>::NEEDED_FOR { self.$module.end(&seen); })+
                $(if self.detail >= <$Observer as Observer>::NEEDED_FOR { self.$field.end(&seen); })+
            }

            /// The rows of every table, if files are kept, with the summary.
            fn into_observed(mut self, summary: Summary) -> Observed {
                let keeps = self.detail >= Detail::Files;
                Observed {
                    $($($first_table: take_rows(&mut self.$first, keeps),)+)+
                    $($($table: take_rows(&mut self.$module, keeps),)+)+
                    is_thinned: self.cluster.is_thinned(),
                    schedulers: self.schedulers,
                    summary,
                }
            }
        }

        impl Observed {
            /// Shows each table of the run.
            ///
            /// # Errors
            /// The visitor's first.
            pub fn visit<'a, V: TableVisitor<'a>>(&'a self, visitor: &mut V) -> Result<(), V::Error> {
                $($(visitor.table(&self.$first_table)?;)+)+
                $($(visitor.table(&self.$table)?;)+)+
                Ok(())
            }

            /// How many rows each table has, by the names of the files: what reads them back sees by it whether they are whole.
            #[must_use]
            pub fn row_counts(&self) -> BTreeMap<&'static str, usize> {
                BTreeMap::from([
                    $($((<$FirstRow as Row>::TABLE.file, self.$first_table.len()),)+)+
                    $($((<$Row as Row>::TABLE.file, self.$table.len()),)+)+
                ])
            }
        }

        /// Every table of a run, in the order in which one would read them.
        fn tables_of_observers() -> Vec<TableInfo> {
            vec![
                $($(TableInfo::of::<$FirstRow>(),)+)+
                $($(TableInfo::of::<$Row>(),)+)+
            ]
        }
    };
}

pub(super) use observers;
