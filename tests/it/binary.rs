//! The binary, run as a user runs it.

use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs it in a directory.
pub(crate) fn kubesquall(dir: &Path, arguments: &str, stdin: impl Into<Vec<u8>>) -> Said {
    let output = Command::cargo_bin("kubesquall")
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
