//! Why a line is not carried out.

/// Why a line is not a kubectl line that can be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineError {
    /// What is wrong.
    pub message: String,
    /// The offending word.
    pub word: String,
    /// What would be valid.
    pub help: Option<String>,
}

pub(in crate::kubectl) fn error(word: &str, message: impl Into<String>) -> CommandLineError {
    CommandLineError { message: message.into(), word: word.to_owned(), help: None }
}

/// Why there is no command to carry out.
#[derive(Clone, Debug)]
pub(in crate::kubectl) enum Stop {
    /// The line cannot be played.
    Unplayable(CommandLineError),
    /// kubectl itself refuses it before it asks anybody, with these lines.
    Refused(Vec<String>),
    /// It changes nothing, and what it prints is not simulated: the command.
    Unanswered(String),
}

impl Stop {
    pub(in crate::kubectl) fn refused(lines: &[&str]) -> Self {
        Self::Refused(lines.iter().map(|line| (*line).to_owned()).collect())
    }

    /// kubectl's own error.
    pub(in crate::kubectl) fn error(text: impl std::fmt::Display) -> Self {
        Self::Refused(vec![format!("error: {text}")])
    }

    /// kubectl's own error, after which it says where to find help.
    ///
    /// # Source
    /// kubectl, `UsageErrorf`.
    pub(in crate::kubectl) fn usage(text: impl std::fmt::Display, command: &str) -> Self {
        Self::Refused(vec![format!("error: {text}"), format!("See 'kubectl {command} -h' for help and examples")])
    }
}

impl From<CommandLineError> for Stop {
    fn from(error: CommandLineError) -> Self {
        Self::Unplayable(error)
    }
}
