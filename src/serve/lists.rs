//! Lists, as a whole or page by page.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Bytes;
use serde_json::{Value, json};

use super::audience::{Audience, Choice, Known, Seen};
use super::session::Session;
use super::table::{self, Included};
use crate::arena::Symbol;
use crate::rest::{ListOptions, Path, Resource, Selection, Status, Target};

/// Objects of a list that nobody has bounded.
const ITEMS_MAX: usize = 1_000_000;

/// Lists of which somebody has not read all, and their bytes.
const PAGES_MAX: usize = 32;
const PAGES_BYTES_MAX: usize = 256 << 20;

/// How objects are written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    Whole,
    /// Their metadata alone.
    Metadata,
    /// As rows.
    Table(Included),
}

impl Form {
    /// What a client prefers of what it accepts.
    pub(super) fn of(accept: &str, path: &Path) -> Self {
        for media in accept.split(',') {
            if media.contains("as=Table") {
                return Self::Table(Included::parse(path.parameter("includeObject")));
            }
            if media.contains("as=PartialObjectMetadata") {
                return Self::Metadata;
            }
            if media.trim_start().starts_with("application/json") && !media.contains("as=") {
                return Self::Whole;
            }
        }
        Self::Whole
    }
}

/// A list of which somebody has read a part: all objects of a resource as they were, since who reads on may choose others of them.
#[derive(Clone, Debug)]
struct Rest {
    id: u64,
    version: u64,
    resource: (String, String),
    items: Arc<[Item]>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Item {
    place: (Symbol, Symbol),
    json: Bytes,
    seen: Seen,
}

/// Lists that are read page by page: each stays as it was when it was begun.
#[derive(Debug, Default)]
pub(super) struct Pages {
    rests: VecDeque<Rest>,
    last: u64,
}

impl Pages {
    pub(super) fn forget(&mut self) {
        self.rests.clear();
    }

    fn keep(&mut self, version: u64, resource: (String, String), items: Arc<[Item]>) -> u64 {
        self.last += 1;
        let bytes = items.iter().map(|item| item.json.len()).sum();
        self.rests.push_back(Rest { id: self.last, version, resource, items, bytes });
        while self.rests.len() > PAGES_MAX
            || self.rests.len() > 1 && self.rests.iter().map(|rest| rest.bytes).sum::<usize>() > PAGES_BYTES_MAX
        {
            self.rests.pop_front();
        }
        self.last
    }
}

impl Choice {
    /// What a path asks for.
    pub(super) fn of(path: &Path, target: &Target) -> Result<Self, Box<Status>> {
        let namespace = Some(target.namespace.as_str()).filter(|namespace| !namespace.is_empty()).map(Symbol::new);
        Ok(Self { namespace, selection: Selection::read(path, &target.resource)? })
    }
}

impl Session {
    /// A list of objects.
    ///
    /// # Source
    /// apiserver, `GetList` of `etcd3.store`: a continue token says which version is read, and behind which object. Selectors are those of the
    /// request at hand. How many remain is told where nothing is selected.
    pub(super) fn list(&mut self, path: &Path, target: &Target, form: Form) -> Result<Bytes, Box<Status>> {
        let options = ListOptions::read(path)?;
        let limit = options.limit.unwrap_or(ITEMS_MAX).min(ITEMS_MAX);
        let choice = Choice::of(path, target)?;
        let resource = (target.resource.name(), target.resource.api_version());
        let (version, items, id, first) = if options.next.is_empty() {
            self.check_version(&options)?;
            let place = self.attend(&target.resource);
            // Signs of life are no events of the run.
            if resource.0 == super::session::LEASES || resource.0 == "nodes" {
                self.look_again(&resource.0);
            }
            // What has an age looks older now, although nothing has happened to it.
            if let Form::Table(_) = form {
                self.age(place);
            }
            let (audience, version) = (&self.audiences[place], self.versions.last());
            let chosen = items(audience, &choice);
            if chosen.len() <= limit {
                let page: Vec<&Item> = chosen.iter().collect();
                return Ok(written(&target.resource, json!({"resourceVersion": version.to_string()}), &page, form));
            }
            (version, items(audience, &Choice::default()), None, 0)
        } else {
            if !matches!(options.version.as_str(), "" | "0") {
                let text = "specifying resource version is not allowed when using continue";
                return Err(Box::new(Status::bad_request(text)));
            }
            let (rest, first) = self.rest_of(&options.next, &resource)?;
            (rest.version, rest.items, Some(rest.id), first)
        };
        let first = first.min(items.len());
        let mut chosen =
            items.iter().enumerate().skip(first).filter(|(_, item)| choice.takes(item.place, &item.seen.traits));
        let mut last = first;
        let page: Vec<&Item> = chosen
            .by_ref()
            .take(limit)
            .map(|(place, item)| {
                last = place + 1;
                item
            })
            .collect();
        let remaining = if choice.is_everything() { chosen.count() } else { usize::from(chosen.next().is_some()) };
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if remaining > 0 {
            let id = id.unwrap_or_else(|| self.pages.keep(version, resource, Arc::clone(&items)));
            metadata["continue"] = format!("{id}.{last}").into();
            if choice.is_everything() {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        Ok(written(&target.resource, metadata, &page, form))
    }

    fn rest_of(&self, token: &str, resource: &(String, String)) -> Result<(Rest, usize), Box<Status>> {
        let parts = token.split_once('.').and_then(|(id, first)| Some((id.parse::<u64>().ok()?, first.parse().ok()?)));
        let invalid = |why: &str| {
            Box::new(Status::bad_request(format!("invalid continue token: continue key is not valid: {why}")))
        };
        let Some((id, first)) = parts else { return Err(invalid("it is none of this server's")) };
        let text = "The provided continue parameter is too old to display a consistent list result. You must start a new \
                    list without the continue parameter.";
        match self.pages.rests.iter().find(|rest| rest.id == id) {
            Some(rest) if rest.resource != *resource => Err(invalid(&format!("it is of {}", rest.resource.0))),
            Some(rest) => Ok((rest.clone(), first)),
            None => Err(Box::new(Status::expired(text))),
        }
    }

    /// A list of an exact version is only to be had if it is the newest.
    fn check_version(&self, options: &ListOptions) -> Result<(), Box<Status>> {
        if matches!(options.version.as_str(), "" | "0") {
            return Ok(());
        }
        let Ok(version) = options.version.parse::<u64>() else {
            let text = format!("Invalid value: {:?}: it is no version", options.version);
            return Err(Box::new(Status::bad_request(text)));
        };
        if version < self.versions.base() || options.is_exact && version != self.versions.last() {
            return Err(Box::new(Status::expired("The resourceVersion for the provided list is too old.")));
        }
        if version > self.versions.last() {
            let text = format!("Too large resource version: {version}, current: {}", self.versions.last());
            return Err(Box::new(Status::new(504, "Timeout", text)));
        }
        Ok(())
    }

    /// Cells as they read now.
    fn age(&mut self, place: usize) {
        let resource = self.audiences[place].resource.clone();
        for key in self.keys_of(&resource) {
            if let Some((_, cells)) = self.look(&resource, key)
                && let Some(known) = self.audiences[place].objects.get_mut(&(key.namespace, key.name))
            {
                known.seen.cells = cells;
            }
        }
    }

    /// One object.
    pub(super) fn get(&self, target: &Target, form: Form) -> Result<Bytes, Box<Status>> {
        let key = crate::rest::Key::new(&target.resource.name(), &target.namespace, &target.name);
        let found = self.look(&target.resource, key);
        let (mut object, cells) = found.ok_or_else(|| Box::new(target.missing()))?;
        let version = self.versions.of(key);
        object["metadata"]["resourceVersion"] = version.to_string().into();
        let value = match form {
            Form::Whole => object,
            Form::Metadata => table::metadata_of(&object),
            Form::Table(included) => {
                let row = table::row(&cells, &object, included);
                table::table(Some(table::columns(&target.resource)), vec![row], &version.to_string())
            }
        };
        Ok(Bytes::from(value.to_string()))
    }
}

/// The objects of a resource that are chosen, in the order of namespaces and names.
fn items(audience: &Audience, choice: &Choice) -> Arc<[Item]> {
    let chosen = audience.objects.iter().filter(|(place, known)| choice.takes(**place, &known.seen.traits));
    let mut chosen: Vec<_> = chosen.collect();
    chosen.sort_by_key(|((namespace, name), _)| (namespace.as_str(), name.as_str()));
    let item = |(place, known): (&(Symbol, Symbol), &Known)| Item {
        place: *place,
        json: known.json.clone(),
        seen: known.seen.clone(),
    };
    chosen.into_iter().map(item).collect()
}

fn written(resource: &Resource, metadata: Value, page: &[&Item], form: Form) -> Bytes {
    let read = |item: &Item| serde_json::from_slice::<Value>(&item.json).unwrap_or_default();
    let value = match form {
        Form::Table(included) => {
            let rows = page.iter().map(|item| match included {
                Included::Nothing => table::row(&item.seen.cells, &Value::Null, included),
                _ => table::row(&item.seen.cells, &read(item), included),
            });
            let mut value = table::table(Some(table::columns(resource)), rows.collect(), "");
            value["metadata"] = metadata;
            value
        }
        Form::Metadata => {
            let items: Vec<Value> = page.iter().map(|item| table::metadata_of(&read(item))).collect();
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": items,
            })
        }
        Form::Whole => {
            let head = json!({
                "kind": format!("{}List", resource.kind_name), "apiVersion": resource.api_version(),
                "metadata": metadata,
            });
            let head = head.to_string();
            let size = page.iter().map(|item| item.json.len() + 1).sum::<usize>() + head.len() + 16;
            let mut text = Vec::with_capacity(size);
            text.extend_from_slice(head.trim_end_matches('}').as_bytes());
            // The metadata ends with a brace of its own.
            text.push(b'}');
            text.extend_from_slice(b",\"items\":[");
            for (index, item) in page.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(&item.json);
            }
            text.extend_from_slice(b"]}");
            return Bytes::from(text);
        }
    };
    Bytes::from(value.to_string())
}
