//! Objects as they stood when a dump was made: their conditions, taints and time stamps.

pub(super) mod fields;
mod node;
mod pod;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, BufRead, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{ClockOptions, Evidence};
use crate::diagnostics::{Diagnostic, Location};
use crate::evidence::{Bounds, Instant, Record, RecordKind, What};
use crate::model::yaml::{self, Piece};
pub(super) use pod::ended_by;

use fields::{LeaseSpec, Metadata, NodeSpec, NodeStatus, PodSpec, PodStatus, Text, stamp_of, text};

/// The largest text that is read, in bytes.
const TEXT_MAX: u64 = 1 << 30;

/// Reads nodes, pods and node leases; other kinds are passed over.
pub(in crate::import::outage) fn read(
    name: &str,
    content: &mut dyn BufRead,
    _clock: &ClockOptions,
    into: &mut Evidence,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let read = content.take(TEXT_MAX + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > TEXT_MAX {
        into.not_read(name, "it is larger than 1 GiB, the most that is read of a dump");
        return Ok(());
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut dump = Dump { name, into, found: Found::default(), objects: 0 };
    dump.text(text.trim_start_matches('\u{feff}'));
    dump.finish();
    read.map(|_| ())
}

/// What objects say.
#[derive(Debug, Default)]
struct Found {
    seen: Vec<(Bounds, u32, What)>,
    /// What came about at some time from then on until the dump.
    since: Vec<(Instant, u32, What)>,
    /// What is so at the time of the dump.
    standing: Vec<(u32, What)>,
    /// The newest time stamp: the dump is not older.
    newest: Option<Instant>,
    /// Which item is read, counted from 1.
    place: u32,
}

impl Found {
    fn see(&mut self, when: Bounds, what: What) {
        self.newest = self.newest.max(Some(when.earliest));
        self.seen.push((when, self.place, what));
    }

    fn since(&mut self, begin: Instant, what: What) {
        self.since.push((begin, self.place, what));
    }

    fn stands(&mut self, what: What) {
        self.standing.push((self.place, what));
    }
}

/// A dump while it is read.
struct Dump<'a> {
    name: &'a str,
    into: &'a mut Evidence,
    found: Found,
    /// Nodes, pods and leases.
    objects: usize,
}

/// An item, cut but not read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    metadata: Option<&'a RawValue>,
    spec: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
}

/// By what the kind of an item is told that does not say it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Marks {
    containers: Option<Vec<IgnoredAny>>,
    renew_time: Option<IgnoredAny>,
    node_info: Option<IgnoredAny>,
}

impl Item<'_> {
    fn kind(&self) -> &str {
        if let Some(kind) = &self.kind {
            return &kind.0;
        }
        let marks = |part: Option<&RawValue>| parse::<Marks>(part).unwrap_or_default();
        let (spec, status) = (marks(self.spec), marks(self.status));
        match (spec.containers, spec.renew_time, status.node_info) {
            (Some(_), ..) => "Pod",
            (_, Some(_), _) => "Lease",
            (.., Some(_)) => "Node",
            _ => "",
        }
    }
}

/// Reads a part of an object; what is not there is empty.
fn parse<'a, T: Deserialize<'a> + Default>(part: Option<&'a RawValue>) -> Result<T, serde_json::Error> {
    let Some(part) = part else { return Ok(T::default()) };
    Ok(serde_json::from_str::<Option<T>>(part.get())?.unwrap_or_default())
}

impl Dump<'_> {
    fn text(&mut self, text: &str) {
        if text.trim_start().starts_with(['{', '[']) {
            return self.json(text);
        }
        for document in yaml::documents(text) {
            if yaml::is_cut_list(&document) {
                self.into.not_read(self.name, yaml::CUT_LIST);
            }
            match yaml::list_items(&document) {
                Some(items) => items.iter().for_each(|item| self.yaml(item)),
                None => self.yaml(&document),
            }
        }
    }

    fn yaml(&mut self, piece: &Piece<'_>) {
        let options = yaml::options_with_duplicates(&piece.text);
        match serde_saphyr::from_str_with_options::<serde_json::Value>(&piece.text, options) {
            Ok(tree) => self.json(&tree.to_string()),
            Err(error) => self.problem(piece.line_offset + 1, &error.to_string()),
        }
    }

    /// JSON values, one after the other.
    fn json(&mut self, text: &str) {
        let mut rest = text;
        while !rest.trim_start().is_empty() {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
            // A list is read item by item, so that what stands before its broken end counts.
            let (end, error) = match values.next() {
                Some(Ok(_)) => (values.byte_offset(), None),
                Some(Err(error)) => (rest.len(), Some(error)),
                None => return,
            };
            let mut value = serde_json::Deserializer::from_str(&rest[..end]);
            let read = Objects(self).deserialize(&mut value);
            match error {
                Some(error) if error.is_eof() => self.into.not_read(self.name, "it ends in the middle"),
                Some(error) => {
                    let line = text[..text.len() - rest.len()].matches('\n').count() + error.line();
                    self.problem(line, &error.to_string());
                }
                None => {
                    if let Err(error) = read {
                        self.problem(error.line(), &error.to_string());
                    }
                }
            }
            rest = &rest[end..];
        }
    }

    fn problem(&mut self, line: usize, why: &str) {
        let message = format!("an object of `{}` cannot be read: {why}", self.name);
        let location = Location::new(self.name, u32::try_from(line).unwrap_or(u32::MAX), 1, 1);
        self.into.problem(Diagnostic::warning("evidence::syntax", message).at(location, ""), None);
    }

    fn item(&mut self, item: &Item<'_>) {
        self.found.place = self.found.place.saturating_add(1);
        if let Err(error) = self.object(item) {
            let message = format!("item {} of `{}` cannot be read: {error}", self.found.place, self.name);
            let diagnostic = Diagnostic::warning("evidence::syntax", message);
            self.into.problem(diagnostic.at(Location::file(self.name), ""), None);
        }
    }

    fn object(&mut self, item: &Item<'_>) -> Result<(), serde_json::Error> {
        let kind = item.kind();
        if !matches!(kind, "Node" | "Pod" | "Lease") {
            return Ok(());
        }
        let metadata: Metadata<'_> = parse(item.metadata)?;
        if text(metadata.name.as_ref()).is_empty() {
            return Ok(());
        }
        match kind {
            "Node" => {
                node::read(
                    &metadata,
                    &parse::<NodeSpec<'_>>(item.spec)?,
                    &parse::<NodeStatus<'_>>(item.status)?,
                    &mut self.found,
                );
            }
            "Pod" => {
                pod::read(
                    &metadata,
                    &parse::<PodSpec<'_>>(item.spec)?,
                    &parse::<PodStatus<'_>>(item.status)?,
                    &mut self.found,
                );
            }
            _ => {
                let spec: LeaseSpec<'_> = parse(item.spec)?;
                if text(metadata.namespace.as_ref()) != "kube-node-lease" {
                    return Ok(());
                }
                if let Some(when) = stamp_of(spec.renew_time.as_ref()) {
                    let node = metadata.name.as_ref().map_or_else(Default::default, Text::symbol);
                    self.found.see(when, What::Heartbeat { node });
                }
            }
        }
        self.objects += 1;
        Ok(())
    }

    fn finish(self) {
        let Self { name, into, found, objects } = self;
        if objects == 0 {
            into.passed_over += 1;
            return;
        }
        // Whole seconds, as most stamps are: what stands is seen once all of them have passed.
        let dumped = found.newest.map(Bounds::second);
        let record =
            into.begin(Record { name: name.to_owned(), kind: RecordKind::Objects, covers: dumped, step: None });
        for (when, place, what) in found.seen {
            into.see(record, place, when, what);
        }
        let Some(dumped) = dumped else { return };
        for (begin, place, what) in found.since {
            into.see(record, place, Bounds::between(begin, dumped.latest), what);
        }
        for (place, what) in found.standing {
            into.see(record, place, dumped, what);
        }
    }
}

/// Reads an object, the items of a list, or a bare array of objects.
struct Objects<'d, 'a>(&'d mut Dump<'a>);

impl<'de> DeserializeSeed<'de> for Objects<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of the API or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(raw) = items.next_element::<&'de RawValue>()? {
            match serde_json::from_str::<Item<'_>>(raw.get()) {
                Ok(item) => self.0.item(&item),
                Err(error) => {
                    self.0.found.place = self.0.found.place.saturating_add(1);
                    let line = self.0.found.place as usize;
                    self.0.problem(line, &error.to_string());
                }
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut item = Item::default();
        let mut is_list = false;
        while let Some(key) = fields.next_key::<Text<'de>>()? {
            match &*key.0 {
                "items" => {
                    is_list = true;
                    fields.next_value_seed(Items(self.0))?;
                }
                "kind" => item.kind = fields.next_value()?,
                "metadata" => item.metadata = fields.next_value()?,
                "spec" => item.spec = fields.next_value()?,
                "status" => item.status = fields.next_value()?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        if !is_list {
            self.0.item(&item);
        }
        Ok(())
    }
}

/// The items of a list, which may be null.
struct Items<'d, 'a>(&'d mut Dump<'a>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of objects")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        Objects(self.0).visit_seq(items)
    }
}
