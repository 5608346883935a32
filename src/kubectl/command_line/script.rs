//! A text of several lines as a shell reads it: command after command.

/// A here-document that begins with the next line.
struct Document<'a> {
    end: String,
    drops_tabs: bool,
    rest: &'a str,
}

/// The commands of a text, in order: one each line, but for lines that a backslash, an open quote, a pipe at the end or a
/// here-document joins. Blank lines and comments are none. A text without any is one command, which is empty.
#[must_use]
pub fn commands(text: &str) -> Vec<&str> {
    placed_commands(text).into_iter().map(|(_, command)| command).collect()
}

/// The same, each with the byte of the text at which it begins.
#[must_use]
pub fn placed_commands(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let end = at + end_of_first(&text[at..]);
        let command = text[at..end].trim_start();
        if !command.is_empty() && !command.starts_with('#') {
            found.push((end - command.len(), command.trim_end()));
        }
        at = end + usize::from(text[end..].starts_with('\n'));
    }
    if found.is_empty() { vec![(0, text)] } else { found }
}

/// Where the first command ends.
fn end_of_first(text: &str) -> usize {
    let (mut at, mut quote, mut before) = (0, None, '\n');
    // The last character that is no blank and no comment, and the documents that begin with the next line.
    let (mut last, mut documents) = (' ', Vec::new());
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let mut length = c.len_utf8();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => length += rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if before.is_whitespace() => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            (None, '<') if rest.starts_with("<<<") => length = 3,
            (None, '<') if rest.starts_with("<<") => {
                let document = document(rest);
                length = rest.len() - document.rest.len();
                documents.push(document);
            }
            (None, '\n') => {
                let goes_on = matches!(last, '|' | '&') && !text[..at].trim_end().ends_with(" &");
                let is_fed = !documents.is_empty();
                at += 1;
                for document in documents.drain(..) {
                    at = after_document(text, at, &document);
                }
                if !goes_on {
                    return if is_fed { at } else { at - 1 };
                }
                before = '\n';
                continue;
            }
            _ => {}
        }
        at += length;
        before = c;
        if !c.is_whitespace() {
            last = c;
        }
    }
    text.len()
}

/// The here-document that `<<` announces.
fn document(text: &str) -> Document<'_> {
    let text = &text[2..];
    let drops_tabs = text.starts_with('-');
    let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let (mut end, mut quote, mut length) = (String::new(), None, text.len());
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => end.push(c),
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() || matches!(c, '|' | '&' | ';' | '<' | '>') => {
                length = at;
                break;
            }
            None if c == '\\' => {}
            None => end.push(c),
        }
    }
    Document { end, drops_tabs, rest: &text[length..] }
}

/// Where a here-document that begins at a place is over.
fn after_document(text: &str, mut at: usize, document: &Document<'_>) -> usize {
    for line in text[at..].split_inclusive('\n') {
        at += line.len();
        let line = if document.drops_tabs { line.trim_start_matches('\t') } else { line };
        if line.trim_end_matches(['\n', '\r']) == document.end {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_command() {
        let check = |text: &str, expected: &[&str]| assert_eq!(commands(text), expected, "{text}");
        check("cordon a", &["cordon a"]);
        check("cordon a\ncordon b\n", &["cordon a", "cordon b"]);
        check(
            "# first\n\n  cordon a # the old one\n\ncordon b # it's new\n# done",
            &["cordon a # the old one", "cordon b # it's new"],
        );
        check("drain a \\\n  --force\nuncordon a", &["drain a \\\n  --force", "uncordon a"]);
        check("patch x -p '{\n}'\nget x", &["patch x -p '{\n}'", "get x"]);
        check("patch x -p \"{\\\"\n}\"\nget x", &["patch x -p \"{\\\"\n}\"", "get x"]);
        check("label x a=b#c\nget x", &["label x a=b#c", "get x"]);
        check("drain a &\ndrain b &\nget x", &["drain a &", "drain b &", "get x"]);
        check("get x |\n  grep a\nget y", &["get x |\n  grep a", "get y"]);
        check("", &[""]);
        check("# nothing\n", &["# nothing\n"]);
    }

    #[test]
    fn a_here_document_belongs_to_its_command() {
        let check = |text: &str, expected: &[&str]| assert_eq!(commands(text), expected, "{text}");
        check("apply -f - <<EOF\na: b\nEOF\nget x", &["apply -f - <<EOF\na: b\nEOF", "get x"]);
        check("cat <<'E' | apply -f -\n# a\n'\nE\nget x\n", &["cat <<'E' | apply -f -\n# a\n'\nE", "get x"]);
        check("cat <<-E |\n\ta\n\tE\napply -f -\nget x", &["cat <<-E |\n\ta\n\tE\napply -f -", "get x"]);
        check("apply -f - <<< 'a: b'\nget x", &["apply -f - <<< 'a: b'", "get x"]);
        check("apply -f - <<EOF", &["apply -f - <<EOF"]);
        check("apply -f - <<EOF\na", &["apply -f - <<EOF\na"]);
    }
}
