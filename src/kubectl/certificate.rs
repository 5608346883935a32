//! `kubectl certificate approve` and `deny`.

use super::CommandPlan;
use super::command_line::{Arguments, FILES, PRINT, Selection, Stop, WithoutNames, Words, error};
use super::resource::find_or_fail;
use super::verb::{Scene, Verb, works_on_selection};

/// Arguments of `certificate approve` and `deny`.
#[derive(Clone, Debug)]
pub struct CertificateArgs {
    /// What.
    pub selection: Selection,
    /// What is printed to be done.
    pub done: &'static str,
}

impl Verb for CertificateArgs {
    const COMMANDS: &'static [Words] = &[("certificate", &[FILES, PRINT, "force!"])];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let done = match arguments.words.first().map(String::as_str) {
            Some("approve") => "approved",
            Some("deny") => "denied",
            _ => return Err(error("certificate", "kubectl certificate needs `approve` or `deny`").into()),
        };
        arguments.words[0] = "csr".to_owned();
        Ok(Self { selection: arguments.selection(WithoutNames::Refused)?, done })
    }

    works_on_selection!(of_words);

    /// # Source
    /// kubectl, `CertificateOptions.modifyCertificateCondition`.
    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
        for found in find_or_fail(&self.selection, scene.store, out) {
            out.say(format!("{} {}", found.printed(scene.store), self.done));
        }
    }
}
