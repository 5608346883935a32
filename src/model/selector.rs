//! Label selectors and node selectors.

use std::fmt::{Display, Formatter};

use super::api_type::{api_enums, api_structs};
use super::meta::Labels;
use crate::arena::Symbol;

api_structs! {
    /// A label selector. An empty one matches everything; what an *absent* one means differs per field, so fields hold
    /// an `Option`.
    #[derive(Eq, Hash)]
    pub struct LabelSelector {
        pub match_labels: Labels,
        pub match_expressions: Vec<LabelSelectorRequirement>,
    }

    /// One expression of a label selector.
    #[derive(Eq, Hash)]
    pub struct LabelSelectorRequirement {
        pub key: Symbol,
        pub operator: LabelSelectorOperator,
        pub values: Vec<Symbol>,
    }

    /// Alternatives of which a node must meet one.
    #[derive(Eq)]
    pub struct NodeSelector {
        pub node_selector_terms: Vec<NodeSelectorTerm>,
    }

    /// Requirements that a node must meet together. A term without any matches no node.
    #[derive(Eq)]
    pub struct NodeSelectorTerm {
        pub match_expressions: Vec<NodeSelectorRequirement>,
        pub match_fields: Vec<NodeSelectorRequirement>,
    }

    /// One requirement on a node's labels or fields.
    #[derive(Eq)]
    pub struct NodeSelectorRequirement {
        pub key: Symbol,
        pub operator: NodeSelectorOperator,
        pub values: Vec<Symbol>,
    }
}

api_enums! {
    /// Operators of label selectors.
    pub enum LabelSelectorOperator or In {
        In = "In",
        NotIn = "NotIn",
        Exists = "Exists",
        DoesNotExist = "DoesNotExist",
    }

    /// Operators of node selectors.
    pub enum NodeSelectorOperator or In {
        In = "In",
        NotIn = "NotIn",
        Exists = "Exists",
        DoesNotExist = "DoesNotExist",
        Gt = "Gt",
        Lt = "Lt",
    }
}

impl LabelSelector {
    /// The selector that wants exactly these labels, among others.
    #[must_use]
    pub fn from_labels(labels: &Labels) -> Self {
        Self { match_labels: labels.clone(), match_expressions: Vec::new() }
    }

    /// Whether an object with these labels is selected. A selector without any requirement selects all.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether the selector has no requirement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Why the API server refuses an object with this selector, in words.
    ///
    /// # Errors
    ///
    /// A key or value that no label can have, or an operator with too few or too many values.
    pub fn check(&self) -> Result<(), String> {
        let check_key = |key: Symbol| {
            if is_qualified_name(key.as_str()) { Ok(()) } else { Err(format!("`{key}` is no label key")) }
        };
        let check_value = |value: Symbol| {
            if is_label_value(value.as_str()) { Ok(()) } else { Err(format!("`{value}` is no label value")) }
        };
        for (key, value) in self.match_labels.iter() {
            check_key(key)?;
            check_value(value)?;
        }
        for requirement in &self.match_expressions {
            let (key, operator) = (requirement.key, requirement.operator);
            check_key(key)?;
            requirement.values.iter().try_for_each(|value| check_value(*value))?;
            let wants_values = matches!(operator, LabelSelectorOperator::In | LabelSelectorOperator::NotIn);
            match (wants_values, requirement.values.is_empty()) {
                (true, true) => return Err(format!("`{key}` is to be `{operator}` no values at all")),
                (false, false) => return Err(format!("`{key}` with `{operator}` takes no values")),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads what kubectl takes after `-l`: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by
    /// commas. Blanks around words mean nothing. The empty text selects all.
    ///
    /// # Errors
    ///
    /// What is wrong, in words. `>` and `<` exist for node selectors only and are refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use kubesquall::model::LabelSelector;
    ///
    /// let selector = LabelSelector::parse("app in (web,api),!canary")?;
    /// assert_eq!(selector.match_expressions.len(), 2);
    /// assert!(LabelSelector::parse("app in web").is_err());
    /// # Ok::<(), kubesquall::model::SelectorError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut selector = Self::default();
        if text.trim().is_empty() {
            return Ok(selector);
        }
        for part in split_outside_parentheses(text) {
            let requirement = parse_requirement(part.trim())?;
            let is_equality = requirement.operator == LabelSelectorOperator::In
                && requirement.values.len() == 1
                && !selector.match_labels.contains(requirement.key);
            if is_equality {
                selector.match_labels = selector.match_labels.with(requirement.key, requirement.values[0]);
            } else {
                selector.match_expressions.push(requirement);
            }
        }
        Ok(selector)
    }
}

/// As requests and messages of the API write it: `app=web,tier in (a,b),!canary`, by key.
///
/// # Source
/// API machinery, `LabelSelectorAsSelector` and the selector's `String`.
impl Display for LabelSelector {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let labels = self.match_labels.iter().map(|(key, value)| (key, format!("{key}={value}")));
        let expressions = self.match_expressions.iter().map(|requirement| (requirement.key, requirement.to_string()));
        let mut all: Vec<(Symbol, String)> = labels.chain(expressions).collect();
        all.sort_by_key(|(key, _)| *key);
        let texts: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
        f.write_str(&texts.join(","))
    }
}

impl Display for LabelSelectorRequirement {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut values: Vec<&str> = self.values.iter().map(|value| value.as_str()).collect();
        values.sort_unstable();
        let (key, values) = (self.key, values.join(","));
        match self.operator {
            LabelSelectorOperator::In => write!(f, "{key} in ({values})"),
            LabelSelectorOperator::NotIn => write!(f, "{key} notin ({values})"),
            LabelSelectorOperator::Exists => write!(f, "{key}"),
            LabelSelectorOperator::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

impl LabelSelectorRequirement {
    /// Whether these labels meet the requirement. A missing label meets `NotIn` and `DoesNotExist`.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(self.key);
        match self.operator {
            LabelSelectorOperator::In => value.is_some_and(|value| self.values.contains(&value)),
            LabelSelectorOperator::NotIn => value.is_none_or(|value| !self.values.contains(&value)),
            LabelSelectorOperator::Exists => value.is_some(),
            LabelSelectorOperator::DoesNotExist => value.is_none(),
        }
    }
}

impl NodeSelector {
    /// Whether a node meets one of the terms. Terms that cannot be understood meet nothing; without a usable term
    /// nothing matches.
    #[must_use]
    pub fn matches(&self, labels: &Labels, node_name: Symbol) -> bool {
        self.node_selector_terms.iter().any(|term| term.matches(labels, node_name) == Ok(true))
    }
}

impl NodeSelectorTerm {
    /// Whether the term has no requirement, and therefore matches nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_expressions.is_empty() && self.match_fields.is_empty()
    }

    /// Whether a node meets all requirements of the term.
    ///
    /// # Errors
    ///
    /// The first requirement that cannot be understood; see [`NodeSelectorTerm::check`].
    ///
    /// # Source
    ///
    /// Scheduler, `NodeAffinity`.
    pub fn matches(&self, labels: &Labels, node_name: Symbol) -> Result<bool, TermError> {
        self.check()?;
        Ok(self.holds(labels, node_name))
    }

    /// Whether a node meets all requirements, for a term that is known to pass [`NodeSelectorTerm::check`].
    #[must_use]
    pub fn holds(&self, labels: &Labels, node_name: Symbol) -> bool {
        !self.is_empty()
            && self.match_expressions.iter().all(|requirement| requirement.holds(labels.get(requirement.key)))
            && self.match_fields.iter().all(|requirement| requirement.holds(Some(node_name)))
    }

    /// Whether every requirement can be understood.
    ///
    /// # Errors
    ///
    /// A key or value that no label can have, a wrong number of values, a comparison with something else than an
    /// integer, or a field other than `metadata.name` with `In` or `NotIn` and one value.
    pub fn check(&self) -> Result<(), TermError> {
        for requirement in &self.match_expressions {
            requirement.check_expression()?;
        }
        for requirement in &self.match_fields {
            requirement.check_field()?;
        }
        Ok(())
    }
}

impl NodeSelectorRequirement {
    fn holds(&self, value: Option<Symbol>) -> bool {
        match self.operator {
            NodeSelectorOperator::In => value.is_some_and(|value| self.values.contains(&value)),
            NodeSelectorOperator::NotIn => value.is_none_or(|value| !self.values.contains(&value)),
            NodeSelectorOperator::Exists => value.is_some(),
            NodeSelectorOperator::DoesNotExist => value.is_none(),
            NodeSelectorOperator::Gt => self.compare(value).is_some_and(std::cmp::Ordering::is_gt),
            NodeSelectorOperator::Lt => self.compare(value).is_some_and(std::cmp::Ordering::is_lt),
        }
    }

    /// How the label's number stands to the requirement's; nothing if one of them is no 64-bit decimal integer.
    fn compare(&self, value: Option<Symbol>) -> Option<std::cmp::Ordering> {
        let label: i64 = value?.as_str().parse().ok()?;
        let bound: i64 = self.values.first()?.as_str().parse().ok()?;
        Some(label.cmp(&bound))
    }

    fn check_expression(&self) -> Result<(), TermError> {
        let fail =
            |reason: &str| Err(TermError { text: format!("`{}` {}: {reason}", self.key.as_str(), self.operator) });
        if !is_qualified_name(self.key.as_str()) {
            return fail("the key is not a label key");
        }
        match self.operator {
            NodeSelectorOperator::In | NodeSelectorOperator::NotIn if self.values.is_empty() => {
                return fail("at least one value is needed");
            }
            NodeSelectorOperator::Exists | NodeSelectorOperator::DoesNotExist if !self.values.is_empty() => {
                return fail("no value may be given");
            }
            NodeSelectorOperator::Gt | NodeSelectorOperator::Lt
                if self.values.len() != 1 || self.values[0].as_str().parse::<i64>().is_err() =>
            {
                return fail("exactly one value is needed, and it must be an integer");
            }
            _ => {}
        }
        if self.values.iter().all(|value| is_label_value(value.as_str())) {
            Ok(())
        } else {
            fail("a value cannot be the value of a label")
        }
    }

    fn check_field(&self) -> Result<(), TermError> {
        let is_known = self.key.as_str() == "metadata.name"
            && matches!(self.operator, NodeSelectorOperator::In | NodeSelectorOperator::NotIn)
            && self.values.len() == 1;
        if is_known {
            return Ok(());
        }
        let text = format!(
            "`{}` {}: only `metadata.name` can be asked for, with `In` or `NotIn` and one value",
            self.key.as_str(),
            self.operator
        );
        Err(TermError { text })
    }
}

/// A requirement of a node selector term that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TermError {
    text: String,
}

/// A label selector text that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse requirement `{requirement}`: {reason}")]
pub struct SelectorError {
    requirement: String,
    reason: String,
}

/// Whether a text can be the value of a label: empty, or up to 63 letters, digits, `-`, `_`, `.` that begin and end with
/// a letter or digit.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name_part(text)
}

/// Whether a text can be the key of a label, an annotation or a taint: a name, with or without a DNS prefix and `/`.
#[must_use]
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name_part(name),
        None => is_name_part(text),
    }
}

/// Whether a text can be the name of most objects: up to 253 lower-case letters, digits, `-` and `.`, each part between
/// dots beginning and ending with a letter or digit.
#[must_use]
pub fn is_dns_subdomain(text: &str) -> bool {
    let is_label = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_name_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && is_edge(bytes.first())
        && is_edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// Splits at commas that no parenthesis encloses.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_u32;
    let mut start = 0;
    for (index, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parse_requirement(text: &str) -> Result<LabelSelectorRequirement, SelectorError> {
    let fail = |reason: &str| Err(SelectorError { requirement: text.to_owned(), reason: reason.to_owned() });
    let (key, operator, values) = if let Some(key) = text.strip_prefix('!') {
        (key.trim(), LabelSelectorOperator::DoesNotExist, Vec::new())
    } else if let Some((head, rest)) = text.split_once('(') {
        let Some(list) = rest.trim_end().strip_suffix(')') else { return fail("expected `)` at the end") };
        let (key, word) = head.trim().rsplit_once(char::is_whitespace).unwrap_or(("", head.trim()));
        let operator = match word {
            "in" => LabelSelectorOperator::In,
            "notin" => LabelSelectorOperator::NotIn,
            _ => return fail("expected `in` or `notin` before `(`"),
        };
        (key.trim(), operator, list.split(',').map(str::trim).collect())
    } else if let Some((key, value)) = text.split_once("!=") {
        (key.trim(), LabelSelectorOperator::NotIn, vec![value.trim()])
    } else if let Some((key, value)) = text.split_once('=') {
        (key.trim(), LabelSelectorOperator::In, vec![value.strip_prefix('=').unwrap_or(value).trim()])
    } else {
        (text, LabelSelectorOperator::Exists, Vec::new())
    };
    if key.contains(['<', '>']) {
        return fail("`<` and `>` cannot be used here");
    }
    if !is_qualified_name(key) {
        return fail("expected a label key and one of `=`, `!=`, `in (…)`, `notin (…)`");
    }
    if let Some(value) = values.iter().find(|value| !is_label_value(value)) {
        return fail(&format!("`{value}` cannot be the value of a label"));
    }
    let values = values.into_iter().map(Symbol::from).collect();
    Ok(LabelSelectorRequirement { key: Symbol::from(key), operator, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Labels {
        let pairs = text.split(',').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
    }

    #[test]
    fn selector_text_selects_as_kubectl_does() {
        #[track_caller]
        fn check(selector: &str, on: &str, expected: bool) {
            let selected = LabelSelector::parse(selector).unwrap().matches(&labels(on));
            assert_eq!(selected, expected, "{selector} on {on}");
        }
        check("", "a=b", true);
        check("a=b", "a=b", true);
        check("a==b", "a=c", false);
        check("a = b , c=d", "a=b,c=d", true);
        check("a=b,a=c", "a=b", false);
        check("a!=b", "a=b", false);
        check("a!=b", "", true);
        check("a in (b,c)", "a=c", true);
        check("a in ( b , c ),d", "a=c,d=e", true);
        check("a in (b,c)", "", false);
        check("a notin (b,c)", "a=d", true);
        check("a notin (b,c)", "", true);
        check("a", "a=", true);
        check("a=", "a=", true);
        check("!a", "a=b", false);
        check("! a", "", true);
        check("example.com/tier=web", "example.com/tier=web", true);
    }

    #[test]
    fn a_selector_is_written_by_its_keys() {
        for (text, written) in [
            ("app=web,a=b", "a=b,app=web"),
            ("tier in (b,a),app=web", "app=web,tier in (a,b)"),
            ("!canary,app=web,z notin (a)", "app=web,!canary,z notin (a)"),
            ("app", "app"),
        ] {
            assert_eq!(LabelSelector::parse(text).expect(text).to_string(), written);
        }
    }

    #[test]
    fn selector_text_that_kubectl_refuses_is_refused() {
        for text in ["a in b", "a in (b", "a b", "a=b=c", "=b", "a>1", ",", "a like (b)", "-a=b", "a=b c"] {
            assert!(LabelSelector::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn node_selector_terms_follow_the_scheduler() {
        #[track_caller]
        fn check(term: &str, on: &str, expected: Option<bool>) {
            let term: NodeSelectorTerm = serde_json::from_str(term).unwrap();
            assert_eq!(term.matches(&labels(on), "n1".into()).ok(), expected, "{term:?} on {on}");
        }
        let expression = |body: &str| format!(r#"{{"matchExpressions":[{{"key":"a",{body}}}]}}"#);
        let field = |body: &str| format!(r#"{{"matchFields":[{{"key":"metadata.name",{body}}}]}}"#);
        check("{}", "a=b", Some(false));
        check(&expression(r#""operator":"In","values":["b"]"#), "a=b", Some(true));
        check(&expression(r#""operator":"In","values":[]"#), "a=b", None);
        check(&expression(r#""operator":"NotIn","values":["b"]"#), "", Some(true));
        check(&expression(r#""operator":"Exists""#), "a=b", Some(true));
        check(&expression(r#""operator":"DoesNotExist""#), "a=b", Some(false));
        check(&expression(r#""operator":"Exists","values":["b"]"#), "a=b", None);
        check(&expression(r#""operator":"Gt","values":["2"]"#), "a=10", Some(true));
        check(&expression(r#""operator":"Lt","values":["2"]"#), "a=-1", Some(true));
        check(&expression(r#""operator":"Gt","values":["2"]"#), "a=x", Some(false));
        check(&expression(r#""operator":"Gt","values":["2"]"#), "", Some(false));
        check(&expression(r#""operator":"Gt","values":["x"]"#), "a=1", None);
        check(&expression(r#""operator":"Gt","values":["1","2"]"#), "a=1", None);
        check(&expression(r#""operator":"In","values":["not a label"]"#), "a=b", None);
        check(&field(r#""operator":"In","values":["n1"]"#), "", Some(true));
        check(&field(r#""operator":"NotIn","values":["n1"]"#), "", Some(false));
        check(&field(r#""operator":"In","values":["n1","n2"]"#), "", None);
        check(&field(r#""operator":"Exists""#), "", None);
    }

    #[test]
    fn a_term_that_cannot_be_understood_spoils_only_itself() {
        let selector: NodeSelector = serde_json::from_str(
            r#"{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["no label"]}]},
                {"matchExpressions":[{"key":"a","operator":"Exists"}]}]}"#,
        )
        .unwrap();
        assert!(selector.matches(&labels("a=b"), "n1".into()));
        assert!(!NodeSelector::default().matches(&labels("a=b"), "n1".into()));
    }
}
