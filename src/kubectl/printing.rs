//! How a command's lines are printed: dry runs say so, `-o name` leaves only the name, and other outputs take the object.

use std::sync::Arc;

use super::output::Format;

/// How a command pretends.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It does not.
    #[default]
    None,
    /// It prints what it would do.
    Client,
    /// It asks the server whether it would be allowed.
    Server,
}

/// `-o` of a command that changes something.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Output {
    /// A line that says what was done.
    #[default]
    Human,
    /// `name`: `KIND/NAME`.
    Name,
    /// `json`, `yaml` and templates: the object.
    Object(Arc<Format>),
}

/// `--dry-run` and `-o`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printing {
    /// `--dry-run`.
    pub dry_run: DryRun,
    /// `-o`.
    pub output: Output,
    /// `apply --server-side`.
    pub server_side: bool,
    /// `--record` was given, which is out of date.
    pub record: bool,
}

impl Printing {
    /// A line about an object, as it is printed; other lines stay as they are.
    ///
    /// # Source
    /// cli-runtime, `NamePrinter`; kubectl, `PrintFlagsWithDryRunStrategy` and `DeleteOptions.PrintObj`.
    pub(super) fn line(&self, line: String) -> String {
        let (first, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let deleted = deleted(rest);
        if deleted.is_none() && subject(&line).is_none() {
            return line;
        }
        if self.output == Output::Name {
            return deleted.map_or_else(|| first.to_owned(), |(name, _)| format!("{first}/{name}"));
        }
        let line = if self.server_side { format!("{first} serverside-applied") } else { line };
        match self.dry_run {
            DryRun::None => line,
            DryRun::Client => line + " (dry run)",
            DryRun::Server => line + " (server dry run)",
        }
    }
}

/// The name that a line says is deleted, behind its kind.
fn deleted(rest: &str) -> Option<(&str, &str)> {
    let (name, done) = rest.strip_prefix('"')?.split_once("\" ")?;
    (done.starts_with("deleted") || done.starts_with("force deleted")).then_some((name, done))
}

/// Kind and name of the object that a line is about: `deployment.apps/web scaled`.
pub(super) fn subject(line: &str) -> Option<(&str, &str)> {
    let (first, rest) = line.split_once(' ')?;
    first.split_once('/').filter(|_| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_objects_say_that_they_are_of_a_dry_run() {
        let check = |dry_run, output: Output, line: &str, expected: &str| {
            assert_eq!(Printing { dry_run, output, ..Printing::default() }.line(line.to_owned()), expected);
        };
        let human = || Output::Human;
        check(DryRun::Client, human(), "node/n cordoned", "node/n cordoned (dry run)");
        check(DryRun::Server, human(), "node/n already cordoned", "node/n already cordoned (server dry run)");
        check(DryRun::Client, human(), "No resources found", "No resources found");
        check(DryRun::Client, human(), "label \"a/b\" not found.", "label \"a/b\" not found.");
        let deleted = "pod \"p\" deleted from default namespace";
        check(DryRun::Client, human(), deleted, "pod \"p\" deleted from default namespace (dry run)");
        check(DryRun::None, Output::Name, deleted, "pod/p");
        let server = Printing { server_side: true, ..Printing::default() };
        assert_eq!(server.line("pod/p configured".to_owned()), "pod/p serverside-applied");
        check(DryRun::Client, Output::Name, "deployment.apps/web scaled", "deployment.apps/web");
    }
}
