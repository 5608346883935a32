//! `kubectl edit` and its like: nobody is there to edit.

use super::CommandPlan;
use super::command_line::{Arguments, CommandLineError, DRY, FILES, PRINT, Selection, Stop, Words};
use super::verb::{Scene, Verb};

/// There are no such lines that can be played.
#[derive(Copy, Clone, Debug)]
pub enum EditArgs {}

impl Verb for EditArgs {
    const COMMANDS: &'static [Words] = &[
        ("apply edit-last-applied", &[FILES, PRINT, "field-manager= windows-line-endings!"]),
        ("apply set-last-applied", &[FILES, PRINT, DRY, "create-annotation!"]),
        (
            "edit",
            &[
                FILES,
                PRINT,
                "field-manager= output-patch! record! save-config! subresource= validate? windows-line-endings!",
            ],
        ),
    ];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        Err(match arguments.path.as_str() {
            "apply set-last-applied" => set_last_applied().into(),
            _ => edit(arguments).into(),
        })
    }

    fn selection(&self) -> Option<&Selection> {
        match *self {}
    }

    fn plan(&self, _scene: &Scene<'_>, _out: &mut CommandPlan) {
        match *self {}
    }
}

fn set_last_applied() -> CommandLineError {
    CommandLineError {
        message: "kubectl apply set-last-applied cannot be played".to_owned(),
        word: "set-last-applied".to_owned(),
        help: Some(
            "write what it does: `annotate --overwrite TYPE/NAME kubectl.kubernetes.io/last-applied-configuration='…'`"
                .to_owned(),
        ),
    }
}

fn edit(arguments: &Arguments) -> CommandLineError {
    let what = if arguments.words.is_empty() { "TYPE/NAME".to_owned() } else { arguments.words.join(" ") };
    CommandLineError {
        message: format!("kubectl {} cannot be played: nobody is there to edit", arguments.path),
        word: arguments.path.rsplit(' ').next().unwrap_or_default().to_owned(),
        help: Some(format!(
            "write what is changed: `patch {what} -p '{{\"spec\": …}}'`, or change the file and `apply -f` it"
        )),
    }
}
