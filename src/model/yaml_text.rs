//! Values as YAML text that everybody can read, and that reads back as the same values.

use std::fmt::Write as _;

use serde_json::Value;

/// One document.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

/// Documents, each behind its marker.
pub(crate) fn documents(values: impl Iterator<Item = Value>) -> String {
    let mut text = String::new();
    for value in values {
        text.push_str("---\n");
        block(&mut text, &value, 0);
    }
    text
}

/// Writes a value in lines of its own, at a depth of indentation.
fn block(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                push_indent(text, indent);
                text.push_str(&scalar(key));
                text.push(':');
                // Lists begin at the column of their key, as kubectl writes them.
                behind_key(text, value, if value.is_array() { indent } else { indent + 2 });
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                push_indent(text, indent);
                text.push('-');
                let start = text.len();
                block_or_inline(text, item, indent + 2);
                if is_block(item) {
                    // The first line of the item stands behind the dash.
                    text.replace_range(start..start + indent + 2, " ");
                }
            }
        }
        other => {
            push_indent(text, indent);
            text.push_str(&inline(other));
            text.push('\n');
        }
    }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn behind_key(text: &mut String, value: &Value, indent: usize) {
    if is_block(value) {
        text.push('\n');
        block(text, value, indent);
    } else if let Value::String(content) = value
        && is_text_block(content)
    {
        text.push_str(" |\n");
        for line in content.lines() {
            push_indent(text, indent);
            text.push_str(line);
            text.push('\n');
        }
    } else {
        block_or_inline(text, value, indent);
    }
}

fn block_or_inline(text: &mut String, value: &Value, indent: usize) {
    if is_block(value) {
        block(text, value, indent);
    } else {
        let _ = writeln!(text, " {}", inline(value));
    }
}

fn push_indent(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// Whether a text can be written line by line and read back as it was.
fn is_text_block(content: &str) -> bool {
    let is_plain = |line: &str| {
        !line.trim().is_empty() && !line.ends_with(char::is_whitespace) && !line.chars().any(char::is_control)
    };
    content.ends_with('\n')
        && content.lines().count() > 1
        && content.split_terminator('\n').all(is_plain)
        && !content.starts_with([' ', '\t'])
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// A text, quoted unless every reader takes it for the text it is.
fn scalar(text: &str) -> String {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(is_safe)
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null" | "nan" | "inf"
        );
    // What JSON need not escape and YAML does not allow.
    if is_word { text.to_owned() } else { Value::from(text).to_string().replace('\u{7f}', "\\u007f") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_reads_back_as_the_same_value() {
        #[track_caller]
        fn check(value: &Value, expected: &str) {
            let text = document(value);
            assert_eq!(text, expected);
            let options = crate::model::yaml::options(&text);
            let read: Value = serde_saphyr::from_str_with_options(&text, options).unwrap();
            assert_eq!(read, *value);
        }
        check(&json!({"a": {"b": [1, 2.5, "x"], "c": []}}), "a:\n  b:\n  - 1\n  - 2.5\n  - x\n  c: []\n");
        check(&json!({"l": [{"p": 1, "q": [[1], {}]}]}), "l:\n- p: 1\n  q:\n  - - 1\n  - {}\n");
        check(&json!({"yes": "no", "5": "5s", "e": ""}), "\"5\": \"5s\"\ne: \"\"\n\"yes\": \"no\"\n");
        check(&json!({"t": "a: 1\nb: 2\n"}), "t: |\n  a: 1\n  b: 2\n");
        check(&json!({"t": "a\n\nb"}), "t: \"a\\n\\nb\"\n");
        check(&json!([[{"a": true}]]), "- - a: true\n");
        check(&json!({"t": "a\u{7f}b"}), "t: \"a\\u007fb\"\n");
        check(&json!({"k\u{7f}": 1}), "\"k\\u007f\": 1\n");
    }
}
