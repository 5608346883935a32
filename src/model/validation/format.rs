//! Texts that must have a form: names, label keys and values, ports. Each function returns everything that is wrong; a good
//! text costs nothing.
//!
//! # Source
//!
//! API machinery, `api/validate/content` and `util/validation`.

use crate::model::selector::{is_dns_subdomain, is_label_value, is_qualified_name};

const LABEL_FORM: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const KEY_FORM: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character";

/// Longest name that is one part of a DNS name.
pub(super) const DNS_LABEL_LENGTH_MAX: usize = 63;

fn too_long(length_max: usize) -> String {
    format!("must be no more than {length_max} bytes")
}

/// Describes a form by its rule, examples and regular expression.
fn form(rule: &str, expression: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{expression}')", examples.join(" or "))
}

fn is_dns_label(text: &str) -> bool {
    text.len() <= DNS_LABEL_LENGTH_MAX && !text.contains('.') && is_dns_subdomain(text)
}

/// A part of a DNS name: `my-name`, `123-abc`.
pub(super) fn dns_label(text: &str) -> Vec<String> {
    if is_dns_label(text) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if text.len() > DNS_LABEL_LENGTH_MAX {
        problems.push(too_long(DNS_LABEL_LENGTH_MAX));
    }
    if has_dns_form(text) && text.contains('.') {
        problems.push("must not contain dots".to_owned());
    } else if !has_dns_form(text) {
        let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                    and end with an alphanumeric character";
        problems.push(form(rule, LABEL_FORM, &["my-name", "123-abc"]));
    }
    problems
}

/// A part of a DNS name as it was before names could begin with a digit: `my-name`, `abc-123`.
///
/// # Source
///
/// API machinery, `IsDNS1035Label`.
pub(super) fn old_dns_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > DNS_LABEL_LENGTH_MAX {
        problems.push(too_long(DNS_LABEL_LENGTH_MAX));
    }
    if !is_dns_label(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                    character, and end with an alphanumeric character";
        problems.push(form(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    problems
}

/// The key of a ConfigMap or a Secret, which becomes the name of a file.
///
/// # Source
///
/// API machinery, `IsConfigMapKey`.
pub(super) fn config_key(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(too_long(253));
    }
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        problems.push(form(rule, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    match text {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// Whether a text is a DNS name, be it too long.
fn has_dns_form(text: &str) -> bool {
    let is_label = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.split('.').all(is_label)
}

/// A DNS name: `example.com`.
pub(super) fn dns_subdomain(text: &str) -> Vec<String> {
    if is_dns_subdomain(text) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push(too_long(253));
    }
    if !has_dns_form(text) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                    must start and end with an alphanumeric character";
        problems.push(form(rule, &format!("{LABEL_FORM}(\\.{LABEL_FORM})*"), &["example.com"]));
    }
    problems
}

/// A name that something is appended to may end with a dash.
pub(super) fn prefix(text: &str, check: fn(&str) -> Vec<String>) -> Vec<String> {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => check(rest),
        _ => check(text),
    }
}

/// The key of a label: `MyName`, `example.com/MyName`.
pub(super) fn qualified_name(text: &str) -> Vec<String> {
    if is_qualified_name(text) {
        return Vec::new();
    }
    let described = || form(KEY_RULE, KEY_FORM, &["MyName", "my.name", "123-abc"]);
    let mut problems = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems.extend(dns_subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}")));
            }
            *name
        }
        _ => {
            let with_prefix = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {}{with_prefix}", described())];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > DNS_LABEL_LENGTH_MAX {
        problems.push(format!("name part {}", too_long(DNS_LABEL_LENGTH_MAX)));
    }
    if name.is_empty() || !has_key_form(name) {
        problems.push(format!("name part {}", described()));
    }
    problems
}

fn has_key_form(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// The value of a label.
pub(super) fn label_value(text: &str) -> Vec<String> {
    if is_label_value(text) {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if text.len() > DNS_LABEL_LENGTH_MAX {
        problems.push(too_long(DNS_LABEL_LENGTH_MAX));
    }
    if !has_key_form(text) {
        let rule =
            format!("a valid label must be an empty string or consist of {}", &KEY_RULE["must consist of ".len()..]);
        problems.push(form(&rule, &format!("({KEY_FORM})?"), &["MyValue", "my_value", "12345"]));
    }
    problems
}

/// A part of the path of a request.
pub(super) fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    let has = |part: &&str| text.contains(*part);
    ["/", "%"].iter().filter(|part| has(part)).map(|part| format!("may not contain '{part}'")).collect()
}

/// The name of a port.
pub(super) fn port_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 15 {
        problems.push(too_long(15));
    }
    let is_of_set = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if text.is_empty() || !text.bytes().all(is_of_set) {
        problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// The number of a port.
pub(super) fn port_number(port: i64) -> Option<&'static str> {
    (!(1..=65535).contains(&port)).then_some("must be between 1 and 65535, inclusive")
}

/// The name of an environment variable.
pub(super) fn variable_name(text: &str) -> Vec<String> {
    if text.chars().all(|character| character.is_ascii_graphic() && character != '=' || character == ' ') {
        return Vec::new();
    }
    vec!["a valid environment variable name must consist only of printable ASCII characters other than '='".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_is_wrong_with_a_text_is_told() {
        #[track_caller]
        fn check(problems: &[String], beginnings: &[&str]) {
            assert_eq!(problems.len(), beginnings.len(), "{problems:?}");
            assert!(problems.iter().zip(beginnings).all(|(text, start)| text.starts_with(start)), "{problems:?}");
        }
        let long = "a".repeat(64);
        check(&dns_label("my-name"), &[]);
        check(&dns_label("a.b"), &["must not contain dots"]);
        check(&dns_label("A_b"), &["a lowercase RFC 1123 label must consist"]);
        check(&dns_label(""), &["a lowercase RFC 1123 label must consist"]);
        check(&dns_label(&long), &["must be no more than 63 bytes"]);
        check(&dns_subdomain("example.com"), &[]);
        check(&dns_subdomain("-a"), &["a lowercase RFC 1123 subdomain must consist"]);
        check(&dns_subdomain(&"a.".repeat(200)), &["must be no more than 253 bytes", "a lowercase RFC 1123 subdomain"]);
        check(&qualified_name("example.com/MyName"), &[]);
        check(&qualified_name("/a"), &["prefix part must be non-empty"]);
        check(&qualified_name("a/"), &["name part must be non-empty", "name part must consist of"]);
        check(&qualified_name("a/b/c"), &["a valid label key must consist of"]);
        check(&qualified_name("-"), &["name part must consist of"]);
        check(&label_value("a b"), &["a valid label must be an empty string or consist of alphanumeric characters"]);
        check(&label_value(&long), &["must be no more than 63 bytes"]);
        check(&port_name("http"), &[]);
        check(&port_name("1--2"), &["must contain at least one letter", "must not contain consecutive hyphens"]);
        check(&port_name("a-very-long-port-name"), &["must be no more than 15 bytes"]);
        check(&prefix("web-", dns_subdomain), &[]);
        check(&prefix("-", dns_subdomain), &["a lowercase RFC 1123 subdomain"]);
        check(&variable_name("a.b-c"), &[]);
        check(&variable_name("a=b"), &["a valid environment variable name"]);
    }

    #[test]
    fn a_form_is_described_with_examples_and_its_expression() {
        assert_eq!(
            dns_label("A"),
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
              end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
              '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
    }
}
