//! A line as a shell splits it into words: quotes, escapes, braces, comments; what needs a real shell is refused.

use super::{CommandLineError, error};

/// The most words that braces may make of one line.
const WORDS_MAX: usize = 10_000;

/// A character, and whether a quote or a backslash took its meaning away.
type Letter = (char, bool);

/// Splits a line into words as a shell would.
///
/// # Errors
/// If a quote stays open, or if the line needs a shell: variables, pipes, several commands.
pub(super) fn words(line: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    for word in split(line)? {
        let mut expanded = Vec::new();
        expand(&word, WORDS_MAX, &mut expanded)
            .map_err(|()| error(line, format!("braces make more than {WORDS_MAX} words of this line")))?;
        words.extend(expanded);
        if words.len() > WORDS_MAX {
            return Err(error(line, format!("braces make more than {WORDS_MAX} words of this line")));
        }
    }
    Ok(words)
}

fn needs_shell(word: &str, message: String, help: &str) -> CommandLineError {
    CommandLineError { message, word: word.to_owned(), help: Some(help.to_owned()) }
}

/// What a variable or a substitution reads like, for the message.
fn variable(rest: &str) -> &str {
    let end = match rest.as_bytes().get(1) {
        Some(b'(') => rest.find(')').map_or(rest.len(), |at| at + 1),
        Some(b'{') => rest.find('}').map_or(rest.len(), |at| at + 1),
        _ => rest[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(rest.len(), |at| at + 1),
    };
    &rest[..end]
}

/// Whether a `$` at the start of this text begins something that a shell would replace.
fn is_variable(rest: &str) -> bool {
    rest[1..].starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | '{' | '@' | '*' | '?' | '!'))
}

fn no_variables(rest: &str) -> CommandLineError {
    let word = if rest.starts_with('`') {
        rest.split_inclusive('`').take(2).map(str::len).sum()
    } else {
        variable(rest).len()
    };
    let word = &rest[..word];
    needs_shell(word, format!("`{word}` is for a shell to replace, and there is none"), "write what it stands for")
}

/// A sign that ends a command: another command would follow, or its output would go elsewhere.
fn operator(rest: &str) -> CommandLineError {
    let sign = ["&&", "||", "|", ";", "&", "<<", "<"].into_iter().find(|sign| rest.starts_with(sign)).unwrap_or("|");
    let help = match sign {
        "&&" | ";" | "||" => {
            "give each command an entry of its own; entries with the same `at` run one after the other, as in one shell"
        }
        "<" | "<<" => "save what is read as a file beside the scenario, and name that with `-f`",
        "&" => "`&` stands at the end of a line; give the next command an entry of its own",
        _ => "leave away what follows; the output stands in the transcript",
    };
    needs_shell(sign, format!("`{sign}` is for a shell, and an entry holds one kubectl command"), help)
}

/// Words of letters, before braces are expanded.
fn split(line: &str) -> Result<Vec<Vec<Letter>>, CommandLineError> {
    let (mut words, mut word, mut has_word): (Vec<Vec<Letter>>, Vec<Letter>, bool) = (Vec::new(), Vec::new(), false);
    let mut quote: Option<char> = None;
    let mut letters = line.char_indices().peekable();
    while let Some((at, c)) = letters.next() {
        let rest = &line[at..];
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                has_word = true;
            }
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push((c, true)),
            (_, '\\') => match letters.next() {
                // A line that goes on.
                Some((_, '\n')) => {}
                Some((_, next)) => {
                    if quote == Some('"') && !matches!(next, '"' | '\\' | '$' | '`') {
                        word.push(('\\', true));
                    }
                    word.push((next, true));
                    has_word = true;
                }
                None => {}
            },
            (_, '`') => return Err(no_variables(rest)),
            (_, '$') if is_variable(rest) => return Err(no_variables(rest)),
            (Some(_), c) => word.push((c, true)),
            (None, '#') if !has_word => match rest.find('\n') {
                Some(end) => while letters.next_if(|(next, _)| *next < at + end).is_some() {},
                None => break,
            },
            (None, c) if c.is_whitespace() => {
                if std::mem::take(&mut has_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, '>') => {
                let is_digit = matches!(word.as_slice(), [('1' | '2', false)]);
                if has_word && !is_digit {
                    words.push(std::mem::take(&mut word));
                }
                word.clear();
                has_word = false;
                skip_redirection(line, &mut letters);
            }
            // The next line does not wait for this one: who reads the runbook sees to it.
            (None, '&') if rest[1..].trim().is_empty() => {}
            (None, '&' | '|' | ';' | '<') => {
                if c == ';' && rest[1..].trim().is_empty() {
                    continue;
                }
                return Err(operator(rest));
            }
            (None, c) => {
                word.push((c, false));
                has_word = true;
            }
        }
    }
    if let Some(open) = quote {
        return Err(error(line, format!("the quote {open} is never closed")));
    }
    if has_word {
        words.push(word);
    }
    Ok(words)
}

/// Where the output goes does not matter: `> FILE`, `2>&1`, `>/dev/null`.
fn skip_redirection(line: &str, letters: &mut std::iter::Peekable<std::str::CharIndices<'_>>) {
    while letters.next_if(|(_, c)| matches!(c, '>' | '&')).is_some() {}
    while letters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    let start = letters.peek().map_or(line.len(), |(at, _)| *at);
    let length = line[start..].find(|c: char| c.is_whitespace() || matches!(c, '|' | ';' | '&' | '<' | '>'));
    let end = length.map_or(line.len(), |length| start + length);
    while letters.next_if(|(at, _)| *at < end).is_some() {}
}

fn text(letters: &[Letter]) -> String {
    letters.iter().map(|(c, _)| *c).collect()
}

/// Expands `a{b,c}d` and `a{1..3}`; braces that are neither stay as they are.
fn expand(word: &[Letter], left: usize, out: &mut Vec<String>) -> Result<(), ()> {
    let Some((open, close, parts)) = first_braces(word, left)? else {
        out.push(text(word));
        return Ok(());
    };
    for part in parts {
        let whole: Vec<Letter> = word[..open].iter().chain(&part).chain(&word[close + 1..]).copied().collect();
        expand(&whole, left, out)?;
        if out.len() > left {
            return Err(());
        }
    }
    Ok(())
}

/// The first pair of braces that is expanded, with what stands for it.
#[expect(clippy::type_complexity, reason = "it has one caller")]
fn first_braces(word: &[Letter], most: usize) -> Result<Option<(usize, usize, Vec<Vec<Letter>>)>, ()> {
    for open in (0..word.len()).filter(|at| word[*at] == ('{', false)) {
        let (mut depth, mut commas, mut close) = (0_usize, Vec::new(), None);
        for (at, letter) in word.iter().enumerate().skip(open) {
            match letter {
                ('{', false) => depth += 1,
                ('}', false) => depth -= 1,
                (',', false) if depth == 1 => commas.push(at),
                _ => {}
            }
            if depth == 0 {
                close = Some(at);
                break;
            }
        }
        let Some(close) = close else { continue };
        if !commas.is_empty() {
            let mut start = open + 1;
            let mut parts = Vec::new();
            for end in commas.into_iter().chain([close]) {
                parts.push(word[start..end].to_vec());
                start = end + 1;
            }
            return Ok(Some((open, close, parts)));
        }
        if let Some(parts) = range(&text(&word[open + 1..close]), most)? {
            return Ok(Some((open, close, parts)));
        }
    }
    Ok(None)
}

/// `1..3`, `03..01`, `a..c`; none for another text.
fn range(inside: &str, most: usize) -> Result<Option<Vec<Vec<Letter>>>, ()> {
    let Some((from, to)) = inside.split_once("..") else { return Ok(None) };
    let plain = |text: String| text.chars().map(|c| (c, false)).collect::<Vec<Letter>>();
    if let (Ok(first), Ok(last)) = (from.parse::<i64>(), to.parse::<i64>()) {
        if first.abs_diff(last) >= most as u64 {
            return Err(());
        }
        let is_padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
        let width = if is_padded(from) || is_padded(to) { from.len().max(to.len()) } else { 0 };
        let count = |number: i64| plain(format!("{number:0width$}"));
        return Ok(Some(if first <= last {
            (first..=last).map(count).collect()
        } else {
            (last..=first).rev().map(count).collect()
        }));
    }
    let one = |text: &str| Some(text.chars().next()?).filter(|c| c.is_ascii_alphabetic() && text.len() == 1);
    let (Some(first), Some(last)) = (one(from), one(to)) else { return Ok(None) };
    let letter = |c: char| vec![(c, false)];
    Ok(Some(if first <= last {
        (first..=last).map(letter).collect()
    } else {
        (last..=first).rev().map(letter).collect()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).expect("a line"), expected, "{line}");
        check("drain n1  --force", &["drain", "n1", "--force"]);
        check(r#"patch x -p '{"a": "b c"}'"#, &["patch", "x", "-p", r#"{"a": "b c"}"#]);
        check(r#"patch x -p "{\"a\": \"b\"}""#, &["patch", "x", "-p", r#"{"a": "b"}"#]);
        check(r#"label x a="b c""#, &["label", "x", "a=b c"]);
        check("label x a='' b", &["label", "x", "a=", "b"]);
        check("get pods # what is there", &["get", "pods"]);
        check("label x a=b#c", &["label", "x", "a=b#c"]);
        check("drain n \\\n  --force", &["drain", "n", "--force"]);
        check(
            "get pods -o jsonpath='{.items[*].metadata.name}'",
            &["get", "pods", "-o", "jsonpath={.items[*].metadata.name}"],
        );
        check("apply -f x > /dev/null 2>&1", &["apply", "-f", "x"]);
        check("apply -f x &", &["apply", "-f", "x"]);
        check("delete ns a;", &["delete", "ns", "a"]);
        check("annotate x a='it costs $5'", &["annotate", "x", "a=it costs $5"]);
        assert!(words("patch -p '{").is_err());
    }

    #[test]
    fn braces_become_several_words() {
        let check = |line: &str, expected: &[&str]| assert_eq!(words(line).expect("a line"), expected, "{line}");
        check("cordon w{1,2}-k8s", &["cordon", "w1-k8s", "w2-k8s"]);
        check("cordon w{1..3} n", &["cordon", "w1", "w2", "w3", "n"]);
        check("cordon w{08..10}", &["cordon", "w08", "w09", "w10"]);
        check("cordon {a,b}{1,2}", &["cordon", "a1", "a2", "b1", "b2"]);
        check("cordon {x,y{1,2}}", &["cordon", "x", "y1", "y2"]);
        check("cordon '{a,b}' {a} {}", &["cordon", "{a,b}", "{a}", "{}"]);
        assert!(words("cordon w{1..1000000000}").is_err());
        assert!(words(&format!("cordon {}", "{1,2}".repeat(40))).is_err());
    }

    #[test]
    fn what_needs_a_shell_is_refused_with_what_to_write_instead() {
        let check = |line: &str, word: &str, help: &str| {
            let error = words(line).expect_err(line);
            assert_eq!(error.word, word, "{line}");
            assert!(error.help.expect("help").contains(help), "{line}");
        };
        check("cordon $NODE", "$NODE", "what it stands for");
        check("cordon \"${NODE}-1\"", "${NODE}", "what it stands for");
        check("drain $(kubectl get nodes -o name)", "$(kubectl get nodes -o name)", "what it stands for");
        check("cordon `hostname`", "`hostname`", "what it stands for");
        check("cordon a && drain a", "&&", "an entry of its own");
        check("cordon a; drain a", ";", "an entry of its own");
        check("get nodes -o name | xargs kubectl cordon", "|", "transcript");
        check("apply -f - <<EOF", "<<", "file");
    }
}
