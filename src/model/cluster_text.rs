//! How a cluster that was imported begins and ends: its head says what it is made of and what is missing, its last line that it is
//! whole, as any part of it reads like a smaller cluster.

/// Its first line.
pub(crate) const FIRST_LINE: &str =
    "# Made by kubesquall: a cluster as it was found. Its last line says that it is whole.\n";

/// What is true of each, behind the first line.
pub(crate) const PROMISE: &str = "# Specs of pods are whole, `env` too. Else what decides nothing in a run is left out, and what Secrets and ConfigMaps hold.\n";

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

/// What a statement says that could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotRead<'a> {
    pub(crate) count: usize,
    pub(crate) what: &'a str,
    pub(crate) why: &'a str,
    /// The line of the statement; from 1.
    pub(crate) line: u32,
}

/// The most of one kind that a head is believed to have missed: nobody's cluster has more objects.
const COUNT_MAX: usize = 1_000_000;

/// How the statement of what could not be read is written.
#[cfg(any(test, feature = "bundles"))]
pub(crate) fn not_read_statement(count: usize, what: &str, why: &str, first: &str) -> String {
    format!("Not read: {count} {what} ({why}), first {first}")
}

/// What the head of an imported cluster says that could not be read.
pub(crate) fn not_read(text: &str) -> impl Iterator<Item = NotRead<'_>> {
    // The first line and the promise stand before.
    (3_u32..).zip(statements(text)).filter_map(|(line, statement)| {
        let (count, rest) = statement.strip_prefix("Not read: ")?.split_once(' ')?;
        let (what, rest) = rest.split_once(" (")?;
        let (why, _) = rest.split_once("), first ")?;
        Some(NotRead { count: count.parse().ok().filter(|count| *count <= COUNT_MAX)?, what, why, line })
    })
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

    #[test]
    fn what_could_not_be_read_is_read_back() {
        let statement = not_read_statement(2, "Pod", "it cannot be read (at all)", "a (b)/x.json:3");
        let text = format!(
            "{FIRST_LINE}{PROMISE}# From: a\n# {statement}\n# Not read: x\n---\n# Not read: 1 a (b), first c\n"
        );
        let expected = NotRead { count: 2, what: "Pod", why: "it cannot be read (at all)", line: 4 };
        assert_eq!(not_read(&text).collect::<Vec<_>>(), [expected]);
    }
}
