//! The kinds of faults and their fields as `docs/scenario.md` lists them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{FaultKind, Field};

/// What stands around the part of the document that is made here.
const MARKS: [&str; 2] = ["<!-- faults: made from the code -->\n", "<!-- end of faults -->"];

fn reference() -> String {
    let mut text = String::from("| kind | what it does | its fields |\n|---|---|---|\n");
    let mut meanings: Vec<(Field, Vec<FaultKind>)> = Vec::new();
    for kind in FaultKind::ALL.iter().copied() {
        let fields = kind.fields();
        let names = fields.iter().map(|field| match field.needed {
            Some(_) => format!("**`{}`**", field.name),
            None => format!("`{}`", field.name),
        });
        let names: Vec<String> = names.collect();
        let _ = writeln!(text, "| `{}` | {} | {} |", kind.as_str(), kind.about(), names.join(", "));
        for field in fields {
            match meanings.iter_mut().find(|(other, _)| (other.name, other.about) == (field.name, field.about)) {
                Some((_, kinds)) => kinds.push(kind),
                None => meanings.push((field, vec![kind])),
            }
        }
    }
    text.push_str("\nFields in bold are needed; a random process may do without `nodes`, and has `timeToRepair` in place of `for`.\n\n| field | what it says | of which kinds |\n|---|---|---|\n");
    for (field, kinds) in meanings {
        let all = kinds.len() > 4;
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{}`", kind.as_str())).collect();
        let kinds = if all { "see above".to_owned() } else { kinds.join(", ") };
        let _ = writeln!(text, "| `{}` | {} | {kinds} |", field.name, field.about.trim());
    }
    text.push_str("\nWhere they differ from reality:\n\n");
    let mut differences: Vec<(&str, Vec<String>)> = Vec::new();
    for kind in FaultKind::ALL.iter().filter(|kind| !kind.differs().is_empty()) {
        let name = format!("`{}`", kind.as_str());
        match differences.iter_mut().find(|(text, _)| *text == kind.differs()) {
            Some((_, names)) => names.push(name),
            None => differences.push((kind.differs(), vec![name])),
        }
    }
    for (difference, kinds) in differences {
        let _ = writeln!(text, "- {}: {difference}.", kinds.join(", "));
    }
    text
}

#[test]
fn the_faults_of_the_docs_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenario.md");
    let document = fs::read_to_string(&path).expect("the document");
    let (before, rest) = document.split_once(MARKS[0]).expect("where the kinds of faults begin");
    let (found, after) = rest.split_once(MARKS[1]).expect("where they end");
    let expected = reference();
    #[expect(clippy::disallowed_methods, reason = "how the document is rewritten")]
    let is_update = std::env::var_os("UPDATE").is_some();
    if is_update {
        fs::write(&path, format!("{before}{}{expected}{}{after}", MARKS[0], MARKS[1])).expect("the document");
        return;
    }
    assert_eq!(found, expected, "`UPDATE=1` rewrites docs/scenario.md");
}
