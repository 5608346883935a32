//! The binary, run as a user runs it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt as _;

pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs it in a directory.
pub(crate) fn kubesquall(dir: &Path, arguments: &str, stdin: impl Into<Vec<u8>>) -> Said {
    let output = assert_cmd::Command::cargo_bin("kubesquall")
        .expect("the binary")
        .current_dir(dir)
        .args(arguments.split_whitespace())
        .write_stdin(stdin)
        .timeout(Duration::from_secs(60))
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Said { status: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A command that has not begun yet.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubesquall"));
    command.args(arguments);
    command
}

/// What is said to a command that is refused.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    let refused = command(arguments).assert().code(2);
    String::from_utf8_lossy(&refused.get_output().stderr).into_owned()
}

/// Where something in a directory is, for a command line.
pub(crate) fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().expect("plain text").to_owned()
}
