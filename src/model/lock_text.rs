//! How a lock file begins and ends, so that one that was cut is told from a whole one: any part of it reads like a smaller cluster.

/// Its first line.
pub(crate) const FIRST_LINE: &str = "# Made by kubesquall: the scenario as it was run, with every default spelled out. Its last line says that it is whole.\n";

/// Its last line.
pub(crate) const LAST_LINE: &str = "# The scenario is whole.\n";

/// Whether a text is a lock file of which the end is missing. Somebody may have written more behind it.
pub(crate) fn is_cut(text: &str) -> bool {
    text.starts_with(FIRST_LINE) && !text.ends_with(LAST_LINE) && !text.contains(&format!("\n{LAST_LINE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_without_its_last_line_is_cut_and_no_other_text_is() {
        let whole = format!("{FIRST_LINE}kind: Scenario\n{LAST_LINE}");
        assert!(!is_cut(&whole) && !is_cut("kind: Scenario\n") && !is_cut(""));
        assert!(!is_cut(&format!("{whole}---\nkind: Pod\n")));
        for end in FIRST_LINE.len()..whole.len() {
            assert!(is_cut(&whole[..end]), "{end}");
        }
    }
}
