//! Bodies as typed clients send them: protobuf, turned into what JSON would have said.
//!
//! # Source
//! apimachinery, `runtime/serializer/protobuf`: four letters, then an envelope that says what is in it. The fields of all types, a line a
//! type, are those of `generated.proto` in k8s.io/api and k8s.io/apimachinery: `s` text, `y` bytes, `b` a boolean, `i` and `l` whole
//! numbers, `n` a number, `q` a quantity, `x` a whole number or a text, `t` and `T` instants, `d` a duration, `r` JSON; `[]` before what
//! is repeated, `{}` before the values of a map, `^` before what JSON writes into its owner, `~` before what JSON leaves out where it is zero:
//! such bodies hold it always, as the Go types have it by value; what they have by pointer says something also where it is zero.
//!
//! # Differs
//! Fields that the types do not have are skipped. Empty texts, which such bodies hold in place of nothing, are left out.

use std::sync::OnceLock;

use base64::Engine as _;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

use crate::units::rfc3339_from_unix_nanos;

const TEXT: &str = include_str!("protobuf.txt");

/// What such bodies begin with.
const MAGIC: &[u8] = b"k8s\0";

/// Values within values.
const DEPTH_MAX: usize = 64;

type Fields = FxHashMap<u64, (&'static str, &'static str)>;

fn types() -> &'static FxHashMap<&'static str, Fields> {
    static TYPES: OnceLock<FxHashMap<&'static str, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let field = |word: &'static str| {
            let (number, rest) = word.split_once('=')?;
            Some((number.parse().ok()?, rest.split_once(':')?))
        };
        let fields = |text: &'static str| -> Fields { text.split_whitespace().filter_map(field).collect() };
        TEXT.lines().filter_map(|line| line.split_once(':')).map(|(name, text)| (name, fields(text))).collect()
    })
}

/// A body that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// What is on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Result<u64, Unreadable> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first().ok_or(Unreadable)?;
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Unreadable)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next field; none at the end.
    fn field(&mut self) -> Result<Option<(u64, Wire<'a>)>, Unreadable> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let fixed = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Number(fixed(self.bytes(8)?)),
            2 => {
                let count = usize::try_from(self.varint()?).map_err(|_| Unreadable)?;
                Wire::Bytes(self.bytes(count)?)
            }
            5 => Wire::Number(fixed(self.bytes(4)?)),
            _ => return Err(Unreadable),
        };
        Ok(Some((tag >> 3, wire)))
    }
}

/// Fields of a message by their numbers; of those that are repeated the last.
fn fields(bytes: &[u8]) -> Result<FxHashMap<u64, Wire<'_>>, Unreadable> {
    let mut reader = Reader(bytes);
    let mut found = FxHashMap::default();
    while let Some((number, wire)) = reader.field()? {
        found.insert(number, wire);
    }
    Ok(found)
}

fn text(wire: Option<&Wire<'_>>) -> Result<String, Unreadable> {
    match wire {
        None => Ok(String::new()),
        Some(Wire::Bytes(bytes)) => String::from_utf8(bytes.to_vec()).map_err(|_| Unreadable),
        Some(Wire::Number(_)) => Err(Unreadable),
    }
}

fn number(wire: Option<&Wire<'_>>) -> i64 {
    match wire {
        Some(Wire::Number(value)) => *value as i64,
        _ => 0,
    }
}

/// The object of a body.
pub(super) fn decode(body: &[u8]) -> Result<Value, Unreadable> {
    let envelope = fields(body.strip_prefix(MAGIC).ok_or(Unreadable)?)?;
    let Some(Wire::Bytes(of)) = envelope.get(&1) else { return Err(Unreadable) };
    let of = fields(of)?;
    let (api_version, kind) = (text(of.get(&1))?, text(of.get(&2))?);
    let raw = match envelope.get(&2) {
        Some(Wire::Bytes(raw)) => *raw,
        _ => &[],
    };
    // Some kinds are other in other versions.
    let own = format!("{api_version}.{kind}");
    let name = if types().contains_key(own.as_str()) { own.as_str() } else { kind.as_str() };
    let mut value = message(name, raw, 0)?;
    let Some(fields) = value.as_object_mut() else { return Err(Unreadable) };
    fields.insert("apiVersion".to_owned(), api_version.into());
    fields.insert("kind".to_owned(), kind.into());
    Ok(value)
}

fn message(name: &str, bytes: &[u8], depth: usize) -> Result<Value, Unreadable> {
    let (name, known) = types().get_key_value(name).ok_or(Unreadable)?;
    if depth > DEPTH_MAX {
        return Err(Unreadable);
    }
    let mut fields = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.field()? {
        let Some((field, of)) = known.get(&number) else { continue };
        if let Some(inner) = of.strip_prefix('^') {
            let Wire::Bytes(bytes) = wire else { return Err(Unreadable) };
            if let Value::Object(inner) = message(inner, bytes, depth + 1)? {
                fields.extend(inner);
            }
        } else if let Some(items) = of.strip_prefix("[]") {
            let list = fields.entry((*field).to_owned()).or_insert_with(|| json!([]));
            list.as_array_mut().ok_or(Unreadable)?.push(value(items, &wire, depth)?);
        } else if let Some(values) = of.strip_prefix("{}") {
            let Wire::Bytes(bytes) = wire else { return Err(Unreadable) };
            let entry = self::fields(bytes)?;
            let empty = Wire::Bytes(&[]);
            let own = value(values, entry.get(&2).unwrap_or(&empty), depth)?;
            let map = fields.entry((*field).to_owned()).or_insert_with(|| json!({}));
            map.as_object_mut().ok_or(Unreadable)?.insert(text(entry.get(&1))?, own);
        } else {
            let (of, is_left_out) = of.strip_prefix('~').map_or((*of, false), |of| (of, true));
            let own = value(of, &wire, depth)?;
            let is_zero = own == false || own.as_f64() == Some(0.0);
            let says_nothing = own.is_null() || own == "" || is_zero && (is_left_out || *field == "targetPort");
            if !says_nothing {
                fields.insert((*field).to_owned(), own);
            }
        }
    }
    // Lists of this type are written as such.
    Ok(if *name == "ExtraValue" { fields.remove("items").unwrap_or_else(|| json!([])) } else { Value::Object(fields) })
}

fn value(of: &str, wire: &Wire<'_>, depth: usize) -> Result<Value, Unreadable> {
    let bytes = || match wire {
        Wire::Bytes(bytes) => Ok(*bytes),
        Wire::Number(_) => Err(Unreadable),
    };
    Ok(match of {
        "s" => text(Some(wire))?.into(),
        "y" => base64::engine::general_purpose::STANDARD.encode(bytes()?).into(),
        "b" => (number(Some(wire)) != 0).into(),
        // Numbers of 32 bits that are negative are sent with 64.
        "i" => (number(Some(wire)) as i32).into(),
        "l" => number(Some(wire)).into(),
        "n" => f64::from_bits(number(Some(wire)) as u64).into(),
        "q" => text(fields(bytes()?)?.get(&1))?.into(),
        "x" => {
            let own = fields(bytes()?)?;
            if number(own.get(&1)) == 1 { text(own.get(&3))?.into() } else { (number(own.get(&2)) as i32).into() }
        }
        "t" | "T" => {
            let own = fields(bytes()?)?;
            if own.is_empty() {
                return Ok(Value::Null);
            }
            let nanos = number(own.get(&1)).saturating_mul(1_000_000_000).saturating_add(number(own.get(&2)));
            rfc3339_from_unix_nanos(nanos).into()
        }
        "d" => format!("{}ns", number(fields(bytes()?)?.get(&1))).into(),
        "r" => match fields(bytes()?)?.get(&1) {
            Some(Wire::Bytes(json)) => serde_json::from_slice(json).map_err(|_| Unreadable)?,
            _ => Value::Null,
        },
        name => message(name, bytes()?, depth + 1)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("short")];
        out.extend_from_slice(bytes);
        out
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let of = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &of), field(2, raw)].concat()
    }

    #[test]
    fn an_eviction_says_what_its_json_would() {
        // Metadata with a name (1) and a namespace (3), and options with a grace of 30 (1).
        let metadata = [field(1, b"web"), field(2, b""), field(3, b"shop")].concat();
        let raw = [field(1, &metadata), field(2, &[1 << 3, 30])].concat();
        let expected = json!({
            "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web", "namespace": "shop"},
            "deleteOptions": {"gracePeriodSeconds": 30},
        });
        assert_eq!(decode(&envelope("policy/v1", "Eviction", &raw)), Ok(expected));
    }

    #[test]
    fn what_is_written_into_its_owner_is() {
        // A volume: its name (1), and its source (2): an emptyDir (2) of no fields.
        let raw = [field(1, b"cache"), field(2, &field(2, b""))].concat();
        assert_eq!(message("Volume", &raw, 0), Ok(json!({"name": "cache", "emptyDir": {}})));
    }

    #[test]
    fn what_json_leaves_out_is_left_out_and_what_is_meant_is_there() {
        // A container: its name (1); stdin (16), stdinOnce (17) and tty (18), which are always sent; a security context (15) that says `privileged` (2).
        let boolean = |number: u8, value: u8| vec![(number << 3) | 0x80, number >> 4, value];
        let raw = [field(1, b"c"), boolean(16, 0), boolean(17, 0), boolean(18, 1)].concat();
        assert_eq!(message("Container", &raw, 0), Ok(json!({"name": "c", "tty": true})));
        assert_eq!(message("SecurityContext", &[2 << 3, 0], 0), Ok(json!({"privileged": false})));
        assert_eq!(message("DeleteOptions", &[1 << 3, 0], 0), Ok(json!({"gracePeriodSeconds": 0})));
        assert_eq!(message("ContainerStatus", &[4 << 3, 0], 0), Ok(json!({"ready": false})));
    }

    #[test]
    fn what_is_cut_off_is_refused() {
        let whole = envelope("v1", "Namespace", &field(1, &field(1, b"shop")));
        assert!(decode(&whole).is_ok());
        // Where the envelope's own fields are cut the object is, and nothing is read past the end.
        for length in [0, 3, 4, 6, 12, whole.len() - 1] {
            assert_eq!(decode(&whole[..length]), Err(Unreadable), "{length}");
        }
        assert_eq!(decode(b"{}"), Err(Unreadable));
        assert_eq!(decode(&envelope("v1", "Unheard", b"")), Err(Unreadable));
    }
}
