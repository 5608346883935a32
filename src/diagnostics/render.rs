//! Drawing diagnostics: for the terminal, and as JSON.

use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Diagnostics, Label, Location, Severity, Sources};

/// Whether to use the terminal's colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone.
    Plain,
    /// With ANSI escapes.
    Colored,
}

impl Diagnostic {
    /// Draws the problem with the lines it is about, and a line break at the end.
    #[must_use]
    pub fn render(&self, sources: &Sources, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Colored => Renderer::styled(),
        };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(&self.message).id(self.code));
        for excerpt in excerpts(&self.labels, sources) {
            group = match excerpt {
                Excerpt::Lines { file, text, first_line, marks } => group.element(
                    Snippet::source(text).path(file).line_start(first_line).annotations(
                        marks
                            .into_iter()
                            .map(|(span, label, kind)| kind.span(span).label((!label.is_empty()).then_some(label))),
                    ),
                ),
                Excerpt::Place(location) => group.element(origin(location)),
            };
        }
        for help in &self.help {
            group = group.element(Level::HELP.message(help));
        }
        let mut drawn = renderer.decor_style(DecorStyle::Ascii).render(&[group]);
        drawn = without_spacers(&drawn);
        drawn.push('\n');
        drawn
    }
}

/// Warnings alike of which only the first is drawn; fewer are drawn one by one.
const ALIKE_MIN: usize = 3;

impl Diagnostics {
    /// Draws the problems in their order, the first `max_count` of them, and says how many more there are. Of warnings that
    /// say the same about different objects only the first is drawn, with the number of the others.
    #[must_use]
    pub fn render(&self, sources: &Sources, style: Style, max_count: usize) -> String {
        let mut alike: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for diagnostic in self.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning) {
            *alike.entry(shape(diagnostic)).or_default() += 1;
        }
        let mut text = String::new();
        let (mut drawn_count, mut left_out) = (0, 0);
        for diagnostic in self {
            let mut others = 0;
            if diagnostic.severity == Severity::Warning
                && let Some(count) = alike.get_mut(&shape(diagnostic))
            {
                match *count {
                    0 => continue,
                    count if count < ALIKE_MIN => {}
                    _ => others = std::mem::take(count) - 1,
                }
            }
            if drawn_count == max_count {
                left_out += 1 + others;
                continue;
            }
            drawn_count += 1;
            if others > 0 {
                let grouped = diagnostic.clone().help(format!("and {others} more like it"));
                text.push_str(&grouped.render(sources, style));
            } else {
                text.push_str(&diagnostic.render(sources, style));
            }
            text.push('\n');
        }
        if left_out > 0 {
            text.push_str(&format!("and {left_out} more\n"));
        }
        text
    }

    /// The problems as a JSON array of objects, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("diagnostics are text and numbers, which JSON can hold")
    }
}

/// What warnings about different objects have in common: the message without names and numbers.
fn shape(diagnostic: &Diagnostic) -> (&'static str, String) {
    let is_name =
        |word: &&str| word.starts_with('`') || word.contains(['/', '.']) || word.bytes().any(|b| b.is_ascii_digit());
    let words = diagnostic.message.split_whitespace().filter(|word| !is_name(word));
    (diagnostic.code, words.collect::<Vec<_>>().join(" "))
}

/// What is shown of one source.
enum Excerpt<'a> {
    /// Lines of the text, with marks as byte ranges in them.
    Lines { file: &'a str, text: &'a str, first_line: usize, marks: Vec<(Range<usize>, &'a str, AnnotationKind)> },
    /// Only where it is, as the text is unknown or has no such line.
    Place(&'a Location),
}

/// One excerpt per file, from the first line that has a label to the last, in the order of the files' first labels.
fn excerpts<'a>(labels: &'a [Label], sources: &'a Sources) -> Vec<Excerpt<'a>> {
    let mut files: Vec<&str> = Vec::new();
    for label in labels {
        if !files.contains(&&*label.location.file) {
            files.push(&label.location.file);
        }
    }
    let mut excerpts = Vec::new();
    for file in files {
        let here: Vec<&Label> = labels.iter().filter(|label| &*label.location.file == file).collect();
        let text = sources.text(file).map_or("", |text| text);
        let known: Vec<&Label> =
            here.iter().copied().filter(|label| line_range(text, label.location.line).is_some()).collect();
        let (Some(first), Some(last)) =
            (known.iter().map(|label| label.location.line).min(), known.iter().map(|label| label.location.line).max())
        else {
            excerpts.extend(here.iter().map(|label| Excerpt::Place(&label.location)));
            continue;
        };
        let lines = [first, last].map(|line| line_range(text, line).expect("the line was found above"));
        let window = lines[0].start..lines[1].end;
        let marks = known.iter().map(|label| {
            let is_own = std::ptr::eq(*label, &raw const labels[0]);
            let kind = if is_own { AnnotationKind::Primary } else { AnnotationKind::Context };
            (mark(text, &label.location, window.start), label.text.as_str(), kind)
        });
        let marks = marks.collect();
        excerpts.push(Excerpt::Lines { file, text: &text[window], first_line: first as usize, marks });
    }
    excerpts
}

/// Where a line stands in a text, without its end.
fn line_range(text: &str, line: u32) -> Option<Range<usize>> {
    let mut start = 0;
    for _ in 1..line {
        start += text[start..].find('\n')? + 1;
    }
    // A text that ends with a line break has no line behind it, unless it is the end that is meant.
    if line == 0 || (start == text.len() && line > 1 && !text.ends_with('\n')) || text.is_empty() {
        return None;
    }
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    Some(start..end - usize::from(text[start..end].ends_with('\r')))
}

/// The bytes a place covers, from the start of the excerpt.
fn mark(text: &str, location: &Location, excerpt_start: usize) -> Range<usize> {
    let range = line_range(text, location.line).expect("only places in the text are marked");
    let line = &text[range.clone()];
    let byte_of = |count: usize| line.char_indices().nth(count).map_or(line.len(), |(byte, _)| byte);
    let column = (location.column as usize).saturating_sub(1);
    let start = byte_of(column);
    let end = byte_of(column + location.length.max(1) as usize);
    range.start + start - excerpt_start..range.start + end - excerpt_start
}

fn origin(location: &Location) -> Origin<'_> {
    let origin = Origin::path(&*location.file);
    if location.is_whole_file() {
        return origin;
    }
    origin.line(location.line as usize).char_column((location.column as usize).max(1))
}

/// Leaves out the empty lines that the drawing library puts between an excerpt and the help below it.
fn without_spacers(drawn: &str) -> String {
    let lines: Vec<&str> = drawn.lines().collect();
    let kept = lines.iter().enumerate().filter(|(index, line)| {
        let is_spacer = plain(line).trim() == "|";
        let help_follows = lines.get(index + 1).is_some_and(|next| plain(next).trim_start().starts_with("= "));
        !(is_spacer && help_follows)
    });
    kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}

/// A line without its escape sequences.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_alike_are_drawn_once() {
        let warning = |message: &str| Diagnostic::warning("a::b", message);
        let check = |messages: &[&str], expected: &[&str]| {
            let diagnostics: Diagnostics = messages.iter().map(|message| warning(message)).collect();
            let drawn = diagnostics.render(&Sources::new(), Style::Plain, 2);
            let lines: Vec<&str> = drawn.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines, expected);
        };
        let first = "warning[a::b]: Pod x/a-1 is on `n1`, gone";
        let pods = ["Pod x/a-1 is on `n1`, gone", "Pod x/b-2 is on `n2`, gone", "Pod y/c is on `n1`, gone"];
        check(&pods, &[first, " = help: and 2 more like it"]);
        check(&pods[..2], &[first, "warning[a::b]: Pod x/b-2 is on `n2`, gone"]);
        let errors: Diagnostics = pods.iter().map(|message| Diagnostic::error("a::b", *message)).collect();
        assert_eq!(
            errors.render(&Sources::new(), Style::Plain, 9).matches("error[").count(),
            3,
            "each has to be mended"
        );
    }
    use crate::diagnostics::Source;

    fn manifest() -> Sources {
        let mut text = "\n".repeat(39);
        text.push_str("          key: \"a\"\n          tolerationSecond: 60\n          last: ä€x\n");
        [Source::new("apps/frontend.yaml", text)].into_iter().collect()
    }

    fn unknown_field() -> Diagnostic {
        Diagnostic::error("scenario::unknown_field", "`tolerationSecond` is not a field of Toleration")
            .at(Location::new("apps/frontend.yaml", 41, 11, 16), "unknown field")
            .help("the nearest field is `tolerationSeconds`")
    }

    #[test]
    fn a_problem_shows_its_line_a_caret_and_help() {
        let expected = "\
error[scenario::unknown_field]: `tolerationSecond` is not a field of Toleration
  --> apps/frontend.yaml:41:11
   |
41 |           tolerationSecond: 60
   |           ^^^^^^^^^^^^^^^^ unknown field
   = help: the nearest field is `tolerationSeconds`
";
        assert_eq!(unknown_field().render(&manifest(), Style::Plain), expected);
    }

    #[test]
    fn colors_change_no_text() {
        let colored = unknown_field().render(&manifest(), Style::Colored);
        assert!(colored.contains("\u{1b}["));
        assert_eq!(plain(&colored), unknown_field().render(&manifest(), Style::Plain));
    }

    #[test]
    fn two_places_are_both_shown() {
        let diagnostic = Diagnostic::warning("a::b", "two")
            .at(Location::new("apps/frontend.yaml", 42, 17, 9), "here")
            .at(Location::new("apps/frontend.yaml", 40, 11, 3), "");
        let expected = "\
warning[a::b]: two
  --> apps/frontend.yaml:42:17
   |
40 |           key: \"a\"
   |           ---
41 |           tolerationSecond: 60
42 |           last: ä€x
   |                 ^^^ here
";
        assert_eq!(diagnostic.render(&manifest(), Style::Plain), expected);
    }

    #[test]
    fn places_without_text_are_named() {
        let check = |location: Location, expected: &str| {
            let drawn =
                Diagnostic::error("a::b", "wrong").at(location, "x").help("do").render(&manifest(), Style::Plain);
            assert_eq!(drawn, expected);
        };
        check(Location::new("other.yaml", 3, 4, 1), "error[a::b]: wrong\n--> other.yaml:3:4\n = help: do\n");
        check(Location::file("apps/frontend.yaml"), "error[a::b]: wrong\n--> apps/frontend.yaml\n = help: do\n");
        check(
            Location::new("apps/frontend.yaml", 99, 4, 1),
            "error[a::b]: wrong\n--> apps/frontend.yaml:99:4\n = help: do\n",
        );
    }

    #[test]
    fn a_problem_without_a_place_is_its_message() {
        assert_eq!(Diagnostic::error("a::b", "wrong").render(&manifest(), Style::Plain), "error[a::b]: wrong\n");
    }

    #[test]
    fn long_lists_are_cut() {
        let diagnostics: Diagnostics = (0..5).map(|i| Diagnostic::error("a::b", format!("wrong {i}"))).collect();
        let expected = "error[a::b]: wrong 0\n\nerror[a::b]: wrong 1\n\nand 3 more\n";
        assert_eq!(diagnostics.render(&Sources::new(), Style::Plain, 2), expected);
    }

    #[test]
    fn json_has_every_part() {
        let expected = r#"[{"code":"scenario::unknown_field","severity":"error","message":"`tolerationSecond` is not a field of Toleration","labels":[{"location":{"file":"apps/frontend.yaml","line":41,"column":11,"length":16},"text":"unknown field"}],"help":["the nearest field is `tolerationSeconds`"]}]"#;
        assert_eq!(Diagnostics::from(unknown_field()).to_json(), expected);
    }
}
