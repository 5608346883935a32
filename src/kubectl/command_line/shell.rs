//! A line as a shell reads it: quotes, escapes, braces, comments, pipes and here-documents; what needs a real shell is refused.

use super::stop::{CommandLineError, error};

/// The most words that braces may make of one line.
const WORDS_MAX: usize = 10_000;

/// A character, and whether a quote or a backslash took its meaning away.
type Letter = (char, bool);

/// One program of a line, as a shell starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name and arguments.
    pub words: Vec<String>,
    /// Standard input, if not what the program before prints.
    pub input: Option<Source>,
}

/// Where standard input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A here-document, or a text that the line holds.
    Text(String),
    /// A file.
    File(String),
}

/// Splits a line into the programs between its pipes, and these into words.
///
/// # Errors
/// If a quote stays open, or if the line needs a shell: variables, several commands.
pub(super) fn programs(line: &str) -> Result<Vec<Program>, CommandLineError> {
    let too_many = || error(line, format!("braces make more than {WORDS_MAX} words of this line"));
    let mut programs = Vec::new();
    for draft in Reader::new(line).read()? {
        let mut words = Vec::new();
        for word in draft.words {
            let mut expanded = Vec::new();
            expand(&word, WORDS_MAX, &mut expanded).map_err(|()| too_many())?;
            words.extend(expanded);
            if words.len() > WORDS_MAX {
                return Err(too_many());
            }
        }
        programs.push(Program { words, input: draft.input });
    }
    Ok(programs)
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

/// What another command after this one is refused with.
const ONE_EACH: &str =
    "give each command a line of its own; the lines of an entry run one after the other, as in one shell";

/// A sign after which another command would follow.
fn operator(rest: &str) -> CommandLineError {
    let sign = ["&&", "||", ";", "&", "<("].into_iter().find(|sign| rest.starts_with(sign)).unwrap_or("&");
    let help = match sign {
        "<(" => "save what is read as a file beside the scenario, and name that",
        "&" => "`&` stands at the end of a line; give the next command a line of its own",
        _ => ONE_EACH,
    };
    needs_shell(sign, format!("`{sign}` is for a shell, and a line holds one kubectl command"), help)
}

/// A program whose words have not been expanded.
#[derive(Default)]
struct Draft {
    words: Vec<Vec<Letter>>,
    input: Option<Source>,
}

/// What the next word is, if not one of the program's.
#[derive(Copy, Clone)]
enum Redirection {
    /// `<`.
    File,
    /// `<<<`.
    Text,
    /// `<<`, or `<<-`, which drops tabs at the beginning of lines.
    Document { drops_tabs: bool },
}

/// A here-document that begins with the next line.
struct Document {
    end: String,
    /// Variables in it are for the shell to replace: its end is named without quotes.
    is_expanded: bool,
    drops_tabs: bool,
}

struct Reader<'a> {
    line: &'a str,
    letters: std::iter::Peekable<std::str::CharIndices<'a>>,
    quote: Option<char>,
    word: Vec<Letter>,
    has_word: bool,
    redirection: Option<Redirection>,
    document: Option<Document>,
    programs: Vec<Draft>,
}

impl<'a> Reader<'a> {
    fn new(line: &'a str) -> Self {
        Self {
            line,
            letters: line.char_indices().peekable(),
            quote: None,
            word: Vec::new(),
            has_word: false,
            redirection: None,
            document: None,
            programs: vec![Draft::default()],
        }
    }

    fn read(mut self) -> Result<Vec<Draft>, CommandLineError> {
        while let Some((at, c)) = self.letters.next() {
            let rest = &self.line[at..];
            match (self.quote, c) {
                (None, '\'' | '"') => {
                    self.quote = Some(c);
                    self.has_word = true;
                }
                (Some(open), c) if c == open => self.quote = None,
                (Some('\''), c) => self.word.push((c, true)),
                (_, '\\') => self.escape(),
                (_, '`') => return Err(no_variables(rest)),
                (_, '$') if is_variable(rest) => return Err(no_variables(rest)),
                (Some(_), c) => self.word.push((c, true)),
                (None, '#') if !self.has_word => self.skip_to(rest.find('\n').map_or(self.line.len(), |end| at + end)),
                (None, '\n') if self.document.is_some() || self.ends_document_line() => {
                    self.read_document(at + 1)?;
                }
                (None, c) if c.is_whitespace() => self.end_word(),
                (None, '>') => self.skip_output(),
                (None, '&') if rest.starts_with("&>") => {
                    self.end_word();
                    self.skip_output();
                }
                (None, '&' | '|' | ';' | '<') => {
                    if self.operator(at, c)? {
                        break;
                    }
                }
                (None, c) => {
                    self.word.push((c, false));
                    self.has_word = true;
                }
            }
        }
        if let Some(open) = self.quote {
            return Err(error(self.line, format!("the quote {open} is never closed")));
        }
        self.end_word();
        if let Some(Document { end, .. }) = &self.document {
            return Err(error(self.line, format!("`<<{end}` has no lines after it")));
        }
        Ok(self.programs)
    }

    fn program(&mut self) -> &mut Draft {
        self.programs.last_mut().expect("there is always a program")
    }

    fn skip_to(&mut self, end: usize) {
        while self.letters.next_if(|(at, _)| *at < end).is_some() {}
    }

    fn escape(&mut self) {
        match self.letters.next() {
            // A line that goes on.
            None | Some((_, '\n')) => {}
            Some((_, next)) => {
                if self.quote == Some('"') && !matches!(next, '"' | '\\' | '$' | '`') {
                    self.word.push(('\\', true));
                }
                self.word.push((next, true));
                self.has_word = true;
            }
        }
    }

    /// A word is whole: the program's, or what is read.
    fn end_word(&mut self) {
        if !std::mem::take(&mut self.has_word) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        match self.redirection.take() {
            None => self.program().words.push(word),
            Some(Redirection::File) => self.program().input = Some(Source::File(text(&word))),
            Some(Redirection::Text) => self.program().input = Some(Source::Text(text(&word) + "\n")),
            Some(Redirection::Document { drops_tabs }) => {
                let is_expanded = word.iter().all(|(_, is_quoted)| !is_quoted);
                self.document = Some(Document { end: text(&word), is_expanded, drops_tabs });
            }
        }
    }

    /// The word before the end of the line may be what names a here-document's end.
    fn ends_document_line(&mut self) -> bool {
        self.end_word();
        self.document.is_some()
    }

    /// Reads the lines of a here-document.
    fn read_document(&mut self, start: usize) -> Result<(), CommandLineError> {
        self.end_word();
        let Some(Document { end, is_expanded, drops_tabs }) = self.document.take() else { return Ok(()) };
        let (mut content, mut at) = (String::new(), start);
        for line in self.line[start..].split_inclusive('\n') {
            at += line.len();
            let line = if drops_tabs { line.trim_start_matches('\t') } else { line };
            if line.trim_end_matches(['\n', '\r']) == end {
                break;
            }
            content.push_str(line);
        }
        let content = if is_expanded { expanded(&content)? } else { content };
        // It belongs to the program that named it, which is not the last of a line `cat <<EOF | kubectl …`.
        let reader = self.programs.iter_mut().find(|program| matches!(program.input, Some(Source::Text(_))));
        match reader {
            Some(program) => program.input = Some(Source::Text(content)),
            None => self.program().input = Some(Source::Text(content)),
        }
        self.skip_to(at);
        Ok(())
    }

    /// A sign of the shell's; whether the line is over.
    fn operator(&mut self, at: usize, c: char) -> Result<bool, CommandLineError> {
        let rest = &self.line[at..];
        // Whatever becomes of the command is in its entry.
        let next = rest.strip_prefix("||").or_else(|| rest.strip_prefix("&&"));
        let is_passed_over = next.is_some_and(|next| {
            let next = next.split('#').next().unwrap_or(next).trim().trim_end_matches(';');
            let only_prints = next == "echo" || next.starts_with("echo ");
            matches!(next, "true" | ":") || only_prints && !next.contains(['|', '&', ';', '`', '$', '>', '\n'])
        });
        // The next line does not wait for this one: who reads the runbook sees to it.
        let is_at_end = matches!(c, '&' | ';') && rest[1..].trim().is_empty();
        if is_passed_over || is_at_end {
            self.end_word();
            return Ok(true);
        }
        if c == '<' && !rest.starts_with("<(") {
            self.end_word();
            let (length, redirection) = match rest {
                _ if rest.starts_with("<<<") => (3, Redirection::Text),
                _ if rest.starts_with("<<-") => (3, Redirection::Document { drops_tabs: true }),
                _ if rest.starts_with("<<") => (2, Redirection::Document { drops_tabs: false }),
                _ => (1, Redirection::File),
            };
            if let Redirection::Document { .. } = redirection {
                self.program().input = Some(Source::Text(String::new()));
            }
            self.redirection = Some(redirection);
            self.skip_to(at + length);
            return Ok(false);
        }
        if c != '|' || rest.starts_with("||") {
            return Err(operator(rest));
        }
        self.end_word();
        if self.program().words.is_empty() {
            return Err(error("|", "there is no command before `|`"));
        }
        self.programs.push(Draft::default());
        self.skip_to(at + if rest.starts_with("|&") { 2 } else { 1 });
        Ok(false)
    }

    /// Where the output goes does not matter: `> FILE`, `2>&1`, `>/dev/null`.
    fn skip_output(&mut self) {
        let is_digit = matches!(self.word.as_slice(), [('1' | '2', false)]);
        if is_digit {
            self.word.clear();
            self.has_word = false;
        }
        self.end_word();
        while self.letters.next_if(|(_, c)| matches!(c, '>' | '&')).is_some() {}
        while self.letters.next_if(|(_, c)| matches!(c, ' ' | '\t')).is_some() {}
        let start = self.letters.peek().map_or(self.line.len(), |(at, _)| *at);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '|' | ';' | '&' | '<' | '>');
        let end = self.line[start..].find(is_end).map_or(self.line.len(), |length| start + length);
        self.skip_to(end);
    }
}

/// A here-document as the shell hands it on.
fn expanded(content: &str) -> Result<String, CommandLineError> {
    let (mut text, mut letters) = (String::new(), content.char_indices().peekable());
    while let Some((at, c)) = letters.next() {
        let rest = &content[at..];
        match c {
            '\\' => match letters.next_if(|(_, c)| matches!(c, '\\' | '$' | '`' | '\n')) {
                Some((_, '\n')) => {}
                Some((_, escaped)) => text.push(escaped),
                None => text.push(c),
            },
            '`' => return Err(no_variables(rest)),
            '$' if is_variable(rest) => return Err(no_variables(rest)),
            c => text.push(c),
        }
    }
    Ok(text)
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

    fn words(line: &str) -> Result<Vec<String>, CommandLineError> {
        programs(line).map(|mut programs| programs.swap_remove(0).words)
    }

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
        check("cordon a && drain a", "&&", "a line of its own");
        check("cordon a; drain a", ";", "a line of its own");
        check("cordon a || drain a", "||", "a line of its own");
        check("apply -f <(cat x)", "<(", "file");
        check("apply -f - <<EOF\na: $B\nEOF", "$B", "what it stands for");
        assert!(programs("apply -f - <<EOF").is_err());
        assert!(programs("| cat").is_err());
    }

    #[test]
    fn programs_stand_between_pipes() {
        let check = |line: &str, expected: &[&[&str]]| {
            let found: Vec<Vec<String>> = programs(line).expect(line).into_iter().map(|p| p.words).collect();
            assert_eq!(found, expected, "{line}");
        };
        check("get pods|grep 'a|b' 2>/dev/null | wc -l", &[&["get", "pods"], &["grep", "a|b"], &["wc", "-l"]]);
        check("logs x 2>&1 |& tee log || true # whatever", &[&["logs", "x"], &["tee", "log"]]);
    }

    #[test]
    fn standard_input_is_a_document_a_text_or_a_file() {
        let check = |line: &str, expected: Source| {
            let programs = programs(line).expect(line);
            let found = programs.iter().find_map(|program| program.input.clone());
            assert_eq!(found, Some(expected), "{line}");
        };
        let text = |text: &str| Source::Text(text.to_owned());
        check("cat <<EOF | kubectl apply -f -\na: b\nEOF\n", text("a: b\n"));
        check("apply -f - <<'E O'\na: $B\nE O", text("a: $B\n"));
        check("apply -f - <<-EOF\n\ta: \\$B\n\tEOF\n# done", text("a: $B\n"));
        check("apply -f - >/dev/null <<EOF\na: b\nEOF", text("a: b\n"));
        check("apply -f - <<< 'a: b'", text("a: b\n"));
        check("apply -f - <x.yaml", Source::File("x.yaml".to_owned()));
    }
}
