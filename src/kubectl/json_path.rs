//! JSONPath templates as kubectl has them: `{.items[*].metadata.name}`, ranges, filters, slices.
//!
//! # Source
//! client-go, `util/jsonpath`; kubectl, `RelaxedJSONPathExpression`.

use serde_json::Value;

/// The most values that one template may find.
const RESULTS_MAX: usize = 1_000_000;

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// A text, a number or a truth value.
    Literal(Value),
    Field(String),
    Slice(Slice),
    Filter {
        left: Vec<Step>,
        sign: String,
        right: Vec<Step>,
    },
    Wildcard,
    Recursive,
    Union(Vec<Vec<Step>>),
    Range,
    End,
}

/// `[1]`, `[0:2]`, `[-1]`, `[::2]`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Slice {
    from: Option<i64>,
    to: Option<i64>,
    /// The end follows from the beginning: one item is meant.
    is_one: bool,
    step: Option<i64>,
}

/// A template: texts and what stands in braces.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    nodes: Vec<Vec<Step>>,
}

impl Template {
    /// The names of its paths, in order; those within filters and unions are left out.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let steps = self.nodes.iter().flatten();
        steps.filter_map(|step| if let Step::Field(name) = step { Some(name.as_str()) } else { None })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

fn is_end(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with it, in kubectl's words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut nodes = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            if open > 0 {
                nodes.push(vec![Step::Literal(rest[..open].into())]);
            }
            let mut parser = Parser { text: &rest[open + 1..], at: 0 };
            nodes.push(parser.action(true)?);
            rest = &parser.text[parser.at..];
        }
        if !rest.is_empty() {
            nodes.push(vec![Step::Literal(rest.into())]);
        }
        Ok(Self { nodes })
    }

    /// A path without braces, or without its first point.
    ///
    /// # Errors
    /// What is wrong with it, in kubectl's words.
    pub(crate) fn relaxed(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let inner = inner.strip_prefix('.').unwrap_or(inner);
        if inner.is_empty() || inner.contains(['{', '}']) {
            return Err("unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or \
                        '{.name1.name2}'"
                .to_owned());
        }
        Self::parse(&format!("{{.{inner}}}"))
    }

    /// What each node finds, in order.
    ///
    /// # Errors
    /// Why it finds nothing.
    pub(crate) fn find<'a>(&'a self, value: &'a Value, missing: Missing) -> Result<Vec<Vec<&'a Value>>, String> {
        let mut found = Vec::new();
        let mut finder = Finder { missing, left: RESULTS_MAX };
        finder.nodes(&self.nodes, 0, vec![value], false, &mut found)?;
        Ok(found)
    }

    /// What is printed of a value.
    ///
    /// # Errors
    /// Why nothing is.
    pub(crate) fn print(&self, value: &Value, missing: Missing) -> Result<String, String> {
        let found = self.find(value, missing)?;
        Ok(found.iter().map(|values| values.iter().map(|v| text_of(v)).collect::<Vec<_>>().join(" ")).collect())
    }
}

/// What a field that is not there means.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nothing.
    Allowed,
    /// An error.
    Refused,
}

/// A value as it is printed.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Reads up to the brace that closes, or to the end of a part without one.
    fn action(&mut self, is_closed: bool) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        loop {
            let rest = self.rest();
            if rest.starts_with('}') {
                self.at += 1;
                return Ok(steps);
            }
            if rest.starts_with("[?(") {
                self.at += 3;
                steps.push(self.filter()?);
                continue;
            }
            if rest.starts_with("..") {
                if steps.last() == Some(&Step::Recursive) {
                    return Err("invalid multiple recursive descent".to_owned());
                }
                self.at += 2;
                steps.push(Step::Recursive);
                if self.rest().starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    steps.push(self.field());
                }
                continue;
            }
            let Some(c) = rest.chars().next() else {
                return if is_closed { Err("unclosed action".to_owned()) } else { Ok(steps) };
            };
            match c {
                '\r' | '\n' => return Err("unclosed action".to_owned()),
                ' ' | '@' | '$' => self.at += 1,
                '[' => self.brackets(&mut steps)?,
                '"' | '\'' => steps.push(self.quoted(c)?),
                '.' => {
                    self.at += 1;
                    steps.push(self.field());
                }
                '+' | '-' | '0'..='9' => steps.push(self.number()?),
                c if c.is_alphanumeric() || c == '_' => steps.push(self.word()?),
                c => return Err(format!("unrecognized character in action: U+{:04X} '{c}'", u32::from(c))),
            }
        }
    }

    fn field(&mut self) -> Step {
        let mut name = String::new();
        let mut letters = self.rest().char_indices();
        let mut length = self.rest().len();
        while let Some((at, c)) = letters.next() {
            match c {
                '\\' => name.extend(letters.next().map(|(_, c)| c)),
                c if is_end(c) => {
                    length = at;
                    break;
                }
                c => name.push(c),
            }
        }
        self.at += length;
        if name == "*" { Step::Wildcard } else { Step::Field(name) }
    }

    fn word(&mut self) -> Result<Step, String> {
        let rest = self.rest();
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let step = match word {
            "true" => Step::Literal(true.into()),
            "false" => Step::Literal(false.into()),
            "range" => Step::Range,
            "end" => Step::End,
            other => return Err(format!("unrecognized identifier {other}")),
        };
        self.at += word.len();
        Ok(step)
    }

    fn number(&mut self) -> Result<Step, String> {
        let rest = self.rest();
        let digits = rest[1..].find(|c: char| c != '.' && !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
        let text = &rest[..digits];
        let number = text.trim_start_matches('+');
        let value = match (number.parse::<i64>(), number.parse::<f64>()) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => return Err(format!("cannot parse number {text}")),
        };
        self.at += digits;
        Ok(Step::Literal(value))
    }

    fn quoted(&mut self, quote: char) -> Result<Step, String> {
        let (mut text, mut letters) = (String::new(), self.rest()[1..].char_indices());
        while let Some((at, c)) = letters.next() {
            match c {
                c if c == quote => {
                    self.at += at + 2;
                    return Ok(Step::Literal(text.into()));
                }
                '\n' => break,
                '\\' => match letters.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some(c) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err("unterminated quoted string".to_owned())
    }

    /// `[…]`: an index, a slice, a key, or several of them.
    fn brackets(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let rest = &self.rest()[1..];
        let end = rest.find([']', '\n']).filter(|end| rest[*end..].starts_with(']'));
        let inside = rest[..end.ok_or("unterminated array")?].to_owned();
        self.at += inside.len() + 2;
        if inside.contains(',') {
            let one = |part: &str| -> Result<Vec<Step>, String> {
                let mut steps = Vec::new();
                bracket(part.trim_matches(' '), &mut steps)?;
                Ok(steps)
            };
            steps.push(Step::Union(inside.split(',').map(one).collect::<Result<_, _>>()?));
            return Ok(());
        }
        bracket(&inside, steps)
    }

    fn filter(&mut self) -> Result<Step, String> {
        let mut quote = None;
        let mut end = None;
        let mut before = ' ';
        for (at, c) in self.rest().char_indices() {
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (Some(open), c) if c == open && before != '\\' => quote = None,
                (None, ')') => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let end = end.ok_or("unterminated filter")?;
        let inside = self.rest()[..end].to_owned();
        self.at += end + 1;
        if !self.rest().starts_with(']') {
            return Err("unclosed array expect ]".to_owned());
        }
        self.at += 1;
        let is_sign = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let part = |text: &str| Parser { text, at: 0 }.action(false);
        let Some(start) = inside.find(is_sign).filter(|start| *start > 0) else {
            return Ok(Step::Filter { left: part(&inside)?, sign: "exists".to_owned(), right: Vec::new() });
        };
        let length = inside[start..].find(|c: char| !is_sign(c)).unwrap_or(inside.len() - start);
        let (left, right) = (part(&inside[..start])?, part(&inside[start + length..])?);
        let sign = inside[start..start + length].to_owned();
        match sign.as_str() {
            "==" | "!=" | "<" | "<=" | ">" | ">=" => Ok(Step::Filter { left, sign, right }),
            _ => Err(format!("unrecognized filter operator {sign}")),
        }
    }
}

fn bracket(inside: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    let quoted = ['\'', '"'].into_iter().find_map(|quote| inside.strip_prefix(quote)?.strip_suffix(quote));
    if let Some(key) = quoted {
        steps.push(Step::Field(key.replace('\\', "")));
        return Ok(());
    }
    let invalid = || format!("invalid array index {inside}");
    let parts: Vec<&str> = if inside == "*" { vec!["", ""] } else { inside.split(':').collect() };
    let number = |text: &&str| -> Result<Option<i64>, String> {
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| invalid()) }
    };
    let numbers = parts.iter().map(number).collect::<Result<Vec<_>, _>>()?;
    let slice = match numbers.as_slice() {
        [Some(at)] => Slice { from: Some(*at), to: at.checked_add(1), is_one: true, step: None },
        [from, to] => Slice { from: *from, to: *to, is_one: false, step: None },
        [from, to, step] => Slice { from: *from, to: *to, is_one: false, step: *step },
        _ => return Err(invalid()),
    };
    steps.push(Step::Slice(slice));
    Ok(())
}

struct Finder {
    missing: Missing,
    /// How many values may still be found.
    left: usize,
}

impl Finder {
    /// Goes through nodes from one on; the place after the end of the range, if in one.
    fn nodes<'a>(
        &mut self,
        nodes: &'a [Vec<Step>],
        mut at: usize,
        input: Vec<&'a Value>,
        in_range: bool,
        found: &mut Vec<Vec<&'a Value>>,
    ) -> Result<usize, String> {
        while let Some(node) = nodes.get(at) {
            match node.first() {
                Some(Step::End) if in_range => return Ok(at + 1),
                Some(Step::End) => return Err("not in range, nothing to end".to_owned()),
                Some(Step::Range) => {
                    let values = self.walk(input.clone(), &node[1..])?;
                    let mut next = None;
                    for value in values {
                        next = Some(self.nodes(nodes, at + 1, vec![value], true, found)?);
                    }
                    at = next.unwrap_or_else(|| after_range(nodes, at + 1));
                }
                _ => {
                    found.push(self.walk(input.clone(), node)?);
                    at += 1;
                }
            }
        }
        Ok(at)
    }

    fn walk<'a>(&mut self, input: Vec<&'a Value>, steps: &'a [Step]) -> Result<Vec<&'a Value>, String> {
        steps.iter().try_fold(input, |values, step| self.step(&values, step))
    }

    fn step<'a>(&mut self, input: &[&'a Value], step: &'a Step) -> Result<Vec<&'a Value>, String> {
        let mut found: Vec<&'a Value> = Vec::new();
        let values = input.iter().copied().filter(|value| !value.is_null());
        match step {
            Step::Literal(text @ Value::String(_)) => found.push(text),
            Step::Literal(value) => found.extend(input.iter().map(|_| value)),
            Step::Field(name) => {
                found.extend(values.filter_map(|value| value.as_object()?.get(name)));
                if found.is_empty() && !input.is_empty() && self.missing == Missing::Refused {
                    return Err(format!("{name} is not found"));
                }
            }
            Step::Wildcard => values.for_each(|value| found.extend(children(value))),
            Step::Recursive => values.for_each(|value| descend(value, &mut found)),
            Step::Union(parts) => {
                for part in parts {
                    found.extend(self.walk(input.to_vec(), part)?);
                }
            }
            Step::Slice(slice) => {
                for value in values {
                    let items = value.as_array().ok_or_else(|| format!("{} is not array or slice", go_type(value)))?;
                    found.extend(slice.of(items)?);
                }
            }
            Step::Filter { left, sign, right } => {
                for value in input {
                    let items = value
                        .as_array()
                        .ok_or_else(|| format!("{} is not array or slice and cannot be filtered", text_of(value)))?;
                    for item in items {
                        if self.is_passed(item, left, sign, right)? {
                            found.push(item);
                        }
                    }
                }
            }
            Step::Range | Step::End => return Err("range and end stand at the beginning of their braces".to_owned()),
        }
        self.left = self.left.checked_sub(found.len()).ok_or("the template finds too much")?;
        Ok(found)
    }

    fn is_passed(&mut self, item: &Value, left: &[Step], sign: &str, right: &[Step]) -> Result<bool, String> {
        let missing = std::mem::replace(&mut self.missing, Missing::Allowed);
        let lefts = self.walk(vec![item], left);
        self.missing = missing;
        let lefts = lefts?;
        if sign == "exists" {
            return Ok(!lefts.is_empty());
        }
        let rights = self.walk(vec![item], right)?;
        let (left, right) = match (lefts.as_slice(), rights.as_slice()) {
            ([], _) | (_, []) => return Ok(false),
            ([left], [right]) => (left, right),
            _ => return Err("can only compare one element at a time".to_owned()),
        };
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().unwrap_or(0.0).total_cmp(&right.as_f64().unwrap_or(0.0))
            }
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            _ => return Err("incompatible types for comparison".to_owned()),
        };
        Ok(match sign {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        })
    }
}

/// The place after the end of a range that found nothing.
fn after_range(nodes: &[Vec<Step>], from: usize) -> usize {
    let mut depth = 1_usize;
    for (at, node) in nodes.iter().enumerate().skip(from) {
        match node.first() {
            Some(Step::Range) => depth += 1,
            Some(Step::End) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    nodes.len()
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// A value that holds others, and those below it that do.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let children = children(value);
    if !children.is_empty() {
        found.push(value);
    }
    children.into_iter().for_each(|child| descend(child, found));
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Object(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        _ => "int64",
    }
}

impl Slice {
    fn of(self, items: &[Value]) -> Result<impl Iterator<Item = &Value>, String> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from = self.from.unwrap_or(0);
        let from = if from < 0 { from + length } else { from };
        let to = self.to.unwrap_or(length);
        let to = if to < 0 || to == 0 && self.is_one { to + length } else { to };
        let outside = |index: i64| format!("array index out of bounds: index {index}, length {length}");
        if from != to {
            if !(0..length).contains(&from) {
                return Err(outside(from));
            }
            if !(0..=length).contains(&to) {
                return Err(outside(to.saturating_sub(1)));
            }
            if from > to {
                return Err(format!("starting index {from} is greater than ending index {to}"));
            }
        }
        let step = match self.step {
            Some(step) if step <= 0 => return Err("step must be > 0".to_owned()),
            step => usize::try_from(step.unwrap_or(1)).unwrap_or(usize::MAX),
        };
        let range = match (usize::try_from(from), usize::try_from(to)) {
            (Ok(from), Ok(to)) if from < to => from..to,
            _ => 0..0,
        };
        Ok(items[range].iter().step_by(step))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pods() -> Value {
        let pod = |name: &str, node: &str, ready: &str| {
            json!({
                "kind": "Pod",
                "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "web"}},
                "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i:1"}]},
                "status": {"conditions": [{"type": "Ready", "status": ready}], "restarts": 3},
            })
        };
        json!({"kind": "List", "items": [pod("a", "n", "True"), pod("b", "m", "False")]})
    }

    #[test]
    fn templates_print_what_they_find() {
        let check = |template: &str, expected: &str| {
            let found = Template::parse(template).and_then(|template| template.print(&pods(), Missing::Allowed));
            assert_eq!(found.as_deref(), Ok(expected), "{template}");
        };
        check("{.items[*].metadata.name}", "a b");
        check("{.items[0].metadata.name}", "a");
        check("{.items[-1].metadata.name}", "b");
        check("{.items[0:1].metadata.name} {.kind}", "a List");
        check("{range .items[*]}{.metadata.name}{\"\\t\"}{.spec.nodeName}{'\\n'}{end}", "a\tn\nb\tm\n");
        check("{range .items[*]}{.metadata.name}: {range .spec.containers[*]}{.image},{end}{end}.", "a: i:1,b: i:1,.");
        check("{range .none[*]}{.x}{end}after", "after");
        check("{.items[?(@.spec.nodeName==\"m\")].metadata.name}", "b");
        check("{.items[*].status.conditions[?(@.type=='Ready')].status}", "True False");
        check("{.items[?(@.status.restarts>2)].metadata.name}", "a b");
        check("{.items[?(@.spec.none)].metadata.name}", "");
        check("{..image}", "i:1 i:1");
        check("{.items[0].metadata.labels.app\\.kubernetes\\.io/name}", "web");
        check("{.items[0].metadata['name']}", "a");
        check("{.items[*]['metadata.name','kind']}", "Pod Pod");
        check("{.items[0].metadata}", r#"{"labels":{"app.kubernetes.io/name":"web"},"name":"a"}"#);
        check("{.items[0].status.restarts}", "3");
        check("{$.kind}{.missing}", "List");
        check(".kind", ".kind");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let check = |template: &str, missing: Missing, problem: &str| {
            let found = Template::parse(template).and_then(|template| template.print(&pods(), missing));
            assert_eq!(found, Err(problem.to_owned()), "{template}");
        };
        let allowed = Missing::Allowed;
        check("{.items", allowed, "unclosed action");
        check("{.items[}", allowed, "unterminated array");
        check("{.items[x]}", allowed, "invalid array index x");
        check("{.items[?(@.a==\"b)]}", allowed, "unterminated filter");
        check("{.items[?(@.a=~'b')]}", allowed, "unrecognized character in action: U+007E '~'");
        check("{.items[9]}", allowed, "array index out of bounds: index 9, length 2");
        check("{.kind[0]}", allowed, "string is not array or slice");
        check("{end}", allowed, "not in range, nothing to end");
        check("{.....a}", allowed, "invalid multiple recursive descent");
        check("{foo}", allowed, "unrecognized identifier foo");
        check("{.nothing}", Missing::Refused, "nothing is not found");
    }

    #[test]
    fn paths_may_lack_their_braces() {
        for text in ["kind", ".kind", "{kind}", "{.kind}"] {
            let template = Template::relaxed(text).expect(text);
            assert_eq!(template.print(&pods(), Missing::Allowed).as_deref(), Ok("List"), "{text}");
        }
        assert!(Template::relaxed("{.a}{.b}").is_err());
        assert!(Template::relaxed("").is_err());
    }
}
