//! What one program asks of another without the API server.

use std::sync::Arc;

/// A kubectl line that a program types.
#[derive(Clone, Debug)]
pub struct TypedCommand {
    /// The program's name.
    pub by: &'static str,
    /// How the program will recognise the end of it.
    pub ticket: u64,
    /// The line, without `kubectl`.
    pub line: Arc<str>,
}

/// The end of a kubectl line that a program has typed.
#[derive(Clone, Debug)]
pub struct CommandEnd {
    /// The program's name.
    pub by: &'static str,
    /// The ticket it gave.
    pub ticket: u64,
    /// Exit status.
    pub exit: i32,
    /// The first line on standard error, if the exit status is not 0.
    pub error: Option<String>,
}

/// Passed to every running component at once; most ignore it.
#[derive(Clone, Debug)]
pub enum Message {
    /// A program runs kubectl, or what is built on its library.
    Typed(TypedCommand),
    /// It has ended.
    Ended(CommandEnd),
}
