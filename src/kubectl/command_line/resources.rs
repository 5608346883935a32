//! What a command works on: resource types, names, selectors and files, with the rules of kubectl's resource builder.
//!
//! # Source
//! cli-runtime, `resource.Builder`.

use super::flags::Arguments;
use super::selection::{FieldSelector, Selection};
use super::stop::{CommandLineError, Stop, error};
use crate::kubectl::resource::{Kind, Target};
use crate::model::LabelSelector;

/// What a resource type without names means.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::kubectl) enum WithoutNames {
    /// It is refused, unless a selector is given.
    Refused,
    /// All of that type.
    All,
}

const MISSING: [&str; 6] = [
    "error: You must provide one or more resources by argument or filename.",
    "Example resource specifications include:",
    "   '-f rsrc.yaml'",
    "   '--filename=rsrc.json'",
    "   '<resource> <name>'",
    "   '<resource>'",
];

/// The resource types of the category `all`, in the order in which the API server names them.
const ALL: [&str; 10] = [
    "pods",
    "replicationcontrollers",
    "services",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "horizontalpodautoscalers",
    "cronjobs",
    "jobs",
];

/// Types, of which `all` stands for several; each once, in order.
fn kinds_of(word: &str) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for word in word.split(',') {
        let some = if word == "all" { &ALL[..] } else { &[word] };
        for word in some {
            let kind = Kind::parse(word);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    kinds
}

fn refuse<T>(text: &str) -> Result<T, Stop> {
    Err(Stop::refused(&[&format!("error: {text}")]))
}

impl Arguments {
    /// `-n`; `default` without it.
    pub(in crate::kubectl) fn namespace(&self) -> String {
        self.text("namespace").filter(|name| !name.is_empty()).unwrap_or("default").to_owned()
    }

    /// `-f`.
    pub(in crate::kubectl) fn files(&self) -> Vec<String> {
        let is_input = |file: &str| file == "/dev/stdin";
        self.list("filename").into_iter().map(|file| if is_input(&file) { "-".to_owned() } else { file }).collect()
    }

    pub(in crate::kubectl) fn label_selector(&self) -> Result<Option<LabelSelector>, CommandLineError> {
        let text = self.text("selector").filter(|text| !text.trim().is_empty());
        text.map(|text| LabelSelector::parse(text).map_err(|e| error(text, e.to_string()))).transpose()
    }

    fn field_selector(&self) -> Result<FieldSelector, CommandLineError> {
        let text = self.text("field-selector").unwrap_or_default();
        FieldSelector::parse(text)
            .map_err(|part| error(&part, format!("invalid selector: '{text}'; can't understand '{part}'")))
    }

    /// The words and flags that name objects.
    pub(in crate::kubectl) fn selection(&mut self, without: WithoutNames) -> Result<Selection, Stop> {
        let words = std::mem::take(&mut self.words);
        let mut selection = Selection {
            selector: self.label_selector()?,
            label_text: self.text("selector").unwrap_or_default().to_owned(),
            fields: self.field_selector()?,
            all: self.switch("all", false)?,
            all_namespaces: self.switch("all-namespaces", false)?,
            namespace: self.namespace(),
            is_namespace_given: self.has("namespace"),
            ..Selection::default()
        };
        let has_files = self.has("filename") || self.has("kustomize");
        let is_pairs = self.name(&words, &mut selection)?;
        if has_files {
            return match (is_pairs, words.is_empty()) {
                (_, true) => Ok(selection),
                (true, _) => refuse("resource/name arguments cannot be provided when a path is specified"),
                (false, _) => refuse(
                    "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well",
                ),
            };
        }
        let selects = selection.is_selecting();
        match words.len() {
            _ if selects && is_pairs => {
                refuse("selectors and the all flag cannot be used when passing resource/name arguments")
            }
            0 if selects => refuse("at least one resource must be specified to use a selector"),
            0 => Err(Stop::refused(&MISSING)),
            1 if is_pairs || selects || without == WithoutNames::All => Ok(selection),
            1 => refuse("resource(s) were provided, but no name was specified"),
            _ if selects => refuse("name cannot be provided when a selector is specified"),
            _ if selection.all_namespaces && selection.targets.iter().any(|target| target.kind.is_namespaced()) => {
                refuse("a resource cannot be retrieved by name across all namespaces")
            }
            _ => Ok(selection),
        }
    }

    /// Reads the words; whether they are pairs `TYPE/NAME`.
    fn name(&self, words: &[String], selection: &mut Selection) -> Result<bool, Stop> {
        let Some(first) = words.first() else { return Ok(false) };
        let slashes = words.iter().filter(|word| word.contains('/')).count();
        if slashes == 0 {
            selection.kinds = kinds_of(first);
            let pairs = selection.kinds.iter().flat_map(|kind| words[1..].iter().map(|name| (*kind, name.clone())));
            selection.targets = pairs.map(|(kind, name)| Target { kind, name, namespace: None }).collect();
            return Ok(false);
        }
        if slashes < words.len() {
            let text = "there is no need to specify a resource type as a separate argument when passing arguments in \
                        resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource \
                        resource/<resource_name>'";
            return refuse(text);
        }
        for word in words {
            let (kind, name) = word.split_once('/').unwrap_or((word, ""));
            if name.contains('/') {
                return refuse("arguments in resource/name form may not have more than one slash");
            }
            if kind.is_empty() || name.is_empty() || kind.contains(',') {
                return refuse("arguments in resource/name form must have a single resource and name");
            }
            selection.targets.push(Target { kind: Kind::parse(kind), name: name.to_owned(), namespace: None });
        }
        Ok(true)
    }

    /// Names of nodes, `node/NAME`, or a selector.
    pub(in crate::kubectl) fn nodes(&mut self) -> Result<Selection, Stop> {
        let words = std::mem::take(&mut self.words);
        let mut targets = Vec::new();
        for word in words {
            let (kind, name) = word.split_once('/').unwrap_or(("node", &word));
            let kind = Kind::parse(kind);
            if kind != Kind::Node {
                return refuse(&format!("expected resource of type node, got \"{}\"", kind.resource()));
            }
            targets.push(Target { kind, name: name.to_owned(), namespace: None });
        }
        Ok(Selection {
            targets,
            kinds: vec![Kind::Node],
            selector: self.label_selector()?,
            all: self.switch("all", false)?,
            namespace: self.namespace(),
            ..Selection::default()
        })
    }
}
