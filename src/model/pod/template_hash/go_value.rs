//! Values of the API's types as Go has them: each field of a type in the order of its declaration, also those that nobody wrote.

use std::fmt::{self, Write};
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use crate::model::config::KubernetesVersion;
use crate::units::{Quantity, QuantityFormat};

/// A line a type that a pod template is made of: what kind of value it is, or its fields in order. A field is written
/// `Name!/name@34=type`: `!` if JSON has it even where it is zero, `/name` its name in JSON if that is not its own with a small first
/// letter (nothing: the fields of its type stand among those of this one), `@34` the minor version since which it is there, `@35-35` the versions
/// from and to.
///
/// # Source
/// Kubernetes 1.36, `k8s.io/api/core/v1` and `k8s.io/apimachinery/pkg/apis/meta/v1`.
const TEXT: &str = include_str!("types.txt");

/// What a type by a name of its own is.
enum Shape {
    /// Another type by another name.
    As(&'static str),
    Struct(Vec<Field>),
}

struct Field {
    name: &'static str,
    /// In JSON; `None` if the fields of its type stand among those of the one that has it.
    json: Option<String>,
    is_always_written: bool,
    /// The minor versions that have it.
    since: u32,
    until: u32,
    of: &'static str,
}

impl Field {
    fn of(word: &'static str) -> Self {
        let (head, of) = word.split_once('=').unwrap_or((word, "string"));
        let (head, versions) = head.split_once('@').unwrap_or((head, "0"));
        let (since, until) = versions.split_once('-').unwrap_or((versions, "999"));
        let (head, is_always_written) = match head.strip_suffix('!') {
            Some(head) => (head, true),
            None => (head, false),
        };
        let (name, json) = match head.split_once('/') {
            Some((name, "")) => (name, None),
            Some((name, json)) => (name, Some(json.to_owned())),
            None => (head, Some(head[..1].to_ascii_lowercase() + &head[1..])),
        };
        let minor = |text: &str| text.parse().unwrap_or_default();
        Self { name, json, is_always_written, since: minor(since), until: minor(until), of }
    }

    fn is_in(&self, version: KubernetesVersion) -> bool {
        (self.since..=self.until).contains(&version.minor())
    }

    /// What an object has of it.
    fn value<'a>(&self, object: &'a Value) -> &'a Value {
        self.json.as_deref().map_or(object, |name| &object[name])
    }
}

fn shapes() -> &'static FxHashMap<&'static str, Shape> {
    static SHAPES: OnceLock<FxHashMap<&'static str, Shape>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let shape = |text: &'static str| match text.contains('=') {
            true => Shape::Struct(text.split(' ').map(Field::of).collect()),
            false => Shape::As(text),
        };
        TEXT.lines().filter_map(|line| line.split_once(": ")).map(|(name, text)| (name, shape(text))).collect()
    })
}

/// Prints a value of a type.
///
/// # Source
/// `k8s.io/utils/dump`, `ForHash`: go-spew's `%#v` with sorted keys.
pub(super) fn print(of: &'static str, value: &Value, version: KubernetesVersion, out: &mut impl Write) {
    // A hash and a text take whatever is written.
    let _ = write!(out, "({of})");
    let _ = Printer { out, version }.value(of, value);
}

struct Printer<'a, W: Write> {
    out: &'a mut W,
    version: KubernetesVersion,
}

impl<W: Write> Printer<'_, W> {
    /// Without the type's name.
    fn value(&mut self, of: &'static str, value: &Value) -> fmt::Result {
        if let Some(target) = of.strip_prefix('*') {
            return if value.is_null() { self.out.write_str("<nil>") } else { self.value(target, value) };
        }
        if let Some(item) = of.strip_prefix("[]") {
            // Lists and maps that are empty are none, once they have been in the store.
            let Some(items) = value.as_array().filter(|items| !items.is_empty()) else {
                return self.out.write_str("<nil>");
            };
            return self.joined(('[', ']'), items, |printer, own| printer.value(item, own));
        }
        if let Some(item) = map_item(of) {
            let Some(fields) = value.as_object().filter(|fields| !fields.is_empty()) else {
                return self.out.write_str("<nil>");
            };
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| key.as_str());
            self.out.write_str("map")?;
            return self.joined(('[', ']'), sorted, |printer, (key, own)| {
                write!(printer.out, "{key}:")?;
                printer.value(item, own)
            });
        }
        match of {
            "string" => self.out.write_str(value.as_str().unwrap_or_default()),
            "bool" => write!(self.out, "{}", value.as_bool().unwrap_or_default()),
            "int32" | "int64" => write!(self.out, "{}", whole(value)),
            // Of a template it is never anything else.
            "v1.Time" => {
                self.out.write_str("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}")
            }
            "intstr.IntOrString" => {
                let (kind, text) = (u8::from(value.is_string()), value.as_str().unwrap_or_default());
                let number = whole(value);
                write!(self.out, "{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}")
            }
            "resource.Quantity" => self.out.write_str(&printed_quantity(quantity(value))),
            _ => match shapes().get(of) {
                Some(Shape::As(kind)) => self.value(kind, value),
                Some(Shape::Struct(fields)) => {
                    let version = self.version;
                    self.joined(('{', '}'), fields.iter().filter(|field| field.is_in(version)), |printer, field| {
                        write!(printer.out, "{}:({})", field.name, field.of)?;
                        printer.value(field.of, field.value(value))
                    })
                }
                None => self.out.write_str("<nil>"),
            },
        }
    }

    fn joined<T>(
        &mut self,
        (open, close): (char, char),
        items: impl IntoIterator<Item = T>,
        mut print: impl FnMut(&mut Self, T) -> fmt::Result,
    ) -> fmt::Result {
        self.out.write_char(open)?;
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.write_char(' ')?;
            }
            print(self, item)?;
        }
        self.out.write_char(close)
    }
}

/// The value of a type as the API server writes it in JSON.
pub(super) fn json(of: &'static str, value: &Value, version: KubernetesVersion) -> Value {
    if let Some(target) = of.strip_prefix('*') {
        return if value.is_null() { Value::Null } else { json(target, value, version) };
    }
    if let Some(item) = of.strip_prefix("[]") {
        return value
            .as_array()
            .map_or(Value::Null, |items| items.iter().map(|own| json(item, own, version)).collect());
    }
    if let Some(item) = map_item(of) {
        let written = |(key, own): (&String, &Value)| (key.clone(), json(item, own, version));
        return value.as_object().map_or(Value::Null, |fields| Value::Object(fields.iter().map(written).collect()));
    }
    match of {
        "string" => value.as_str().unwrap_or_default().into(),
        "bool" => value.as_bool().unwrap_or_default().into(),
        "int32" | "int64" => whole(value).into(),
        "v1.Time" => Value::Null,
        "intstr.IntOrString" if value.is_string() => value.clone(),
        "intstr.IntOrString" => whole(value).into(),
        "resource.Quantity" => quantity(value).to_string().into(),
        _ => match shapes().get(of) {
            Some(Shape::As(kind)) => json(kind, value, version),
            Some(Shape::Struct(fields)) => {
                let mut out = Map::new();
                for field in fields.iter().filter(|field| field.is_in(version)) {
                    let own = json(field.of, field.value(value), version);
                    match &field.json {
                        None => out.extend(own.as_object().cloned().unwrap_or_default()),
                        Some(name) if is_written(field, &own, version) => _ = out.insert(name.clone(), own),
                        Some(_) => {}
                    }
                }
                Value::Object(out)
            }
            None => Value::Null,
        },
    }
}

/// Whether JSON has a field of this value.
///
/// # Source
/// Tags of the types, `omitempty` and `omitzero`. Up to 1.33 templates have `creationTimestamp: null`.
fn is_written(field: &Field, own: &Value, version: KubernetesVersion) -> bool {
    let is_zero = match own {
        Value::Null => true,
        // What a pointer leads to is written whatever it is.
        _ if field.of.starts_with('*') => false,
        Value::Bool(is_on) => !is_on,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    field.is_always_written || !is_zero || field.of == "v1.Time" && version.minor() < 34
}

/// The type of what a map's keys lead to.
fn map_item(of: &'static str) -> Option<&'static str> {
    of.strip_prefix("map[")?.split_once(']').map(|(_, item)| item)
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn quantity(value: &Value) -> Quantity {
    match value {
        Value::String(text) => text.parse().unwrap_or_default(),
        Value::Number(number) => number.to_string().parse().unwrap_or_default(),
        _ => Quantity::ZERO,
    }
}

/// A quantity as Go has it in memory, once it has been in the store.
///
/// # Source
/// apimachinery, `resource.ParseQuantity`: amounts of up to some fifteen digits are a number and a power of ten, larger ones an
/// arbitrarily large number of billionths; the text is kept where it is sure to be the shortest.
fn printed_quantity(quantity: Quantity) -> String {
    const FACTOR_DIGITS: usize = 18;
    let text = quantity.to_string();
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '-';
    let (digits, suffix) = text.split_at(text.find(|letter| !is_digit(letter)).unwrap_or(text.len()));
    let count = digits.trim_start_matches('-').len();
    let number: i64 = digits.parse().unwrap_or_default();
    let (mantissa, scale, has_room) = match quantity.format() {
        QuantityFormat::BinarySi => {
            let power = suffix.chars().next().and_then(|first| "KMGTPE".find(first)).map_or(0, |at| 10 * (at + 1));
            (1_i64 << power, 0, count + power * 3 / 10 < 15)
        }
        QuantityFormat::DecimalExponent if suffix.starts_with(['e', 'E']) => {
            (1, suffix[1..].parse().unwrap_or_default(), count <= FACTOR_DIGITS)
        }
        _ => (1, decimal_scale(suffix), count <= FACTOR_DIGITS),
    };
    let format = match quantity.format() {
        QuantityFormat::DecimalSi => "DecimalSI",
        QuantityFormat::BinarySi => "BinarySI",
        QuantityFormat::DecimalExponent => "DecimalExponent",
    };
    let (mut amount, mut large, mut kept) = ((0, 0), "<nil>".to_owned(), "");
    if let Some(value) = number.checked_mul(mantissa).filter(|_| has_room) {
        amount = (value, scale);
        let is_shortest = match quantity.format() {
            QuantityFormat::BinarySi => number & 7 != 0,
            _ => scale % 3 == 0 && !digits.ends_with("000") && !digits.trim_start_matches('-').starts_with('0'),
        };
        kept = if is_shortest || text == "0" { &text } else { "" };
    } else {
        let nanos = quantity.nano_value();
        let (low, high) = (nanos.unsigned_abs() as u64, (nanos.unsigned_abs() >> 64) as u64);
        let words = if high == 0 { low.to_string() } else { format!("{low} {high}") };
        large = format!("{{unscaled:(big.Int){{neg:(bool){} abs:(big.nat)[{words}]}} scale:(inf.Scale)9}}", nanos < 0);
    }
    let (value, scale) = amount;
    format!(
        "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} \
         d:(resource.infDecAmount){{Dec:(*inf.Dec){large}}} s:(string){kept} Format:(resource.Format){format}}}"
    )
}

/// The power of ten of a suffix.
fn decimal_scale(suffix: &str) -> i32 {
    match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => 0,
    }
}
