//! Archives, file by file: nothing is unpacked to disk, and no more than one file at a time is held.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Component, Path};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

/// What an archive may unpack to before its ratio is looked at.
const UNPACKED_FREE: u64 = 256 << 20;
/// How many times as large as the archive its content may be. Dumps of equal objects reach 100; gzip's best is 1,032.
const RATIO_MAX: u64 = 400;
/// Entries of one archive; whoever has more has no bundle.
const ENTRIES_MAX: u64 = 4_000_000;
/// Bytes of standard input that are held for an archive that is read from its end.
const HELD_MAX: u64 = 1 << 30;
/// Archives and compressions one in the other.
const LAYERS_MAX: usize = 3;
/// Bytes of where a link leads to; no system has more.
const LINK_MAX: u64 = 4096;
/// Links, and names to which they may lead, that are remembered of an archive.
const LINKS_MAX: usize = 20_000;
const NAMES_MAX: usize = 4_000_000;
/// Directories one in the other, and links one behind the other, that links are looked for in.
const DEPTH_MAX: usize = 64;
const LINK_STEPS_MAX: usize = 8;
/// Bytes by which formats are told.
const HEAD_LENGTH: usize = 512;

/// Why something of an archive is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::import) enum Passed {
    /// Its path leads out of the archive.
    Outside,
    /// It is a link that leads out of the archive.
    Link,
    /// It is a link to what is in the archive anyhow.
    LinkWithin,
    /// It is a link to what is not there.
    Dangling,
    /// It is a device, a pipe or a file with holes.
    Special,
    /// It is an archive within an archive.
    Nested,
    /// It cannot be unpacked: a password, another method, damage.
    Locked,
}

impl Passed {
    /// The words that users see.
    pub(in crate::import) fn as_str(self) -> &'static str {
        match self {
            Self::Outside => "its path leads out of the archive",
            Self::Link => "it is a link that leads out and is not followed",
            Self::LinkWithin => "it is a link to another file",
            Self::Dangling => "it is a link to what is not there",
            Self::Special => "it is no plain file",
            Self::Nested => "it is an archive within an archive",
            Self::Locked => "it cannot be unpacked",
        }
    }
}

/// Who is given the files of an archive.
pub(in crate::import) trait Visitor {
    /// A file: its path in the archive and its content. What is not read of it is passed over.
    fn file(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()>;
    /// What is no file that may be read.
    fn passed(&mut self, name: &str, why: Passed);
}

/// Why an archive cannot be read to its end.
#[derive(Debug)]
pub(in crate::import) enum Broken {
    /// It is cut or damaged, or cannot be read at all.
    Unreadable(String),
    /// It unpacks to far more than anybody's cluster.
    Bomb(String),
    /// It is compressed or locked in a way that is not read: what it is, and what to do.
    Unsupported { what: &'static str, help: &'static str },
}

impl Broken {
    /// The code, the message and, where there is something to be done, the help of a problem with the archive of that name.
    pub(super) fn told(self, name: &str) -> (&'static str, String, Option<&'static str>) {
        match self {
            Self::Unreadable(why) => ("bundle::damaged", format!("`{name}` cannot be read to its end: {why}"), None),
            Self::Bomb(why) => ("bundle::bomb", format!("`{name}` is not read any further: {why}"), None),
            Self::Unsupported { what, help } => {
                ("bundle::unsupported", format!("`{name}` is {what}, which is not read"), Some(help))
            }
        }
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Bomb>()) {
            Some(bomb) => Self::Bomb(bomb.to_string()),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Unreadable("it ends in the middle".to_owned())
            }
            None => Self::Unreadable(error.to_string()),
        }
    }
}

#[derive(Debug)]
struct Bomb;

impl fmt::Display for Bomb {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "it unpacks to more than {RATIO_MAX} times its size")
    }
}

impl std::error::Error for Bomb {}

/// Counts what is read.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count.set(self.count.get() + length as u64);
        Ok(length)
    }
}

/// Stops where too much comes out of what goes in, and knows how many zeros it has just read.
struct Guarded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    zeros: Rc<Cell<u64>>,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.unpacked += length as u64;
        if is_too_much(self.unpacked, self.packed.get()) {
            return Err(io::Error::other(Bomb));
        }
        let zeros = buffer[..length].iter().rev().take_while(|byte| **byte == 0).count();
        self.zeros.set(if zeros == length { self.zeros.get() + zeros as u64 } else { zeros as u64 });
        Ok(length)
    }
}

fn is_too_much(unpacked: u64, packed: u64) -> bool {
    unpacked > UNPACKED_FREE && unpacked / RATIO_MAX > packed
}

/// What the first bytes of a text say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Gzip,
    Zstd,
    Zip,
    Tar,
    Unsupported(&'static str, &'static str),
    /// No archive.
    Other,
}

fn format(head: &[u8]) -> Format {
    let decompress = "decompress it first; .tar.gz, .tar.zst, .tar and .zip are read as they are";
    match head {
        [0x1f, 0x8b, ..] => Format::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Format::Zstd,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Format::Zip,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Format::Unsupported("bzip2", decompress),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Format::Unsupported("xz", decompress),
        [b'7', b'z', 0xbc, 0xaf, ..] => Format::Unsupported("7-Zip", decompress),
        _ if head.starts_with(b"age-encryption.org/") => {
            Format::Unsupported("encrypted (age)", "decrypt it first, with `age -d`")
        }
        _ if is_tar(head) => Format::Tar,
        _ => Format::Other,
    }
}

/// Whether a first block is the header of a tar archive: by its checksum, which the oldest ones have, too.
fn is_tar(head: &[u8]) -> bool {
    let Some(written) = head.get(148..156).filter(|_| head.len() >= HEAD_LENGTH) else { return false };
    let Ok(written) = std::str::from_utf8(written) else { return false };
    let digits: String = written.chars().filter(char::is_ascii_digit).collect();
    let sum: u64 = (0..HEAD_LENGTH).map(|at| if (148..156).contains(&at) { 32 } else { u64::from(head[at]) }).sum();
    u64::from_str_radix(&digits, 8).is_ok_and(|written| written == sum)
}

/// Gives everything in a file to a visitor: the files of an archive, or the file itself if it is none. `name` is that of the file.
///
/// # Errors
///
/// Where it cannot be read to its end; the visitor has been given what stands before.
pub(in crate::import) fn visit_file(
    mut file: std::fs::File,
    name: &str,
    visitor: &mut dyn Visitor,
) -> Result<(), Broken> {
    let head = head_of(&mut file)?;
    if format(&head) != Format::Zip {
        return visit(Box::new(Cursor::new(head).chain(file)), name, 0, visitor);
    }
    let length = file.metadata()?.len();
    file.rewind()?;
    visit_zip(file, length, visitor)
}

/// The same of what can be read only once.
pub(in crate::import) fn visit_stream(
    stream: impl Read + 'static,
    name: &str,
    visitor: &mut dyn Visitor,
) -> Result<(), Broken> {
    visit(Box::new(stream), name, 0, visitor)
}

fn head_of(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD_LENGTH);
    stream.take(HEAD_LENGTH as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn visit(mut stream: Box<dyn Read>, name: &str, layer: usize, visitor: &mut dyn Visitor) -> Result<(), Broken> {
    let head = head_of(&mut stream)?;
    let format = format(&head);
    let packed = Rc::new(Cell::new(0));
    let whole = Counted { inner: Cursor::new(head).chain(stream), count: Rc::clone(&packed) };
    let zeros = Rc::new(Cell::new(0));
    let guarded = |inner: Box<dyn Read>| {
        Box::new(Guarded { inner, packed: Rc::clone(&packed), unpacked: 0, zeros: Rc::clone(&zeros) })
    };
    let is_compressed = matches!(format, Format::Gzip | Format::Zstd);
    if is_compressed && layer >= LAYERS_MAX {
        return Err(Broken::Bomb(format!("it is compressed more than {LAYERS_MAX} times over")));
    }
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).filter(|_| is_compressed).unwrap_or(name);
    match format {
        Format::Gzip => visit(guarded(Box::new(MultiGzDecoder::new(whole))), name, layer + 1, visitor),
        Format::Zstd => visit(guarded(Box::new(zstd::Decoder::new(whole)?)), name, layer + 1, visitor),
        Format::Zip => {
            let mut held = Vec::new();
            let mut whole = whole;
            Read::by_ref(&mut whole).take(HELD_MAX + 1).read_to_end(&mut held)?;
            let length = held.len() as u64;
            if length > HELD_MAX {
                let help = "save it to a file, and name the file";
                return Err(Broken::Unsupported { what: "a .zip of more than 1 GiB that comes in a stream", help });
            }
            visit_zip(Cursor::new(held), length, visitor)
        }
        Format::Tar => visit_tar(*guarded(Box::new(whole)), &zeros, visitor),
        Format::Unsupported(what, help) => Err(Broken::Unsupported { what, help }),
        Format::Other => Ok(visitor.file(name, &mut { whole })?),
    }
}

fn visit_tar(stream: impl Read, zeros: &Cell<u64>, visitor: &mut dyn Visitor) -> Result<(), Broken> {
    let mut archive = tar::Archive::new(stream);
    let mut links = Links::default();
    for (count, entry) in (0..).zip(archive.entries()?) {
        let mut entry = entry?;
        if count >= ENTRIES_MAX {
            return Err(Broken::Bomb(format!("it has more than {ENTRIES_MAX} files")));
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let is_link = kind.is_symlink() || kind.is_hard_link();
        let name_within = plain(&name);
        links.has(name_within.as_deref().filter(|_| !is_link));
        if kind.is_dir() {
            continue;
        }
        match name_within {
            None => visitor.passed(&name, Passed::Outside),
            Some(name) if is_link => {
                let target = entry.link_name_bytes().unwrap_or_default();
                let target = String::from_utf8_lossy(&target);
                let target = if kind.is_symlink() { link_target(&name, &target) } else { plain(&target) };
                links.add(name, target, visitor);
            }
            Some(name) if !kind.is_file() && !kind.is_contiguous() => visitor.passed(&name, Passed::Special),
            Some(name) if is_archive(&name) => visitor.passed(&name, Passed::Nested),
            Some(name) => visitor.file(&name, &mut entry)?,
        }
    }
    // A whole archive ends with two empty blocks; one that was cut between two files shows it only here.
    if zeros.get() < HEAD_LENGTH as u64 {
        return Err(Broken::Unreadable("it ends in the middle".to_owned()));
    }
    // What compresses it has a checksum behind its end.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    links.tell(visitor);
    Ok(())
}

fn visit_zip(file: impl Read + Seek, length: u64, visitor: &mut dyn Visitor) -> Result<(), Broken> {
    let mut archive = zip::ZipArchive::new(file).map_err(|error| Broken::Unreadable(error.to_string()))?;
    if archive.len() as u64 > ENTRIES_MAX {
        return Err(Broken::Bomb(format!("it has more than {ENTRIES_MAX} files")));
    }
    let packed = Rc::new(Cell::new(length));
    let mut unpacked = 0;
    let mut links = Links::default();
    for index in 0..archive.len() {
        let name = archive.name_for_index(index).and_then(Result::ok).map(Cow::into_owned);
        let name = name.unwrap_or_else(|| format!("entry {index}")).replace('\\', "/");
        let entry = match archive.by_index(index) {
            Ok(entry) => entry,
            Err(zip::result::ZipError::Io(error)) => return Err(error.into()),
            Err(_) => {
                visitor.passed(&name, Passed::Locked);
                continue;
            }
        };
        let name_within = plain(&name);
        links.has(name_within.as_deref().filter(|_| !entry.is_symlink()));
        if entry.is_dir() {
            continue;
        }
        match name_within {
            None => visitor.passed(&name, Passed::Outside),
            Some(name) if entry.is_symlink() => {
                let mut target = Vec::new();
                entry.take(LINK_MAX).read_to_end(&mut target)?;
                let target = link_target(&name, &String::from_utf8_lossy(&target));
                links.add(name, target, visitor);
            }
            Some(name) if is_archive(&name) => visitor.passed(&name, Passed::Nested),
            Some(name) => {
                let zeros = Rc::new(Cell::new(0));
                let mut guarded = Guarded { inner: entry, packed: Rc::clone(&packed), unpacked, zeros };
                let is_compressed = name.ends_with(".zst") || name.ends_with(".gz");
                match visitor.file(&name, &mut guarded) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::InvalidData && !is_compressed => {
                        visitor.passed(&name, Passed::Locked);
                    }
                    Err(error) => return Err(error.into()),
                }
                unpacked = guarded.unpacked;
            }
        }
    }
    links.tell(visitor);
    Ok(())
}

/// The links of an archive that stay within it. They are not followed: what they lead to is read where it is, if it is there.
#[derive(Default)]
struct Links {
    /// What each leads to.
    targets: BTreeMap<String, String>,
    /// Hashes of the names of files and directories.
    names: BTreeSet<u64>,
}

impl Links {
    /// There is a file or a directory of that name, and so are those that it is in.
    fn has(&mut self, name: Option<&str>) {
        for hash in name.into_iter().flat_map(hashes) {
            if self.names.len() < NAMES_MAX {
                self.names.insert(hash);
            }
        }
    }

    /// A link to that, or out of the archive.
    fn add(&mut self, name: String, target: Option<String>, visitor: &mut dyn Visitor) {
        let fits = target.as_deref().is_none_or(|target| is_short(&name) && is_short(target));
        match target {
            Some(target) if fits && self.targets.len() < LINKS_MAX => {
                self.targets.insert(name, target);
            }
            Some(_) => visitor.passed(&name, Passed::Dangling),
            None => visitor.passed(&name, Passed::Link),
        }
    }

    /// Says at the end of the archive what became of them.
    fn tell(&self, visitor: &mut dyn Visitor) {
        for (name, target) in &self.targets {
            visitor.passed(name, if self.is_there(target) { Passed::LinkWithin } else { Passed::Dangling });
        }
    }

    /// Whether a link leads to something, if by way of other links.
    fn is_there(&self, target: &str) -> bool {
        let mut target = Cow::Borrowed(target);
        for _ in 0..LINK_STEPS_MAX {
            if target.is_empty() || hashes(&target).last().is_some_and(|hash| self.names.contains(&hash)) {
                return true;
            }
            let link = with_those_above(&target).find_map(|above| Some((above, self.targets.get(above)?)));
            let Some((link, next)) = link else { return false };
            let rest = target[link.len()..].trim_start_matches('/');
            let parts = [next.as_str(), rest];
            let next = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
            if !is_short(&next) {
                return false;
            }
            target = Cow::Owned(next);
        }
        false
    }
}

/// A path and the directories above it, the longest first.
fn with_those_above(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| Some(name.rsplit_once('/')?.0))
}

/// A hash of each directory that a path is in, and last its own.
fn hashes(name: &str) -> impl Iterator<Item = u64> {
    let parts = name.split('/').take(DEPTH_MAX + 1);
    parts.scan(DefaultHasher::new(), |hasher, part| {
        part.hash(hasher);
        Some(hasher.finish())
    })
}

/// Whether links of and to that path are looked for.
fn is_short(name: &str) -> bool {
    name.len() as u64 <= LINK_MAX && name.matches('/').count() < DEPTH_MAX
}

/// The path that a symbolic link of that path leads to; `None` if that is out of its archive.
fn link_target(name: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// A path within an archive without `.`; `None` if it is absolute or goes up.
fn plain(name: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            Component::CurDir => {}
            _ => return None,
        }
    }
    // What Windows takes for a root is none here.
    let is_drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    (!parts.is_empty() && !is_drive).then(|| parts.join("/"))
}

/// Whether a name is that of an archive.
pub(in crate::import) fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".tar", ".tgz", ".tar.gz", ".tar.zst", ".zip", ".kshrk"].iter().any(|end| name.ends_with(end))
}

/// Opens what is compressed within an archive, as its name says; other content is given as it is.
pub(in crate::import) fn unpacked<'a>(name: &str, content: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    let packed = Rc::new(Cell::new(0));
    let counted = Counted { inner: content, count: Rc::clone(&packed) };
    let inner: Box<dyn Read + 'a> = match name.rsplit_once('.') {
        Some((_, "gz")) => Box::new(MultiGzDecoder::new(counted)),
        Some((_, "zst")) => Box::new(zstd::Decoder::new(counted)?),
        _ => return Ok(Box::new(counted)),
    };
    Ok(Box::new(Guarded { inner, packed, unpacked: 0, zeros: Rc::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_told() {
        for name in ["../x", "a/../../x", "/etc/passwd", "..", "C:/x.json", "", "./."] {
            assert_eq!(plain(name), None, "{name}");
        }
        assert_eq!(plain("./a//b/./c.json").as_deref(), Some("a/b/c.json"));
        assert_eq!(plain("..a/b..json").as_deref(), Some("..a/b..json"));
    }

    #[test]
    fn links_that_lead_out_are_told() {
        for (name, target, expected) in [
            ("a/b/c", "../x", Some("a/x")),
            ("a/b/c", "../../x/y", Some("x/y")),
            ("a/b/c", "../../../x", None),
            ("c", "../x", None),
            ("c", "x/../y", Some("y")),
            ("a/c", "..", Some("")),
            ("a/c", "/etc/passwd", None),
        ] {
            assert_eq!(link_target(name, target).as_deref(), expected, "{name} -> {target}");
        }
    }

    #[test]
    fn links_lead_to_something_if_by_way_of_others() {
        let mut links = Links::default();
        links.has(Some("a/b/pods.json"));
        for (name, target) in [("d", "a"), ("e", "d/b"), ("loop", "pool"), ("pool", "loop/x")] {
            links.targets.insert(name.to_owned(), target.to_owned());
        }
        for target in ["", "a", "a/b", "a/b/pods.json", "d/b/pods.json", "e/pods.json"] {
            assert!(links.is_there(target), "{target}");
        }
        for target in ["b", "a/c", "a/b/pods.json/x", "e/nodes.json", "loop", "pool/y"] {
            assert!(!links.is_there(target), "{target}");
        }
        // Each leads to a path that is longer than the one before.
        for step in 0..2 * DEPTH_MAX {
            links.targets.insert(format!("g{step}"), format!("g{0}/g{0}", step + 1));
        }
        assert!(!links.is_there("g0"));
    }

    #[test]
    fn archives_are_known_by_their_first_bytes() {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_old();
        header.set_size(0);
        builder.append_data(&mut header, "a.json", io::empty()).expect("an entry");
        let bytes = builder.into_inner().expect("an archive");
        assert_eq!(format(&bytes[..HEAD_LENGTH]), Format::Tar);
        assert_eq!(format(&[b' '; HEAD_LENGTH]), Format::Other);
        assert_eq!(format(b"apiVersion: v1\n"), Format::Other);
        assert_eq!(format(b"PK\x05\x06"), Format::Zip);
    }
}
