//! `man`: the manual page.

use std::fs;
use std::path::{Path, PathBuf};

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
    #[arg(conflicts_with = "out")]
    command: Option<String>,
    /// Write the pages of all commands into this directory, as packages have them
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn man(arguments: &ManArgs, ui: &Ui) -> Result<Ending, Failure> {
    if let Some(dir) = &arguments.out {
        return write_all(dir);
    }
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

fn write_all(dir: &Path) -> Result<Ending, Failure> {
    let written = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|error| {
        Failure::input(format!("cannot write to `{}`: {error}", dir.display()), "name another directory with --out")
    })?;
    Ok(Ending::Done)
}
