//! How a command's lines are printed: dry runs say so, and `-o name` leaves only the name.

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
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// A line that says what was done.
    #[default]
    Human,
    /// `name`: `KIND/NAME`.
    Name,
    /// `json`, `yaml` and templates: the object.
    Object,
}

/// `--dry-run` and `-o`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Printing {
    /// `--dry-run`.
    pub dry_run: DryRun,
    /// `-o`.
    pub output: Output,
    /// `apply --server-side`.
    pub server_side: bool,
}

impl Printing {
    /// A line about an object, as it is printed; other lines stay as they are.
    ///
    /// # Source
    /// cli-runtime, `NamePrinter`; kubectl, `PrintFlagsWithDryRunStrategy` and `DeleteOptions.PrintObj`.
    pub(super) fn line(self, line: String) -> String {
        let (first, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let deleted = rest
            .strip_prefix('"')
            .and_then(|rest| rest.split_once("\" "))
            .filter(|(_, done)| done.starts_with("deleted") || done.starts_with("force deleted"));
        let is_object = deleted.is_some() || first.contains('/') && !rest.is_empty();
        if !is_object {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_objects_say_that_they_are_of_a_dry_run() {
        let check = |dry_run, output, line: &str, expected: &str| {
            assert_eq!(Printing { dry_run, output, server_side: false }.line(line.to_owned()), expected);
        };
        let human = Output::Human;
        check(DryRun::Client, human, "node/n cordoned", "node/n cordoned (dry run)");
        check(DryRun::Server, human, "node/n already cordoned", "node/n already cordoned (server dry run)");
        check(DryRun::Client, human, "No resources found", "No resources found");
        check(DryRun::Client, human, "label \"a/b\" not found.", "label \"a/b\" not found.");
        let deleted = "pod \"p\" deleted from default namespace";
        check(DryRun::Client, human, deleted, "pod \"p\" deleted from default namespace (dry run)");
        check(DryRun::None, Output::Name, deleted, "pod/p");
        let server = Printing { server_side: true, ..Printing::default() };
        assert_eq!(server.line("pod/p configured".to_owned()), "pod/p serverside-applied");
        check(DryRun::Client, Output::Name, "deployment.apps/web scaled", "deployment.apps/web");
    }
}
