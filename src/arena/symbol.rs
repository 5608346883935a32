//! Interned strings.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// An immutable string that exists once in the process: copied like a number, compared like a pointer.
///
/// Symbols order by text and hash by a frozen function of the text, so that nothing can depend on who interned first.
/// Interned text is never given back; intern names, not messages.
#[derive(Clone, Copy)]
pub struct Symbol(&'static Entry);

struct Entry {
    text: Box<str>,
    hash: u64,
}

/// More locks than there are likely threads.
const SHARD_COUNT: usize = 32;

type Shard = Mutex<FxHashMap<&'static str, &'static Entry>>;

static SHARDS: LazyLock<[Shard; SHARD_COUNT]> = LazyLock::new(Default::default);
static EMPTY: LazyLock<Symbol> = LazyLock::new(|| Symbol::new(""));

impl Symbol {
    /// The symbol of a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let hash = stable_hash(text.as_bytes());
        // Folded, as the last bits of short texts' hashes alone are not spread well.
        let shard = &SHARDS[(hash ^ (hash >> 32)) as usize % SHARD_COUNT];
        // A thread that panics here leaves the map whole.
        let mut entries = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(text) {
            return Self(entry);
        }
        let entry: &'static Entry = Box::leak(Box::new(Entry { text: text.into(), hash }));
        entries.insert(&entry.text, entry);
        Self(entry)
    }

    /// The symbol of the empty text, without a look-up.
    #[must_use]
    pub fn empty() -> Self {
        *EMPTY
    }

    /// The text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        &self.0.text
    }

    /// Whether the text is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0.text.is_empty()
    }

    /// [`stable_hash`] of the text, ready made.
    #[must_use]
    pub fn stable_hash(self) -> u64 {
        self.0.hash
    }
}

/// The symbol of a constant text, interned once: for texts that hot paths compare with.
macro_rules! sym {
    ($text:expr) => {{
        static SYMBOL: std::sync::LazyLock<$crate::arena::Symbol> =
            std::sync::LazyLock::new(|| $crate::arena::Symbol::new($text));
        *SYMBOL
    }};
}
pub(crate) use sym;

/// A hash of bytes that is the same on every machine and in every version: 64-bit FNV-1a.
///
/// Random streams are numbered with it, so it must never change.
#[must_use]
pub fn stable_hash(bytes: &[u8]) -> u64 {
    let mut hasher = StableHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// [`stable_hash`] in pieces.
pub(crate) struct StableHasher(u64);

impl Default for StableHasher {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl StableHasher {
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0
    }
}

impl Default for Symbol {
    fn default() -> Self {
        Self::empty()
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Symbol {}

impl PartialEq<str> for Symbol {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl PartialEq<&str> for Symbol {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl Ord for Symbol {
    fn cmp(&self, other: &Self) -> Ordering {
        if self == other { Ordering::Equal } else { self.as_str().cmp(other.as_str()) }
    }
}

impl PartialOrd for Symbol {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Symbol {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl AsRef<str> for Symbol {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<&str> for Symbol {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<&String> for Symbol {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<String> for Symbol {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<Cow<'_, str>> for Symbol {
    fn from(text: Cow<'_, str>) -> Self {
        Self::new(&text)
    }
}

impl Serialize for Symbol {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "cli")]
impl schemars::JsonSchema for Symbol {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Symbol {
    /// Reads text. In YAML a plain `1.10`, `yes` or `n` is taken as it is written, not as the number or boolean it denotes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(SymbolVisitor)
    }
}

struct SymbolVisitor;

impl Visitor<'_> for SymbolVisitor {
    type Value = Symbol;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Symbol, E> {
        Ok(Symbol::new(text))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Symbol, E> {
        Ok(Symbol::new(if value { "true" } else { "false" }))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Symbol, E> {
        Ok(Symbol::new(&number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Symbol, E> {
        Ok(Symbol::new(&number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Symbol, E> {
        Ok(Symbol::new(&number.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Symbol, E> {
        Ok(Symbol::empty())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn equal_texts_are_one_symbol() {
        let (a, b) = (Symbol::new("shop"), Symbol::from("shop".to_owned()));
        assert_eq!(a, b);
        assert_ne!(a, Symbol::new("shops"));
        assert_eq!(a, "shop");
        assert_eq!(a.as_str().as_ptr(), b.as_str().as_ptr());
        assert_eq!(Symbol::default(), Symbol::new(""));
        assert!(Symbol::empty().is_empty());
    }

    #[test]
    fn order_is_that_of_the_text_whoever_came_first() {
        let mut symbols = ["zeta-2", "alpha-2", "mid-2", "alpha-10"].map(Symbol::new);
        symbols.sort();
        assert_eq!(symbols.map(Symbol::as_str), ["alpha-10", "alpha-2", "mid-2", "zeta-2"]);
    }

    #[test]
    fn the_hash_is_frozen() {
        // Values published with the FNV specification.
        assert_eq!(stable_hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(stable_hash(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(Symbol::new("foobar").stable_hash(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn threads_agree_on_symbols() {
        let handles: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..500).map(|i| Symbol::new(&format!("thread-{i}"))).collect::<Vec<_>>()))
            .collect();
        let mut seen = handles.into_iter().map(|handle| handle.join().unwrap());
        let first = seen.next().unwrap();
        assert!(seen.all(|other| other == first));
    }

    #[test]
    fn yaml_scalars_keep_their_text() {
        let text = "a: abc\nb: 1.10\nc: yes\nd: 12\ne: \"300\"\nf: n\ng: true\n";
        let labels: BTreeMap<Symbol, Symbol> = serde_saphyr::from_str(text).unwrap();
        let values: Vec<&str> = labels.values().map(|value| value.as_str()).collect();
        assert_eq!(values, ["abc", "1.10", "yes", "12", "300", "n", "true"]);
        assert_eq!(serde_json::to_string(&Symbol::new("a\"b")).unwrap(), r#""a\"b""#);
        assert_eq!(serde_json::from_str::<Symbol>("\"x\"").unwrap(), "x");
    }
}
