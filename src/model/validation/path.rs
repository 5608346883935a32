//! Where a value stands, for as long as nothing is wrong with it: a chain of steps on the stack.

use std::fmt;

use crate::arena::Symbol;
use crate::model::field_path::{FieldPath, Step};

/// A path to a value, from the object's root. Made and dropped on the way down, so that a good object costs nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    part: Part<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Root,
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The object itself.
    pub(crate) const ROOT: Self = Self { parent: None, part: Part::Root };

    /// A field.
    pub(crate) const fn child(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), part: Part::Child(name) }
    }

    /// An item of a list.
    pub(crate) const fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), part: Part::Index(index) }
    }

    /// An entry of a map whose keys are the user's.
    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), part: Part::Key(key) }
    }

    /// The steps into the document. The server calls a few fields by names that no document has.
    pub(crate) fn steps(&self) -> FieldPath {
        let mut parts = Vec::new();
        let mut path = Some(self);
        while let Some(Path { parent, part }) = path {
            parts.push(*part);
            path = *parent;
        }
        parts.reverse();
        let mut steps = Vec::with_capacity(parts.len() + 1);
        for (index, part) in parts.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| parts[index]);
            match (part, before) {
                (Part::Root, _) => {}
                (Part::Child("taints"), Some(Part::Child("metadata"))) => {
                    steps.pop();
                    steps.extend(["spec", "taints"].map(|name| Step::Key(Symbol::new(name))));
                }
                (Part::Child(name @ ("labels" | "annotations")), Some(Part::Child("template"))) => {
                    steps.extend(["metadata", name].map(|name| Step::Key(Symbol::new(name))));
                }
                (Part::Child(name) | Part::Key(name), _) => steps.push(Step::Key(Symbol::new(name))),
                (Part::Index(index), _) => steps.push(Step::Index(*index)),
            }
        }
        steps.into_iter().collect()
    }
}

impl fmt::Display for Path<'_> {
    /// As the API server writes paths: `spec.containers[0].resources.limits[cpu]`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(formatter)?;
        }
        match self.part {
            Part::Root => Ok(()),
            Part::Child(name) => {
                let is_first = self.parent.is_none_or(|parent| matches!(parent.part, Part::Root));
                write!(formatter, "{}{name}", if is_first { "" } else { "." })
            }
            Part::Index(index) => write!(formatter, "[{index}]"),
            Part::Key(key) => write!(formatter, "[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_the_server_writes_them_and_lead_to_where_the_document_has_the_value() {
        let check = |path: &Path<'_>, text: &str, steps: &str| {
            assert_eq!((path.to_string(), path.steps().to_string()), (text.to_owned(), steps.to_owned()));
        };
        let spec = Path::ROOT.child("spec");
        check(&spec.child("containers").index(1).child("limits").key("cpu"), "spec.containers[1].limits[cpu]", {
            "spec.containers[1].limits.cpu"
        });
        let metadata = Path::ROOT.child("metadata");
        check(&metadata.child("taints").index(0), "metadata.taints[0]", "spec.taints[0]");
        check(&spec.child("template").child("labels"), "spec.template.labels", "spec.template.metadata.labels");
    }
}
