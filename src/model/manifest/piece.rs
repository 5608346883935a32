//! One document or list item: from text to an object.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_saphyr::UserMessageFormatter;

use super::locate::{self, Place, Wanted};
use super::object::{Object, ObjectKind, ReadAs};
use super::settle::settle;
use super::wording::{nearest_word, reword, syntax_error};
use super::{ManifestObject, NotModelled, SkipReason, for_people, of_tools, recognize};
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Location, Severity};
use crate::model::config::KubernetesVersion;
use crate::model::field_path::FieldPath;
use crate::model::validation::{self, ErrorKind};
use crate::model::yaml::{self, Piece};
use crate::model::{api_fields, is_served, served_as};

/// Characters of a value that a row shows.
const EXCERPT_LENGTH_MAX: usize = 60;

/// What is said of each field that no type has.
///
/// Behind a pointer on purpose: a closure's own type would depend on the object's kind, and with it every reader of every
/// nested type would be compiled again for each kind, which took minutes.
type OnIgnored<'a> = dyn FnMut(serde_ignored::Path<'_>) + 'a;

/// A file that has been read.
#[derive(Clone, Debug)]
pub(super) struct File<'a> {
    pub name: Symbol,
    pub text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Yaml,
    Json,
}

/// Reads JSON text. There is one such reader, as each makes every nested type be compiled once more.
pub(super) fn read_json<T: DeserializeOwned>(
    text: &str,
    on_ignored: &mut OnIgnored<'_>,
) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_ignored::deserialize(&mut deserializer, on_ignored)?;
    deserializer.end()?;
    Ok(value)
}

/// A piece of a file that holds one object.
#[derive(Clone, Debug)]
pub(super) struct TextPiece<'a> {
    pub piece: Piece<'a>,
    pub syntax: Syntax,
    /// What an item is if it does not say so itself, as in a `PodList`.
    pub implied: Option<(Symbol, Symbol)>,
    /// Whether it stands in a list.
    pub is_item: bool,
}

/// What came of a piece.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub object: Option<ManifestObject>,
    /// How rows name the object, and its kind.
    pub label: String,
    pub kind: Symbol,
    pub line: u32,
    /// Fields of the object that have no effect, in the order of the text.
    pub without_effect: Vec<FieldPath>,
    pub not_modelled_kind: Option<NotModelled>,
    /// Why nothing came of it.
    pub skipped: Option<SkipReason>,
    /// Whether the API server would refuse the object.
    pub is_refused: bool,
    pub diagnostics: Vec<Diagnostic>,
}

impl Reading {
    fn skip(&mut self, reason: SkipReason, diagnostic: Diagnostic) {
        self.skipped = Some(reason);
        self.diagnostics.push(diagnostic);
    }

    fn refuse(&mut self, piece: &TextPiece<'_>, file: &File<'_>, error: &ReadError) {
        let mut diagnostic = piece.diagnose(file, error);
        let is_template = diagnostic.code == "manifest::template";
        let is_played = |kind: Symbol| ObjectKind::ALL.iter().any(|known| kind == known.as_str());
        // A template of a kind that is played is a part of the cluster that is missing.
        if is_template && is_played(self.kind) {
            diagnostic.severity = Severity::Error;
            diagnostic.message = format!("this {} is a template that is not filled in", self.kind);
        }
        self.skip(if is_template { SkipReason::Template } else { SkipReason::Unreadable }, diagnostic);
    }
}

/// Whether an error lists the value that it refuses among the supported ones, as the API server does where a gate decides.
fn is_listed_as_supported(error: &validation::FieldError) -> bool {
    error.value.as_ref().is_some_and(|value| error.detail.contains(value.as_str()))
}

/// What identifies the kind of an object.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Header {
    pub api_version: Option<Symbol>,
    pub kind: Option<Symbol>,
    pub metadata: Option<HeaderMetadata>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct HeaderMetadata {
    name: Option<Symbol>,
    namespace: Option<Symbol>,
}

impl Header {
    pub(super) fn kind(&self) -> Symbol {
        self.kind.unwrap_or_default()
    }

    pub(super) fn api_version(&self) -> Symbol {
        self.api_version.unwrap_or_default()
    }

    /// The kind of the items, if this is a list. A plain `List` leaves it to the items.
    pub(super) fn item_kind(&self) -> Option<&'static str> {
        self.kind().as_str().strip_suffix("List")
    }
}

/// What parsers say is wrong, and where.
#[derive(Debug)]
pub(super) struct ReadError {
    pub message: String,
    /// Lines and characters before the place, within the piece.
    pub place: Option<(usize, usize)>,
    pub is_repeated_key: bool,
    /// Whether the text is not YAML or JSON at all.
    pub is_syntax: bool,
    /// What to write instead, where that is known.
    pub help: Option<String>,
}

impl TextPiece<'_> {
    /// The line of the file for a line of the piece.
    pub(super) fn line(&self, line_index: usize) -> u32 {
        saturating_u32(self.piece.line_offset + line_index + 1)
    }

    /// The first line with content, and what it says.
    pub(super) fn first_line(&self) -> (u32, &str) {
        let mut lines = self.piece.text.lines().enumerate();
        let first = lines.find(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
        first.map_or((self.line(0), ""), |(line_index, line)| (self.line(line_index), line.trim_start()))
    }

    pub(super) fn locate<'p>(&self, paths: impl Iterator<Item = &'p FieldPath>, count: usize) -> Vec<Option<Place>> {
        let wanted = Wanted::new(paths);
        match self.syntax {
            Syntax::Yaml => locate::in_yaml(&self.piece.text, &wanted, count),
            Syntax::Json => locate::in_json(&self.piece.text, &wanted, count),
        }
    }

    /// The beginning of a value as it is written.
    pub(super) fn excerpt(&self, place: Place) -> String {
        let (line_index, column_index) = place.value;
        let line = self.piece.text.lines().nth(line_index).unwrap_or_default();
        let before: String = line.chars().take(column_index).collect();
        let is_in_flow = self.syntax == Syntax::Json || flow_end(&before, true).1 > 0;
        let rest: String = line.chars().skip(column_index).collect();
        let text = &rest[..flow_end(&rest, !is_in_flow).0];
        let text = text.trim_end().trim_end_matches(',');
        if text.chars().count() > EXCERPT_LENGTH_MAX {
            text.chars().take(EXCERPT_LENGTH_MAX).chain(['…']).collect()
        } else {
            text.to_owned()
        }
    }

    /// Whether it is a list in itself, without an object around it.
    pub(super) fn is_sequence(&self) -> bool {
        let (_, first) = self.first_line();
        first.starts_with("- ") || first.starts_with('[') || first == "-"
    }

    /// The header of an item of a list that is a list itself.
    pub(super) fn list_in_list(&self) -> Option<Header> {
        let may_be = self.is_item && self.piece.text.contains("List") && self.piece.text.contains("items");
        may_be.then(|| self.header().ok()).flatten().filter(|header| header.item_kind().is_some())
    }

    /// Reads the object.
    pub(super) fn read(&self, file: &File<'_>) -> Reading {
        let line = self.first_line().0;
        let mut reading = Reading { line, ..Reading::default() };
        let location = || self.location(file, None, line);
        if self.syntax == Syntax::Yaml
            && let Some(diagnostic) = for_people::explain(&self.piece.text, location)
        {
            reading.skip(SkipReason::ForPeople, diagnostic);
            return reading;
        }
        if self.is_item && !self.piece.text.trim_start().starts_with('{') && self.syntax == Syntax::Json {
            reading.skip(SkipReason::NotAnObject, self.not_an_object(file, &Header::default()));
            return reading;
        }
        let header = match self.header() {
            Ok(header) => header,
            Err(error) => {
                reading.kind = self.kind_on_its_line().unwrap_or_default();
                reading.refuse(self, file, &error);
                return reading;
            }
        };
        let header = self.identified(file, header);
        reading.kind = header.kind();
        if header.kind() == "Table" {
            reading.skip(SkipReason::ForPeople, for_people::server_table(location()));
            return reading;
        }
        if let Some(diagnostic) = of_tools::unbuilt(file.name.as_str(), &header, location) {
            if header.kind().is_empty() {
                reading.skip(SkipReason::NotAnObject, diagnostic);
                return reading;
            }
            reading.diagnostics.push(diagnostic);
        }
        if header.kind().is_empty() || (header.api_version().is_empty() && self.implied.is_none()) {
            reading.skip(SkipReason::NotAnObject, self.not_an_object(file, &header));
            return reading;
        }
        match ObjectKind::find(header.api_version().as_str(), header.kind().as_str()) {
            Some(kind) => self.read_object(file, kind, &header, &mut reading),
            None => self.list_kind(file, &header, &mut reading),
        }
        reading
    }

    /// The header, with what content and path tell where it does not say what the object is.
    fn identified(&self, file: &File<'_>, mut header: Header) -> Header {
        let said = (header.api_version.is_some_and(|v| !v.is_empty()), header.kind.is_some_and(|k| !k.is_empty()));
        match said {
            (false, true) if self.is_item => {
                header.api_version = recognize::api_version_of(header.kind().as_str()).map(Symbol::new);
            }
            (false, false) => {
                let tree = match self.syntax {
                    Syntax::Json => read_json(&self.piece.text, &mut |_| {}).ok(),
                    Syntax::Yaml => self.parse_yaml(yaml::options_with_duplicates).ok(),
                };
                if let Some((api_version, kind)) =
                    tree.and_then(|tree: serde_json::Value| recognize::recognize(file.name.as_str(), &tree))
                {
                    header.api_version = Some(Symbol::new(api_version));
                    header.kind = Some(Symbol::new(kind));
                }
            }
            _ => {}
        }
        header
    }

    /// The kind that a line of its own says, for a text that no parser takes.
    fn kind_on_its_line(&self) -> Option<Symbol> {
        let kinds = self.piece.text.lines().filter_map(|line| line.strip_prefix("kind:"));
        let mut words = kinds.map(str::trim).filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        words.next().map(Symbol::from)
    }

    fn read_object(&self, file: &File<'_>, kind: ObjectKind, header: &Header, reading: &mut Reading) {
        let mut ignored = Vec::new();
        let mut doubt = None;
        let mut result = self.read_as_kubernetes(kind, &mut ignored, &mut doubt);
        if let Some(doubt) = doubt {
            let mut diagnostic = self.diagnose(file, &doubt);
            diagnostic.severity = Severity::Warning;
            diagnostic.code = "manifest::letter";
            reading.diagnostics.push(diagnostic);
        }
        if let Err(error) = &result
            && error.is_repeated_key
        {
            let location = self.location(file, error.place, reading.line);
            reading.diagnostics.push(
                Diagnostic::warning("manifest::repeated_key", "a key is written twice in one map")
                    .at(location, "the last value counts")
                    .help("remove one of the two; `kubectl apply` refuses the manifest"),
            );
            ignored.clear();
            // A tree keeps the last value of a key.
            let json = match self.syntax {
                Syntax::Json => read_json::<serde_json::Value>(&self.piece.text, &mut |_| {})
                    .map(|tree| tree.to_string())
                    .map_err(|error| read_error_of_json(&error)),
                Syntax::Yaml => self.as_json(yaml::options_with_duplicates).map(Cow::into_owned),
            };
            result = json.and_then(|json| self.read_json_of(kind, &json, &mut ignored));
        }
        let mut object = match result {
            Ok(object) => object,
            Err(error) => return reading.refuse(self, file, &error),
        };
        // What a server has taken is of the right types, in its version.
        let is_stored = object.metadata().uid.is_some_and(|uid| !uid.is_empty());
        if !is_stored
            && api_fields::has_kind(header.api_version().as_str(), kind.as_str())
            && let Some(error) = self.mistyped(kind)
        {
            return reading.refuse(self, file, &error);
        }
        let names_namespace = !object.metadata().namespace.is_empty();
        settle(&mut object, header.api_version().as_str());
        reading.label = object.label();
        if let Some(diagnostic) = self.check_names(file, &object, reading.line) {
            return reading.skip(SkipReason::Unreadable, diagnostic);
        }
        self.list_refused(file, &object, reading);
        if !is_stored {
            reading
                .diagnostics
                .extend(of_tools::hook(&object, &reading.label, || self.location(file, None, reading.line)));
        }
        ignored.retain(|path| !matches!(path.to_string().as_str(), "apiVersion" | "kind"));
        let unknown_fields = self.list_unknown(file, &object, header.api_version().as_str(), &ignored, reading);
        object.opaque_parts(&mut |path| ignored.push(path.clone()));
        reading.without_effect = ignored;
        let source = self.location(file, None, reading.line);
        self.warn_of_version(file, header, &object, reading);
        let api_version = header.api_version();
        reading.object = Some(ManifestObject { object, source, names_namespace, unknown_fields, api_version });
    }

    /// Warns of what is no field of the API. What a server has taken had none, in its version.
    ///
    /// # Differs
    /// Below what the model keeps as it is written, or does not read, nothing is looked at.
    fn list_unknown(
        &self,
        file: &File<'_>,
        object: &Object,
        api_version: &str,
        ignored: &[FieldPath],
        reading: &mut Reading,
    ) -> Vec<String> {
        let kind = object.kind().as_str();
        let is_stored = object.metadata().uid.is_some_and(|uid| !uid.is_empty());
        if ignored.is_empty() || is_stored || !api_fields::has_kind(api_version, kind) {
            return Vec::new();
        }
        let mut paths = Vec::new();
        for path in ignored {
            let Some(unknown) = api_fields::unknown(kind, path) else { continue };
            let path: FieldPath = path.steps()[..unknown.length].iter().copied().collect();
            let name = path.steps().last().and_then(|step| step.key()).unwrap_or_default();
            let place = self.locate(std::iter::once(&path), 1)[0];
            let location = self.location(file, place.map(|at| (at.line_index, at.column_index)), reading.line);
            let message = format!("{}: `{name}` is not a field of {}", reading.label, unknown.of);
            let diagnostic = Diagnostic::warning("manifest::unknown_field", message)
                .at(location, "the API server drops this, and kubectl refuses it unless `--validate=false`");
            reading.diagnostics.push(match unknown.nearest {
                Some(nearest) => diagnostic.help(format!("the nearest field is `{nearest}`")),
                None => diagnostic,
            });
            paths.push(path.to_string());
        }
        paths
    }

    /// What the API server would refuse, each at its field, or at the nearest thing around it that is written.
    fn list_refused(&self, file: &File<'_>, object: &Object, reading: &mut Reading) {
        for error in validation::validate(object) {
            reading.is_refused = true;
            let steps = error.path.steps();
            let ways: Vec<FieldPath> =
                (1..=steps.len()).map(|count| steps[..count].iter().copied().collect()).collect();
            let places = self.locate(ways.iter(), ways.len());
            let found = places.iter().rposition(Option::is_some);
            let place = found.and_then(|index| places[index]).map(|place| {
                let is_it = found == Some(ways.len() - 1) && place.value.0 == place.line_index;
                if is_it { place.value } else { (place.line_index, place.column_index) }
            });
            let location = self.location(file, place, reading.line);
            let diagnostic = Diagnostic::error("manifest::refused", format!("{} is invalid: {error}", reading.label));
            let diagnostic = diagnostic.at(location, "the API server refuses this");
            let is_template = error.value.as_ref().is_some_and(|value| value.contains("{{"));
            let field = error.field.rsplit('.').next().unwrap_or_default();
            reading.diagnostics.push(match error.kind {
                _ if is_template => {
                    diagnostic.help("this is a template; fill it in first, for example with `helm template`")
                }
                ErrorKind::NotSupported if is_listed_as_supported(&error) => diagnostic.help(
                    "the API server knows the value, and takes it only with a feature gate that is off by default",
                ),
                ErrorKind::Required if error.detail.is_empty() && !field.ends_with(']') => {
                    diagnostic.help(format!("add `{field}`"))
                }
                _ => diagnostic,
            });
        }
    }

    /// A row for an object whose kind is not modelled.
    fn list_kind(&self, file: &File<'_>, header: &Header, reading: &mut Reading) {
        let metadata = header.metadata.unwrap_or_default();
        let name = metadata.name.unwrap_or_default();
        let kind = header.kind();
        reading.label = match metadata.namespace {
            Some(namespace) if !namespace.is_empty() => format!("{kind} {namespace}/{name}"),
            _ => format!("{kind} {name}"),
        };
        reading.not_modelled_kind = Some(NotModelled {
            file: file.name,
            line: reading.line,
            object: reading.label.clone(),
            path: "kind".to_owned(),
            value_excerpt: kind.as_str().to_owned(),
            count: 1,
        });
        if let Some(error) = self.mistaken_in_stored(header) {
            return reading.refuse(self, file, &error);
        }
        reading.object = self.stored(file, header, reading.line);
        if let Some(object) = reading.object.as_ref().map(|written| written.object.clone()) {
            self.warn_of_version(file, header, &object, reading);
            // What is written in a version that is gone is not judged by the rules of today's.
            if matches!(object, Object::Stored(_)) && object.metadata().uid.is_none_or(|uid| uid.is_empty()) {
                self.list_refused(file, &object, reading);
            }
        }
    }

    /// Warns of a kind that no API server that is played serves in this version. What a server has taken was served there.
    fn warn_of_version(&self, file: &File<'_>, header: &Header, object: &Object, reading: &mut Reading) {
        let (kind, version) = (header.kind(), header.api_version());
        let metadata = object.metadata();
        let is_dumped = metadata.uid.is_some() || metadata.creation_timestamp.is_some();
        let newest = KubernetesVersion::NEWEST;
        if version.is_empty() || is_dumped || is_served(version.as_str(), kind.as_str(), newest) {
            return;
        }
        let effect = match object {
            Object::Stored(_) => "the API server has no such kind; it has no effect here".to_owned(),
            modelled => {
                format!("the API server has no such kind; a manifest is read as `{}`", modelled.kind().api_version())
            }
        };
        let message = format!("no matches for kind \"{kind}\" in version \"{version}\"");
        let diagnostic =
            Diagnostic::warning("manifest::no_match", message).at(self.location(file, None, reading.line), effect);
        reading.diagnostics.push(match served_as(kind.as_str(), newest) {
            Some(right) => diagnostic.help(format!("{kind} is of `{right}`")),
            None => diagnostic,
        });
    }

    /// An object whose kind is not modelled, as far as commands can name it. Events are what a run makes.
    fn stored(&self, file: &File<'_>, header: &Header, line: u32) -> Option<ManifestObject> {
        if header.kind() == "Event" || header.metadata.and_then(|metadata| metadata.name).is_none() {
            return None;
        }
        let json = self.as_json(yaml::options_with_duplicates).ok()?;
        let read = self.read_json_of(ObjectKind::Stored, &json, &mut Vec::new());
        let Ok(Object::Stored(mut object)) = read else { return None };
        object.take_for(header.kind(), header.api_version());
        let names_namespace = !object.metadata.namespace.is_empty();
        match (object.stored_kind().is_namespaced, object.metadata.namespace.is_empty()) {
            (true, true) => object.metadata.namespace = Symbol::from("default"),
            (false, false) => object.metadata.namespace = Symbol::default(),
            _ => {}
        }
        let source = self.location(file, None, line);
        let (object, unknown_fields, api_version) = (Object::Stored(object), Vec::new(), header.api_version());
        Some(ManifestObject { object, source, names_namespace, unknown_fields, api_version })
    }

    fn check_names(&self, file: &File<'_>, object: &Object, line: u32) -> Option<Diagnostic> {
        let metadata = object.metadata();
        if !metadata.name.is_empty() || !metadata.generate_name.is_empty() {
            return None;
        }
        let message = format!("this {} has no name", object.kind().as_str());
        let location = self.location(file, None, line);
        let diagnostic = Diagnostic::error("manifest::no_name", message).at(location, "this object");
        Some(diagnostic.help("give it `metadata.name`"))
    }

    /// What to say about text that is no API object. Whatever has neither kind nor version is likely not meant to be
    /// one: values of a chart, a kustomization.
    fn not_an_object(&self, file: &File<'_>, header: &Header) -> Diagnostic {
        let location = self.location(file, None, self.first_line().0);
        let (missing, diagnostic) = match (header.kind().is_empty(), header.api_version().is_empty()) {
            (true, true) => {
                let message = "this document is not a Kubernetes object and is skipped";
                return Diagnostic::warning("manifest::not_an_object", message)
                    .at(location, "has neither `apiVersion` nor `kind`");
            }
            (true, false) => ("kind", "the object has no `kind`".to_owned()),
            (false, _) => ("apiVersion", format!("the {} has no `apiVersion`", header.kind())),
        };
        let diagnostic = Diagnostic::error("manifest::not_an_object", diagnostic).at(location, "this object");
        let help = match recognize::api_version_of(header.kind().as_str()).filter(|_| missing == "apiVersion") {
            Some(api_version) => format!("add `apiVersion: {api_version}`"),
            None => format!("add `{missing}`"),
        };
        diagnostic.help(help)
    }

    pub(super) fn header(&self) -> Result<Header, ReadError> {
        let mut header = match self.syntax {
            Syntax::Yaml => match self.block_header() {
                Some(header) => header,
                None => self.parse_yaml(yaml::options_with_duplicates)?,
            },
            Syntax::Json => Self::parse_json_text(&self.piece.text, &mut |_| {})?,
        };
        if let Some((api_version, kind)) = self.implied {
            header.api_version.get_or_insert(api_version);
            header.kind.get_or_insert(kind);
        }
        Ok(header)
    }

    /// Reads the header of a kind that is modelled off the lines, which spares a second parse of everything. Gives up
    /// wherever a parser might see more than plain words.
    fn block_header(&self) -> Option<Header> {
        let text: &str = &self.piece.text;
        let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let first = text.lines().find(is_content)?;
        let indent = first.len() - first.trim_start_matches(' ').len();
        let mut header = Header::default();
        let mut has_items = false;
        for line in text.lines().filter(|line| line.len() > indent && !line.as_bytes()[indent].is_ascii_whitespace()) {
            if !line.as_bytes()[..indent].iter().all(|byte| *byte == b' ') {
                continue;
            }
            let (key, value) = line[indent..].split_once(':').unwrap_or_default();
            let field = match key {
                "kind" => &mut header.kind,
                "apiVersion" => &mut header.api_version,
                "items" => {
                    has_items = true;
                    continue;
                }
                _ => continue,
            };
            let value = value.trim();
            let is_word =
                !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./-".contains(&byte));
            if !is_word || field.replace(Symbol::from(value)).is_some() {
                return None;
            }
        }
        let kind = ObjectKind::find(header.api_version?.as_str(), header.kind?.as_str());
        let is_list = has_items && header.item_kind().is_some();
        (kind.is_some() || is_list).then_some(header)
    }

    /// Reads YAML as what asks for little: a header, a tree. Whatever has more types goes by way of JSON, see [`as_json`](Self::as_json), as
    /// each reader of YAML would be compiled for every one of them.
    fn parse_yaml<T: DeserializeOwned>(&self, options: fn(&str) -> serde_saphyr::Options) -> Result<T, ReadError> {
        let text: &str = &self.piece.text;
        serde_saphyr::from_str_with_options(text, options(text)).map_err(|error| read_error_of_yaml(&error))
    }

    /// The piece as JSON: its text if it is JSON; else what the reader of YAML takes it for, which also reads tags, merge keys, keys
    /// that stand twice, and says what is wrong with anything else.
    pub(super) fn as_json(&self, options: fn(&str) -> serde_saphyr::Options) -> Result<Cow<'_, str>, ReadError> {
        match self.syntax {
            Syntax::Json => Ok(Cow::Borrowed(&self.piece.text)),
            Syntax::Yaml => self.parse_yaml(options).map(|tree: serde_json::Value| Cow::Owned(tree.to_string())),
        }
    }

    /// Reads JSON as an object of that kind; in an error, places are those of the piece that it was made of.
    pub(super) fn read_json_of(
        &self,
        kind: ObjectKind,
        json: &str,
        ignored: &mut Vec<FieldPath>,
    ) -> Result<Object, ReadError> {
        kind.read(Source { json, ignored }).map_err(|error| self.placed(error, json))
    }

    /// The error with its place in the piece.
    pub(super) fn placed(&self, error: ReadError, json: &str) -> ReadError {
        match self.syntax {
            Syntax::Json => error,
            Syntax::Yaml => ReadError { place: error.place.and_then(|place| self.origin(json, place)), ..error },
        }
    }

    /// Where a value stands in the piece that stands there in JSON of one line which was made of it.
    pub(super) fn origin(&self, json: &str, (_, column): (usize, usize)) -> Option<(usize, usize)> {
        let path = locate::path_in_json(json, column);
        self.locate(std::iter::once(&path), 1)[0].map(|place| place.value)
    }

    pub(super) fn parse_json_text<T: DeserializeOwned>(
        text: &str,
        ignored: &mut dyn FnMut(FieldPath),
    ) -> Result<T, ReadError> {
        read_json(text, &mut |path| ignored(FieldPath::from(&path))).map_err(|error| read_error_of_json(&error))
    }

    pub(super) fn location(&self, file: &File<'_>, place: Option<(usize, usize)>, default_line: u32) -> Location {
        let (line, column, length) = match place {
            Some((line_index, column_index)) => {
                let line = self.piece.text.lines().nth(line_index).unwrap_or_default();
                let word = line.chars().skip(column_index).take_while(|character| !" ,]}\t".contains(*character));
                let offset = if line_index == 0 { self.piece.column_offset } else { 0 };
                (self.line(line_index), offset + column_index + 1, word.count().max(1))
            }
            None => (default_line, 1, 1),
        };
        Location::new(file.name.as_str(), line, saturating_u32(column), saturating_u32(length))
    }

    pub(super) fn diagnose(&self, file: &File<'_>, error: &ReadError) -> Diagnostic {
        let text: &str = &self.piece.text;
        let line = error.place.and_then(|(line_index, _)| text.lines().nth(line_index)).unwrap_or_default();
        let is_template = line.contains("{{") || text.lines().any(|line| line.trim_start().starts_with("{{"));
        if is_template {
            let braces = line.split_once("{{").map(|(before, _)| before.chars().count());
            let place = error.place.map(|(line_index, column)| (line_index, braces.unwrap_or(column)));
            return Diagnostic::warning("manifest::template", "this document is a template and is skipped")
                .at(self.location(file, place, self.first_line().0), "not YAML until it is filled in")
                .help("fill the template in first, for example with `helm template`");
        }
        let Some((line_index, column_index)) = error.place.filter(|_| !error.is_syntax) else {
            let location = self.location(file, error.place, self.first_line().0);
            return syntax_error(&error.message, location);
        };
        // Parsers name the key or the end of the value; the value itself is what the user must change.
        let path = locate::path_at(text, line_index, column_index);
        let value = self.locate(std::iter::once(&path), 1)[0].map_or((line_index, column_index), |place| place.value);
        let location = self.location(file, Some(value), self.first_line().0);
        let written =
            text.lines().nth(value.0).unwrap_or_default().chars().skip(value.1).take(location.length as usize);
        let message = reword(&error.message, &written.collect::<String>());
        let message = if path.steps().is_empty() { message } else { format!("{path}: {message}") };
        let diagnostic = Diagnostic::error("manifest::wrong_value", message).at(location, "this value");
        match error.help.clone().or_else(|| nearest_word(&error.message)) {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

fn saturating_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One parse of JSON as some kind.
pub(super) struct Source<'a> {
    pub json: &'a str,
    pub ignored: &'a mut Vec<FieldPath>,
}

impl ReadAs for Source<'_> {
    type Error = ReadError;

    fn read_as<T: DeserializeOwned>(self) -> Result<T, ReadError> {
        TextPiece::parse_json_text(self.json, &mut |path| self.ignored.push(path))
    }
}

fn read_error_of_json(error: &serde_json::Error) -> ReadError {
    let text = error.to_string();
    let message = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]).to_owned();
    let place = (error.line() > 0).then(|| (error.line() - 1, error.column().saturating_sub(1)));
    let is_repeated_key = message.starts_with("duplicate field ");
    ReadError { message, place, is_repeated_key, is_syntax: error.is_syntax() || error.is_eof(), help: None }
}

pub(super) fn read_error_of_yaml(error: &serde_saphyr::Error) -> ReadError {
    let error = error.without_snippet();
    let location = error.location();
    let place = location.map(|location| {
        let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        (index(location.line()), index(location.column()))
    });
    let text = error.render_with_formatter(&UserMessageFormatter);
    // The place is shown apart from the message.
    let message = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    let is_repeated_key = matches!(error, serde_saphyr::Error::DuplicateMappingKey { .. });
    // Of everything a parser can say, only these are about values.
    let is_syntax = !matches!(
        error,
        serde_saphyr::Error::Message { .. }
            | serde_saphyr::Error::Unexpected { .. }
            | serde_saphyr::Error::InvalidScalar { .. }
            | serde_saphyr::Error::SerdeInvalidType { .. }
            | serde_saphyr::Error::SerdeInvalidValue { .. }
            | serde_saphyr::Error::NullIntoString { .. }
            | serde_saphyr::Error::NonFiniteFloat { .. }
            | serde_saphyr::Error::UnexpectedValueForUnit { .. }
    );
    ReadError { message: message.to_owned(), place, is_repeated_key, is_syntax, help: None }
}

/// Where a value ends that begins a text, and how many maps and lists are open at its end. What closes more than it opened belongs to
/// what is around the value, and so does a comma, unless `keeps_commas`: outside of maps and lists in braces and brackets a comma is text.
fn flow_end(text: &str, keeps_commas: bool) -> (usize, i32) {
    let (mut depth, mut quote, mut is_escaped, mut last) = (0_i32, None, false, ' ');
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if " {[,:".contains(last) => quote = Some(character),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') if depth == 0 && !keeps_commas => return (at, depth),
            (None, '}' | ']') => depth -= 1,
            (None, ',') if depth == 0 && !keeps_commas => return (at, depth),
            (None, _) => {}
        }
        if depth < 0 {
            return (at, depth);
        }
        last = character;
    }
    (text.len(), depth)
}
