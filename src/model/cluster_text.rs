//! How a cluster that was imported begins and ends: its head says what it is made of and what is missing, its last line that it is
//! whole, as any part of it reads like a smaller cluster.

/// Its first line.
pub(crate) const FIRST_LINE: &str =
    "# Made by kubesquall: a cluster as it was found. Its last line says that it is whole.\n";

/// What is true of each, behind the first line.
pub(crate) const PROMISE: &str =
    "# Kinds and fields that decide nothing in a run are not here, nor is anything that Secrets and ConfigMaps hold.\n";

/// Its last line.
pub(crate) const LAST_LINE: &str = "# The cluster is whole.\n";

/// Whether a text is an imported cluster of which the end is missing. Somebody may have written more behind it.
pub(crate) fn is_cut(text: &str) -> bool {
    text.starts_with(FIRST_LINE) && !text.ends_with(LAST_LINE) && !text.contains(&format!("\n{LAST_LINE}"))
}

/// What the head of an imported cluster says of it, a statement a line; nothing of any other text.
pub(crate) fn statements(text: &str) -> impl Iterator<Item = &str> {
    let head = text.strip_prefix(FIRST_LINE).unwrap_or_default();
    let head = head.strip_prefix(PROMISE).unwrap_or(head);
    head.lines().map_while(|line| line.strip_prefix("# "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imported_cluster_says_what_it_is_and_whether_it_is_whole() {
        let whole = format!("{FIRST_LINE}{PROMISE}# From: a\n# Not read: b\n---\nkind: Node\n# c\n{LAST_LINE}");
        assert!(!is_cut(&whole) && !is_cut("kind: Node\n"));
        for end in FIRST_LINE.len()..whole.len() {
            assert!(is_cut(&whole[..end]), "{end}");
        }
        assert_eq!(statements(&whole).collect::<Vec<_>>(), ["From: a", "Not read: b"]);
        assert_eq!(statements("# From: a\n").count(), 0);
    }
}
