//! The documents as a book: all of them are in its table of contents, and what they link to is there, in the book as in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

mod reference;

const TABLE_OF_CONTENTS: &str = "docs/SUMMARY.md";

/// The documents of the book, from the root of the repository, without the table of contents.
fn documents() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir("docs").expect("the documents");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "md") && path != Path::new(TABLE_OF_CONTENTS))
        .collect()
}

/// What a document links to, pictures included, and what can be linked to within it.
struct Ends {
    targets: Vec<String>,
    anchors: BTreeSet<String>,
}

/// The name by which a heading is linked to, as GitHub and mdBook give it.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        letter if letter.is_whitespace() => Some('-'),
        letter => (letter.is_alphanumeric() || "-_".contains(letter)).then_some(letter),
    });
    letters.collect::<String>().to_lowercase()
}

/// The value of `id="…"` of a piece of HTML.
fn id_of(html: &str) -> Option<String> {
    let (_, behind) = html.split_once("id=\"")?;
    Some(behind.split_once('"')?.0.to_owned())
}

fn ends(text: &str) -> Ends {
    let mut ends = Ends { targets: Vec::new(), anchors: BTreeSet::new() };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                ends.targets.push(dest_url.into_string())
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::InlineHtml(html) | Event::Html(html) => ends.anchors.extend(id_of(&html)),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let count = counts.entry(name.clone()).or_default();
                ends.anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
                *count += 1;
            }
            _ => {}
        }
    }
    ends
}

fn ends_of(path: &Path) -> Ends {
    ends(&fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A path without `.` and `..`, or nothing if it leads out of the repository.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.iter().collect())
}

/// What is wrong with a link of a document, if anything is.
fn broken(document: &Path, target: &str) -> Option<String> {
    if ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
        return None;
    }
    let (path, fragment) = target.split_once('#').map_or((target, None), |(path, name)| (path, Some(name)));
    let is_elsewhere = !path.is_empty();
    let file = if is_elsewhere {
        plain(&document.parent().expect("a directory").join(path))
    } else {
        Some(document.to_owned())
    };
    let Some(file) = file else { return Some("leads out of the repository".to_owned()) };
    if !file.exists() {
        return Some("is not there".to_owned());
    }
    let is_text = file.extension().is_some_and(|end| end == "md");
    if document.starts_with("docs") && !file.starts_with("docs") && is_text {
        return Some(
            "is a text outside of the book, of which the book would make .html: link to its directory".to_owned(),
        );
    }
    let name = fragment?;
    if !is_text {
        return Some("names a place in what has none".to_owned());
    }
    (!ends_of(&file).anchors.contains(name)).then(|| format!("names a place that {} has not", file.display()))
}

#[test]
fn the_table_of_contents_has_every_document_once() {
    let listed: Vec<PathBuf> =
        ends_of(Path::new(TABLE_OF_CONTENTS)).targets.iter().map(|target| Path::new("docs").join(target)).collect();
    let unique: BTreeSet<PathBuf> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "a document stands twice in {TABLE_OF_CONTENTS}");
    assert_eq!(unique, documents(), "of {TABLE_OF_CONTENTS}, and of docs/");
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from);
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents().into_iter().chain(others) {
        for target in ends_of(&document).targets {
            count += 1;
            wrong.extend(broken(&document, &target).map(|why| format!("{}: {target} {why}", document.display())));
        }
    }
    assert!(count > 300, "{count} links");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_is_broken_is_found() {
    let text = "# A *b* `c.d[]`\n\n## Twice\n\n## Twice\n\n<a id=\"here\"></a>[x](y.md#z) `[no](link)`\n\n```sh\n[no](link)\n```\n\n| a |\n|---|\n| [in a table](#twice-1) |\n";
    let ends = ends(text);
    assert_eq!(ends.targets, ["y.md#z", "#twice-1"]);
    assert_eq!(ends.anchors.iter().map(String::as_str).collect::<Vec<_>>(), ["a-b-cd", "here", "twice", "twice-1"]);
    let document = Path::new("docs/scenario.md");
    for target in
        ["faults.md#measured-failures", "#latency", "../schemas", "https://example.com/#x", "images/report.png"]
    {
        assert_eq!(broken(document, target), None, "{target}");
    }
    for target in ["fault.md", "faults.md#measured", "#latencie", "../README.md", "../../x", "../schemas#x"] {
        assert!(broken(document, target).is_some(), "{target}");
    }
}
