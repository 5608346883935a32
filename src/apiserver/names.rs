//! Generated names and UIDs: drawn by what an object is called, so that one more object renames no other.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::registry;
use super::session::Session;
use crate::arena::Symbol;
use crate::model::{Object, SAFE_LETTERS as LETTERS};
use crate::state::Uid;

/// A generated name is at most this long without its suffix.
const BASE_MAX: usize = 58;

/// What has been handed out so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// By namespace and prefix.
    generated: FxHashMap<(Symbol, Symbol), Series>,
    /// Objects so far of each kind, namespace and name that was given and not generated.
    given: FxHashMap<Box<str>, u64>,
}

/// The names of one prefix.
#[derive(Clone, Debug)]
struct Series {
    /// Namespace and prefix, as the streams are called.
    entity: Box<str>,
    next: u64,
}

impl Names {
    /// A new UID for an object of that name; another one for each object that bears it in turn.
    pub(super) fn new_uid(&mut self, s: &Session<'_>, kind: &str, namespace: Symbol, name: &str) -> Uid {
        let entity: Box<str> = format!("{kind}/{namespace}/{name}").into();
        let mut stream = match self.given.get_mut(&entity) {
            Some(count) => {
                *count += 1;
                s.streams.at("uid", &entity, *count)
            }
            None => {
                let stream = s.streams.stream("uid", &entity);
                self.given.insert(entity, 0);
                stream
            }
        };
        Uid((u128::from(stream.next_u64()) << 64) | u128::from(stream.next_u64()))
    }

    /// A name for an object that has none, if it says what stands before it; the one that it got.
    ///
    /// # Source
    /// apiserver, `BeforeCreate`.
    pub(super) fn name(&mut self, s: &Session<'_>, object: &mut Object) -> Option<Symbol> {
        let metadata = object.metadata();
        let (namespace, prefix) = (metadata.namespace, metadata.generate_name);
        if !metadata.name.is_empty() || prefix.is_empty() {
            return None;
        }
        loop {
            let (name, _) = self.generated_name(s, namespace, prefix);
            let name = Symbol::new(&name);
            object.metadata_mut().name = name;
            if !registry::exists(object, s.store) {
                return Some(name);
            }
        }
    }

    /// A name that no pod in the namespace has, and a UID to go with it.
    ///
    /// # Source
    /// apiserver, name generation: base of 58 characters at most, five letters and digits that spell no words.
    pub(super) fn generated_name(&mut self, s: &Session<'_>, namespace: Symbol, prefix: Symbol) -> (Arc<str>, Uid) {
        let base = prefix.as_str();
        let base = &base[..base.len().min(BASE_MAX)];
        let series = self
            .generated
            .entry((namespace, prefix))
            .or_insert_with(|| Series { entity: format!("{namespace}/{prefix}").into(), next: 0 });
        loop {
            let mut stream = s.streams.at("generated-name", &series.entity, series.next);
            series.next += 1;
            let mut name = String::with_capacity(base.len() + 5);
            name.push_str(base);
            for _ in 0..5 {
                name.push(char::from(LETTERS[stream.below(LETTERS.len() as u32) as usize]));
            }
            let name: Arc<str> = name.into();
            if s.store.find_pod(namespace, &name).is_none() {
                let uid = Uid((u128::from(stream.next_u64()) << 64) | u128::from(stream.next_u64()));
                return (name, uid);
            }
        }
    }
}
