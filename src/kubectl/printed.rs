//! What a command prints of the objects that it works on.

use serde_json::{Value, json};

use super::create::CreateArgs;
use super::output::Format;
use super::printing::{Output, subject};
use super::resource::{Kind, find_one};
use super::view::{self, Clock};
use super::{Command, DryRun, Process};
use crate::arena::Symbol;
use crate::component::Request;
use crate::model::Object;
use crate::state::Store;

/// What `patch --subresource=scale` prints the size of an object as.
pub(super) const SCALE: &str = "scale.autoscaling";

/// The object of a request, as it is written.
fn written(request: Option<&Request>) -> Option<&Object> {
    match request? {
        Request::Create(object) | Request::Apply(object) => Some(object),
        _ => None,
    }
}

/// What a request that is only pretended would have made of an object.
fn pretended(request: &Request, mut value: Value) -> Value {
    match request {
        Request::SetPodLabels { labels, .. } | Request::SetNodeLabels { labels, .. } => {
            value["metadata"]["labels"] = json!(labels);
        }
        Request::SetPodAnnotations { annotations, .. }
        | Request::SetNodeAnnotations { annotations, .. }
        | Request::SetWorkloadAnnotations { annotations, .. } => {
            value["metadata"]["annotations"] = json!(**annotations)
        }
        _ => {}
    }
    value
}

impl Process {
    /// Prints a line about an object, or the object, as the flags ask.
    pub(super) fn print(&mut self, line: String, request: Option<&Request>, store: &Store, clock: Clock) {
        let printing = self.line.printing.clone();
        let (Output::Object(format), Some((kind, name))) = (&printing.output, subject(&line)) else {
            self.stdout.push(printing.line(line));
            return;
        };
        if let Format::Unknown(name) = &**format {
            let text = format!("kubesquall: the output `{name}` is not simulated");
            return self.warn_once(text);
        }
        if kind == SCALE {
            return self.warn_once("kubesquall: the Scale of an object is not shown".to_owned());
        }
        let place = self.place(kind, name, request);
        let found = || find_one(Kind::parse(kind), place, name, store);
        let live = || view::object(&found()?, store, clock);
        let value = match (printing.dry_run, written(request)) {
            (DryRun::Client | DryRun::Server, Some(object)) => Some(view::written(object)),
            (DryRun::Client | DryRun::Server, None) => live().map(|value| match request {
                Some(request) => pretended(request, value),
                None => value,
            }),
            (DryRun::None, object) => live().or_else(|| object.map(view::written)),
        };
        let Some(mut value) = value else { return };
        if let (DryRun::Client, Command::Create(CreateArgs::Made(made))) = (printing.dry_run, &self.line.command)
            && !made.is_namespace_given
            && let Some(metadata) = value["metadata"].as_object_mut()
        {
            // The namespace that kubectl asks is not one that the object names.
            metadata.remove("namespace");
        }
        match format.lines(&value) {
            Ok(lines) => {
                if **format == Format::Yaml && !self.stdout.is_empty() {
                    self.stdout.push("---".to_owned());
                }
                self.stdout.extend(lines);
                // What is only written by flags and files is whole, unless of what it holds hashes are kept.
                let is_whole = printing.dry_run != DryRun::None && kind != "secret";
                if matches!(**format, Format::Json | Format::Yaml) && !is_whole {
                    self.warn_once(view::LEFT_OUT.to_owned());
                }
            }
            Err(problem) => self.failures.push(super::failure::Failure::own(problem)),
        }
    }

    fn warn_once(&mut self, text: String) {
        if !self.stderr.contains(&text) {
            self.stderr.push(text);
        }
    }

    /// The namespace of an object that a line is about.
    fn place(&self, kind: &str, name: &str, request: Option<&Request>) -> Symbol {
        let is_it = |object: &&Object| {
            object.metadata().name.as_str() == name && Kind::of(object).is_some_and(|own| own.printed() == kind)
        };
        let of_file = || self.line.objects.iter().rev().map(|written| &written.object).find(is_it);
        let object = written(request).or_else(of_file);
        let selected = || self.line.command.selection().map(|selection| Symbol::new(&selection.namespace));
        object.map(|object| object.metadata().namespace).or_else(selected).unwrap_or_else(|| Symbol::new("default"))
    }
}
