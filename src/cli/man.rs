//! `man`: the manual page.

use clap::{Args, CommandFactory as _};

use super::failure::Failure;
use super::ui::Ui;
use super::{Cli, Ending};

/// Print the manual page, of all or of one command
///
/// For example: kubesquall man | man -l -
#[derive(Args, Debug)]
pub(super) struct ManArgs {
    /// The command whose page is wanted
    command: Option<String>,
}

pub(super) fn man(arguments: &ManArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &arguments.command {
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let Some(found) = command.find_subcommand(name) else {
            let help = format!("the commands are {}", names.join(", "));
            return Err(Failure::input(format!("there is no command `{name}`"), help));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    ui.data(&String::from_utf8_lossy(&page))?;
    Ok(Ending::Done)
}
