//! What a verb of kubectl is, and what the list of all is made into.

use super::command_line::{Arguments, Selection, Stop, Words};
use super::view::Clock;
use super::{CommandPlan, RunbookLine};
use crate::model::Object;
use crate::model::config::KubernetesVersion;
use crate::state::Store;
use crate::units::SimTime;

/// A verb, or several that are alike: the arguments of its lines, how they are read, and what they want done.
pub(super) trait Verb: Sized {
    /// Its commands.
    ///
    /// # Source
    /// kubectl 1.36, the commands' own lists.
    const COMMANDS: &'static [Words];

    /// Other words for some of them.
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    /// Whether its output is simulated.
    const IS_ANSWERED: bool = true;

    /// Whether it reads the objects of files before it chooses among them by label: it sees the labels that they have, not those of
    /// the file.
    ///
    /// # Source
    /// kubectl, the commands that ask the builder for the `Latest`.
    const READS_BEFORE: bool = true;

    /// The arguments of a line of one of its commands.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop>;

    /// What it works on, if on objects of the cluster.
    fn selection(&self) -> Option<&Selection>;

    /// The same, if files can name what it works on.
    fn named_by_files(&mut self) -> Option<&mut Selection> {
        None
    }

    /// `-n`, if it is given.
    fn given_namespace(&self) -> Option<&str> {
        self.selection()?.given_namespace()
    }

    /// The object that it makes of its flags, if it makes one.
    fn made(&self) -> Option<&Object> {
        None
    }

    /// Whether it changes nothing.
    fn only_looks(&self) -> bool {
        false
    }

    /// What it wants done.
    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan);
}

/// What a verb works on whose arguments have a `selection`: objects that are named by words, or by words or files.
macro_rules! works_on_selection {
    (of_words) => {
        fn selection(&self) -> Option<&Selection> {
            Some(&self.selection)
        }
    };
    (of_words_or_files) => {
        works_on_selection!(of_words);

        fn named_by_files(&mut self) -> Option<&mut Selection> {
            Some(&mut self.selection)
        }
    };
}

/// The cluster as a line finds it.
pub(super) struct Scene<'a> {
    pub(super) line: &'a RunbookLine,
    pub(super) store: &'a Store,
    pub(super) now: SimTime,
    pub(super) clock: Clock,
    pub(super) version: KubernetesVersion,
}

/// Makes the modules, the commands and what is asked of them of the list of verbs.
macro_rules! verbs {
    ($($module:ident::$Args:ident => $Verb:ident)+) => {
        $(mod $module;)+

        /// A command.
        #[derive(Clone, Debug)]
        pub enum Command {
            /// What kubectl refuses before it asks anybody: the lines of standard error.
            Refused(Vec<String>),
            $(#[doc = concat!("`kubectl/", stringify!($module), ".rs`.")] $Verb($module::$Args),)+
        }

        /// The words and flags of all commands.
        const GRAMMAR: Grammar = Grammar {
            commands: &[$(<$module::$Args as Verb>::COMMANDS),+],
            aliases: &[$(<$module::$Args as Verb>::ALIASES),+],
        };

        const _: () = assert!(
            !GRAMMAR.has_doubles(),
            "a command stands twice in the lists of verbs: one that has a verb of its own leaves that of `unanswered.rs`",
        );

        impl Command {
            /// The command of a line.
            fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
                let has = |commands: &[Words]| commands.iter().any(|(words, _)| *words == arguments.path);
                $(if has(<$module::$Args as Verb>::COMMANDS) { return Verb::read(arguments).map(Self::$Verb); })+
                Err(arguments.unplayable())
            }

            /// Whether the output of these words is simulated.
            fn is_answered(path: &str) -> bool {
                let has = |commands: &[Words]| commands.iter().any(|(words, _)| *words == path);
                $(if !<$module::$Args as Verb>::IS_ANSWERED && has(<$module::$Args as Verb>::COMMANDS) { return false; })+
                true
            }

            /// What a command works on, if on objects of the cluster.
            #[must_use]
            pub fn selection(&self) -> Option<&Selection> {
                match self { Self::Refused(_) => None, $(Self::$Verb(args) => Verb::selection(args),)+ }
            }

            fn named_by_files(&mut self) -> Option<&mut Selection> {
                match self { Self::Refused(_) => None, $(Self::$Verb(args) => Verb::named_by_files(args),)+ }
            }

            fn reads_before(&self) -> bool {
                match self { Self::Refused(_) => true, $(Self::$Verb(_) => <$module::$Args as Verb>::READS_BEFORE,)+ }
            }

            fn given_namespace(&self) -> Option<&str> {
                match self { Self::Refused(_) => None, $(Self::$Verb(args) => Verb::given_namespace(args),)+ }
            }

            /// The object that it makes of its flags, if it makes one.
            #[must_use]
            pub fn made(&self) -> Option<&Object> {
                match self { Self::Refused(_) => None, $(Self::$Verb(args) => Verb::made(args),)+ }
            }

            fn only_looks(&self) -> bool {
                match self { Self::Refused(_) => false, $(Self::$Verb(args) => Verb::only_looks(args),)+ }
            }

            /// What it wants done; of what was refused as soon as it was typed, nothing.
            fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
                match self { Self::Refused(_) => {} $(Self::$Verb(args) => Verb::plan(args, scene, out),)+ }
            }
        }
    };
}

pub(super) use {verbs, works_on_selection};
