//! `completions`: what a shell needs to complete our arguments.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::failure::Failure;
use super::ui::Ui;
use super::{Cli, Ending};

/// Print the completion script of a shell
///
/// For example: kubesquall completions bash > /etc/bash_completion.d/kubesquall
#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(super) fn completions(arguments: &CompletionsArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "kubesquall", &mut script);
    ui.data(&String::from_utf8_lossy(&script))?;
    Ok(Ending::Done)
}
