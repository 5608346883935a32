//! What a study or a plan has found, as lines.

use std::fmt::Write as _;

use crate::study::Remark;

/// A remark as lines: what belongs to it stands below it, and what belongs to that again below.
pub(super) fn lines(remark: &Remark) -> String {
    let mut text = format!("{}\n", remark.text);
    for detail in &remark.details {
        for (line, said) in detail.lines().enumerate() {
            let indent = if line == 0 { "  " } else { "    " };
            let _ = writeln!(text, "{indent}{said}");
        }
    }
    text
}

/// Several of them.
pub(super) fn all<'a>(remarks: impl IntoIterator<Item = &'a Remark>) -> String {
    remarks.into_iter().map(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Tone;

    #[test]
    fn what_belongs_to_a_remark_is_indented() {
        let details = vec!["zone: web stays Pending\n0/3 nodes are available".to_owned(), "more".to_owned()];
        let remark = Remark { tone: Tone::Bad, text: "2 of n do not:".to_owned(), details };
        let expected = "2 of n do not:\n  zone: web stays Pending\n    0/3 nodes are available\n  more\n";
        assert_eq!(all([&remark, &remark]), expected.repeat(2));
    }
}
