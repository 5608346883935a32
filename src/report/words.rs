//! What rows say, in words: the table of `web/words.js`, from which stories on the terminal and on the page are made alike.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

const TEXT: &str = include_str!("../../web/words.js");

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let json = TEXT.split_once("WORDS =").and_then(|(_, rest)| rest.rsplit_once(';')).map_or("", |(json, _)| json);
    serde_json::from_str(json).expect("web/words.js holds JSON")
});

/// The words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Words {
    /// What ended a pod, as the beginning of a sentence, by the `deletion_cause` of pods.csv.
    pub(crate) deletions: BTreeMap<String, String>,
    /// What a taint does that a row has behind `+` or `-`.
    taint: BTreeMap<char, String>,
    /// Forms of rows, of which the first that fits says what a row says.
    pub(crate) forms: Vec<Form>,
}

/// A form of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    /// What stands behind the object, `{name}` for any text.
    pub(crate) row: String,
    /// What that says; nothing if it is empty. `{name}` is the text of the row, `{kind:name}` one that is told in another way.
    says: String,
    /// The same if the row tells nothing that was not so before.
    #[serde(default)]
    no_news: Option<String>,
}

/// A part of what a row says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told<'a> {
    /// Text as it is.
    Text(&'a str),
    /// A node, by its name.
    Node(&'a str),
    /// An object, by its kind and name.
    Object(&'a str),
    /// A cause of deletion.
    Deletion(&'a str),
    /// What the scheduler says stands in the way.
    Obstacle(&'a str),
}

impl Words {
    /// Those of `web/words.js`.
    pub(crate) fn of_all() -> &'static Self {
        &WORDS
    }

    /// Changes of taints in words.
    pub(crate) fn taints(&self, rest: &str) -> Option<String> {
        if !rest.starts_with(['+', '-']) {
            return None;
        }
        let told = rest.split(' ').filter_map(|word| {
            let sign = word.chars().next()?;
            Some(format!("{} {}", self.taint.get(&sign)?, &word[1..]))
        });
        Some(told.collect::<Vec<_>>().join(", "))
    }

    /// The first form that fits what stands behind the object of a row.
    pub(crate) fn form<'a>(&'a self, rest: &'a str) -> Option<Fitting<'a>> {
        self.forms.iter().find_map(|form| Some(Fitting { form, texts: texts(&form.row, rest)? }))
    }
}

/// A form with the texts of a row.
#[derive(Debug)]
pub(crate) struct Fitting<'a> {
    form: &'a Form,
    texts: Vec<(&'a str, &'a str)>,
}

impl<'a> Fitting<'a> {
    /// Whether it is that form.
    #[cfg(test)]
    pub(crate) fn is_of(&self, form: &Form) -> bool {
        std::ptr::eq(self.form, form)
    }

    /// Whether it matters what was so before.
    pub(crate) fn asks_for_news(&self) -> bool {
        self.form.no_news.is_some()
    }

    /// What the row says.
    pub(crate) fn says(&self, is_news: bool) -> Vec<Told<'a>> {
        let template = self.form.no_news.as_deref().filter(|_| !is_news).unwrap_or(&self.form.says);
        let mut told = Vec::new();
        for (text, name) in pieces(template) {
            told.extend((!text.is_empty()).then_some(Told::Text(text)));
            let Some(name) = name else { continue };
            let (kind, name) = name.rsplit_once([':', '/']).map_or(("", name), |(kind, name)| (kind, name));
            let text = self.texts.iter().find(|(of, _)| *of == name).map_or("", |(_, text)| text);
            told.push(match kind {
                "object:node" => Told::Node(text),
                "key" => Told::Object(text),
                "deletion" => Told::Deletion(text),
                "obstacle" => Told::Obstacle(text),
                _ => Told::Text(text),
            });
        }
        told
    }
}

/// A template as pairs of what stands as it is and the name behind it.
fn pieces(template: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    template.split_inclusive('}').map(|piece| match piece.strip_suffix('}').and_then(|piece| piece.split_once('{')) {
        Some((text, name)) => (text, Some(name)),
        None => (piece, None),
    })
}

/// The texts that stand for the names of a pattern, each as short as what follows allows; none if the text has another form.
fn texts<'a>(pattern: &'a str, text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let pieces: Vec<(&str, Option<&str>)> = pieces(pattern).collect();
    let mut rest = text;
    let mut open: Option<&str> = None;
    let mut found = Vec::new();
    for (index, (literal, name)) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len() && name.is_none();
        let at = match open {
            None => rest.starts_with(literal).then_some(0),
            Some(_) if is_last => rest.len().checked_sub(literal.len()).filter(|_| rest.ends_with(literal)),
            Some(_) => rest.find(literal),
        }?;
        if let Some(name) = open {
            found.push((name, &rest[..at]));
        }
        rest = &rest[at + literal.len()..];
        open = *name;
    }
    match open {
        Some(name) => found.push((name, rest)),
        None if rest.is_empty() => {}
        None => return None,
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_form_of_the_first_pattern_that_fits_it_whole() {
        assert_eq!(texts("gone", "gone"), Some(Vec::new()));
        assert_eq!(texts("gone", "gone again"), None);
        assert_eq!(texts("bound to {node}", "bound to n-1"), Some(vec![("node", "n-1")]));
        assert_eq!(texts("x ({a}): {b}", "x (1): 2 (3): 4"), Some(vec![("a", "1"), ("b", "2 (3): 4")]));
        assert_eq!(texts("w: {a} ({b})", "w: Err (img:1 (x))"), Some(vec![("a", "Err"), ("b", "img:1 (x)")]));
        assert_eq!(texts("w: {a} ({b})", "w: Err"), None);
    }

    #[test]
    fn every_form_and_every_name_in_it_can_be_told() {
        for form in &Words::of_all().forms {
            let row = form.row.replace(['{', '}'], "");
            let fitting = Words::of_all().form(&row).expect("its own form, or one before it");
            assert_eq!(fitting.form.row, form.row, "an earlier form hides this one");
            for is_news in [true, false] {
                let said = fitting.says(is_news);
                let is_told = |told: &Told<'_>| !matches!(told, Told::Text(text) | Told::Node(text) | Told::Deletion(text) | Told::Obstacle(text) if text.is_empty());
                assert!(said.iter().all(is_told), "{said:?}");
            }
        }
    }
}
