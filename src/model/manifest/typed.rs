//! Reading objects as Kubernetes does, which tells numbers and booleans from strings.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use super::as_json::{self, Letters};
use super::object::{Object, ObjectKind};
use super::piece::{Header, ReadError, Source, Syntax, TextPiece};
use super::wording::reword_type;
use crate::arena::Symbol;
use crate::model::ObjectMeta;
use crate::model::api_fields;
use crate::model::field_path::FieldPath;
use crate::model::yaml;

impl TextPiece<'_> {
    /// Reads an object by way of JSON, as Kubernetes does. Of what that refuses, a number or a boolean taken for a string, or the other
    /// way round, is told here; anything else is left to the reader of YAML, which says better what is wrong. A single letter that
    /// Kubernetes takes for a boolean is read as the text that is most likely meant; `doubt` says where.
    pub(super) fn read_as_kubernetes(
        &self,
        kind: ObjectKind,
        ignored: &mut Vec<FieldPath>,
        doubt: &mut Option<ReadError>,
    ) -> Result<Object, ReadError> {
        let as_json = match self.syntax {
            Syntax::Yaml => as_json::as_json(&self.piece.text, Letters::Text),
            Syntax::Json => None,
        };
        let Some(json) = as_json else {
            return self.read_json_of(kind, &self.as_json(yaml::options)?, ignored);
        };
        if let Some(place) = json.impossible {
            return Err(ReadError {
                message: format!("`{}` is a number that JSON does not have", self.written_at(place)),
                place: Some(place),
                is_repeated_key: false,
                is_syntax: false,
                help: Some("write it in quotes if it is a text; kubectl cannot make it into JSON".to_owned()),
            });
        }
        let (read, text) = self.read_with_letters(kind, json.text, json.has_letters, ignored);
        let error = match (read, json.misplaced) {
            (Ok(object), None) => {
                if json.has_letters {
                    *doubt = self.letter_in_doubt(kind);
                }
                return Ok(object);
            }
            (Ok(_), Some(place)) => return Err(self.misplaced(place)),
            (Err(error), _) => error,
        };
        if let Some(error) = self.mistaken(&error, &text) {
            return Err(error);
        }
        if json.has_letters {
            *doubt = self.letter_in_doubt(kind);
        }
        Err(self.placed(error, &text))
    }

    /// The object, with the JSON that it was read from: single letters are the booleans that they are for Kubernetes where one belongs, and
    /// text elsewhere.
    fn read_with_letters(
        &self,
        kind: ObjectKind,
        mut json: String,
        has_letters: bool,
        ignored: &mut Vec<FieldPath>,
    ) -> (Result<Object, ReadError>, String) {
        loop {
            ignored.clear();
            let read = kind.read(Source { json: &json, ignored });
            let letter = read.as_ref().err().filter(|_| has_letters).and_then(|error| self.boolean_at(error, &json));
            let Some((letter, value)) = letter else { return (read, json) };
            json.replace_range(letter, value);
        }
    }

    /// Where in the JSON a letter stands that has been refused as it is no boolean, and the boolean that it is.
    fn boolean_at(&self, error: &ReadError, json: &str) -> Option<(Range<usize>, &'static str)> {
        let letter = error.message.strip_prefix("invalid type: string \"")?.strip_suffix("\", expected a boolean")?;
        let value = match letter {
            "y" | "Y" => "true",
            "n" | "N" => "false",
            _ => return None,
        };
        // Behind quotes it would be text.
        let place = error.place?;
        (self.written_at(self.origin(json, place)?) == letter).then_some(())?;
        let begin = json.get(..=place.1)?.rfind(&format!("\"{letter}\""))?;
        Some((begin..begin + letter.len() + 2, value))
    }

    /// What to say of the first letter that cannot be the boolean which Kubernetes takes it for.
    fn letter_in_doubt(&self, kind: ObjectKind) -> Option<ReadError> {
        let json = as_json::as_json(&self.piece.text, Letters::Booleans)?;
        let error = kind.read(Source { json: &json.text, ignored: &mut Vec::new() }).err()?;
        self.in_doubt(self.mistaken(&error, &json.text)?)
    }

    /// A number or a boolean where a string belongs, or the other way round, as reading the piece as JSON has found it.
    fn mistaken(&self, error: &ReadError, json: &str) -> Option<ReadError> {
        let (found, expected) = error.message.strip_prefix("invalid type: ")?.split_once(", expected ")?;
        let is_string = found.starts_with("string ");
        let is_mistaken = match found.split(' ').next()? {
            "integer" | "floating" | "boolean" => is_text(expected),
            _ => {
                is_string
                    && matches!(reword_type(expected).as_str(), "a whole number" | "a number" | "`true` or `false`")
            }
        };
        if !is_mistaken {
            return None;
        }
        let place = self.origin(json, error.place?)?;
        let expected = reword_type(expected);
        let written = self.written_at(place);
        // Words where a number belongs are told by the reader of YAML.
        if is_string && !written.starts_with(['"', '\'']) {
            return None;
        }
        let help = match found.split_once('`').map(|(_, value)| value.trim_end_matches('`')) {
            _ if is_string => format!("write it without quotes; the API server takes no string for {expected}"),
            Some(value) if written != value => {
                format!(
                    "write it in quotes: YAML as Kubernetes reads it takes it for {value}, and the API server then refuses it"
                )
            }
            _ => "write it in quotes; the API server takes no number and no boolean for a string".to_owned(),
        };
        Some(ReadError {
            message: error.message.clone(),
            place: Some(place),
            is_repeated_key: false,
            is_syntax: false,
            help: Some(help),
        })
    }

    /// What is said of a letter that is read as text; none if it is not one.
    fn in_doubt(&self, error: ReadError) -> Option<ReadError> {
        let letter = self.written_at(error.place?);
        let message = format!("`{letter}` is a boolean for Kubernetes, which refuses it; here it is read as text");
        (letter.len() == 1).then(|| ReadError { message, help: Some("write it in quotes".to_owned()), ..error })
    }

    /// The word that stands at a place.
    fn written_at(&self, (line, column): (usize, usize)) -> String {
        let line = self.piece.text.lines().nth(line).unwrap_or_default();
        line.chars().skip(column).take_while(|character| !" ,]}\t".contains(*character)).collect()
    }

    /// A number or a boolean as an argument, or in the environment, of a program.
    fn misplaced(&self, place: (usize, usize)) -> ReadError {
        ReadError {
            message: "found a number or a boolean, expected a string".to_owned(),
            place: Some(place),
            is_repeated_key: false,
            is_syntax: false,
            help: Some("write it in quotes; the API server takes no number and no boolean for a string".to_owned()),
        }
    }

    /// A value of a field that decides nothing here, or is kept as it is written, and that cannot be the field's: the server's decoder
    /// refuses it as it does any other.
    ///
    /// # Source
    ///
    /// API machinery, the decoder of JSON: `cannot unmarshal … into Go struct field`.
    pub(super) fn mistyped(&self, kind: ObjectKind) -> Option<ReadError> {
        let text: &str = &self.piece.text;
        let found = match self.syntax {
            Syntax::Json => api_fields::mistyped(kind.as_str(), text)?,
            Syntax::Yaml => {
                let json = as_json::as_json(text, Letters::Text)?;
                let found = api_fields::mistyped(kind.as_str(), &json.text)?;
                // A letter is read as whatever fits.
                let is_letter =
                    ["y", "n", "Y", "N"].iter().any(|letter| found.message.contains(&format!("string {letter:?},")));
                if json.has_letters && is_letter {
                    return None;
                }
                found
            }
        };
        let place = self.locate(std::iter::once(&found.path), 1)[0].map(|place| place.value);
        let written = place.map(|place| self.written_at(place)).unwrap_or_default();
        let is_quoted = written.starts_with(['"', '\'']);
        let expected = found.message.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
        let help = match expected {
            "a string" => {
                Some("write it in quotes; the API server takes no number and no boolean for a string".to_owned())
            }
            "i32" | "i64" | "f64" | "a boolean" if is_quoted => {
                let expected = reword_type(expected);
                Some(format!("write it without quotes; the API server takes no string for {expected}"))
            }
            _ => None,
        };
        Some(ReadError { message: found.message, place, is_repeated_key: false, is_syntax: false, help })
    }

    /// What the API server would not take of an object of which only the name and labels, or words, are typed here.
    pub(super) fn mistaken_in_stored(&self, header: &Header) -> Option<ReadError> {
        /// # Source
        /// `ConfigMap` and `Secret` of the core API.
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Words {
            #[serde(rename = "metadata")]
            _metadata: Option<ObjectMeta>,
            #[serde(rename = "data")]
            _data: Option<BTreeMap<Symbol, Option<Symbol>>>,
            #[serde(rename = "stringData")]
            _string_data: Option<BTreeMap<Symbol, Option<Symbol>>>,
        }
        #[derive(Deserialize)]
        struct Named {
            #[serde(rename = "metadata")]
            _metadata: Option<ObjectMeta>,
        }
        if self.syntax == Syntax::Json {
            return None;
        }
        let json = as_json::as_json(&self.piece.text, Letters::Text)?.text;
        let is_words = header.api_version() == "v1" && matches!(header.kind().as_str(), "ConfigMap" | "Secret");
        let read = if is_words {
            Self::parse_json_text::<Words>(&json, &mut |_| {}).err()
        } else {
            Self::parse_json_text::<Named>(&json, &mut |_| {}).err()
        };
        self.mistaken(&read?, &json)
    }
}

/// Whether what a type expects is a string, in its words.
fn is_text(expected: &str) -> bool {
    expected == "a text" || expected.contains("string")
}
