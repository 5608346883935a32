//! Kinds that the API server itself does not have: what a word of a command line means among those that are defined.

use serde_json::{Map, Value};

use super::Kind;
use crate::arena::Symbol;
use crate::model::{Object, StoredKind};
use crate::state::Store;

const DEFINITION: &str = "CustomResourceDefinition";

/// The kind that a definition defines, if a word is one of its names.
///
/// # Source
/// cli-runtime, `Builder.mappingFor`: a plural, a singular, a short name or the kind, perhaps with the group.
fn defined(fields: &Map<String, Value>, word: StoredKind) -> Option<StoredKind> {
    let spec = fields.get("spec")?;
    let text = |value: &Value| Some(Symbol::new(value.as_str().filter(|text| !text.is_empty())?));
    let (group, kind, plural) = (text(&spec["group"])?, text(&spec["names"]["kind"])?, text(&spec["names"]["plural"])?);
    let singular = text(&spec["names"]["singular"]).unwrap_or(Symbol::new(&kind.as_str().to_ascii_lowercase()));
    let short = spec["names"]["shortNames"].as_array().into_iter().flatten().filter_map(text);
    let is_named = [kind, plural, singular].into_iter().chain(short).any(|name| is(name, word.plural));
    let is_of_group = word.group.is_empty() || word.group == group;
    let is_namespaced = spec["scope"].as_str() != Some("Cluster");
    (is_named && is_of_group).then_some(StoredKind { kind, group, plural, is_namespaced })
}

fn is(name: Symbol, word: Symbol) -> bool {
    name.as_str().eq_ignore_ascii_case(word.as_str())
}

/// Whether a word means the kind of an object, as far as the object tells its names.
fn is_meant(kind: StoredKind, word: StoredKind) -> bool {
    kind.is_meant_by(word) || kind.is_meant_by(StoredKind { kind: word.plural, ..word })
}

fn is_built_in(word: StoredKind) -> bool {
    StoredKind::parse(word.plural.as_str()).is_some_and(|kind| kind == word)
}

/// The kind that a word means: a built-in one, or one of which there is an object or a definition.
pub(crate) fn known(word: StoredKind, store: &Store) -> Option<StoredKind> {
    if is_built_in(word) {
        return Some(word);
    }
    let mut definitions = store.stored.values().filter(|stored| stored.kind.kind.as_str() == DEFINITION);
    let defined = definitions.find_map(|definition| defined(&definition.fields, word));
    let is_it = |kind: StoredKind| match defined {
        Some(defined) => kind.printed() == defined.printed(),
        None => is_meant(kind, word),
    };
    // The objects tell where they are kept.
    let of_object = store.stored.values().find(|stored| is_it(stored.kind)).map(|stored| stored.kind);
    match (defined, of_object) {
        (Some(defined), Some(own)) => Some(StoredKind { is_namespaced: own.is_namespaced, ..defined }),
        (defined, own) => defined.or(own),
    }
}

impl Kind {
    /// Whether a server has such a kind of its own.
    pub(crate) fn is_built_in(self) -> bool {
        !matches!(self, Self::Stored(word) if !is_built_in(word))
    }

    /// Whether an object makes a server have such a kind: it is one, or defines it.
    pub(crate) fn is_made_known_by(self, object: &Object) -> bool {
        let (Self::Stored(word), Object::Stored(object)) = (self, object) else { return false };
        is_meant(object.stored_kind(), word)
            || object.kind.as_str() == DEFINITION && defined(&object.fields, word).is_some()
    }

    /// The kind that a word means, with the names that the cluster has for it.
    pub(super) fn meant(self, store: &Store) -> Self {
        match self {
            Self::Stored(word) => Self::Stored(known(word, store).unwrap_or(word)),
            kind => kind,
        }
    }

    /// The type as it was typed, without its group.
    pub(crate) fn typed(self) -> Symbol {
        match self {
            Self::Stored(word) => word.plural,
            kind => Symbol::new(kind.resource()),
        }
    }
}
