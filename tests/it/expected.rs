//! Expected texts in files. `UPDATE=1` writes them anew; they are to be read before they are kept.

use std::fs;
use std::path::Path;

/// What is wrong with a text, as a file has another.
pub(crate) fn difference(path: &Path, found: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "how the expected texts are rewritten")]
    let is_update = std::env::var_os("UPDATE").is_some();
    if is_update {
        fs::write(path, found).expect("the expected text");
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    (found != expected).then(|| format!("found:\n{found}\nexpected by {}:\n{expected}", path.display()))
}
