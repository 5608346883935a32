//! Why a plugin keeps a pod off a node, and what would have to be otherwise.

use std::borrow::Cow;
use std::fmt;

use smallvec::{SmallVec, smallvec};

use crate::arena::{Symbol, sym};
use crate::state::NodeId;
use crate::units::{Quantity, QuantityFormat};

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin that said no first.
    pub plugin: &'static str,
    /// Its reasons.
    pub reasons: SmallVec<[Symbol; 1]>,
    /// Whether removing pods could not help either.
    pub is_unresolvable: bool,
}

impl Rejection {
    /// Removing pods may help.
    pub(super) fn unschedulable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: false }
    }

    /// Removing pods does not help.
    pub(super) fn unresolvable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: true }
    }
}

/// Its reasons.
impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, reason) in self.reasons.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{reason}")?;
        }
        Ok(())
    }
}

/// Why every plugin rejects a node, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    /// The node.
    pub node: NodeId,
    /// What plugins say before they look at nodes, then what they say of this one.
    pub rejections: Vec<Rejection>,
    /// What would have to be otherwise, all of it, for these plugins to let the pod in.
    pub remedies: Vec<Remedy>,
}

/// Something that would have to be otherwise for a plugin to let a pod in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// More of a resource would have to be free, or less of it asked for.
    Resource(InsufficientResource),
    /// What its plugin says, behind "the pod would fit if": `the node were uncordoned`.
    Else(Cow<'static, str>),
}

impl Remedy {
    /// What is so at all events: the plugin would have to say otherwise.
    pub(super) fn otherwise(rejection: &Rejection) -> Self {
        Self::Else(format!("{} did not say \"{rejection}\"", rejection.plugin).into())
    }
}

/// Behind "the pod would fit if".
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(shortage) => shortage.fmt(f),
            Self::Else(words) => f.write_str(words),
        }
    }
}

/// A resource of which a node has too little for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsufficientResource {
    /// Its name: `cpu` in thousandths, `memory` and storage in bytes, `pods`, others in pieces.
    pub resource: Symbol,
    /// What the pod asks for.
    pub asked: i64,
    /// What is free, negative if more is promised than there is.
    pub free: i64,
    /// What there is.
    pub allocatable: i64,
}

impl InsufficientResource {
    /// Whether the pod would not fit the empty node.
    #[must_use]
    pub fn is_beyond_the_node(&self) -> bool {
        self.asked > self.allocatable
    }

    /// What is missing, in thousandths of what is asked for.
    pub(super) fn missing_milli(&self) -> i128 {
        i128::from(self.asked - self.free) * 1000 / i128::from(self.asked.max(1))
    }
}

/// What would mend the shortage.
impl fmt::Display for InsufficientResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, asked, free, allocatable } = *self;
        let amount = |amount: i64| match resource.as_str() {
            "cpu" => Quantity::from_milli(amount).to_string(),
            "memory" | "ephemeral-storage" => {
                Quantity::from_value(amount).with_format(QuantityFormat::BinarySi).to_string()
            }
            _ => amount.to_string(),
        };
        if resource == sym!("pods") {
            return write!(f, "one of its pods went: it holds as many as it may, {allocatable}");
        }
        let wanted = amount(asked);
        if self.is_beyond_the_node() {
            return write!(
                f,
                "it asked for less {resource}: {wanted}, of which the whole node has {}",
                amount(allocatable)
            );
        }
        let (missing, left, all) = (amount(asked - free), amount(free.max(0)), amount(allocatable));
        write!(f, "{missing} more {resource} were free: it asks for {wanted}, and {left} of {all} are left")
    }
}

/// The first few names.
pub(crate) fn abridged(names: &[&str]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        0..=SHOWN => names.join(", "),
        all => format!("{} and {} more", names[..SHOWN].join(", "), all - SHOWN),
    }
}
