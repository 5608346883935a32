//! Names of pods whose end chance makes: that they are others in another run says nothing of it.

use rustc_hash::FxHashMap;

use crate::report::{RunTables, TableError, text};

/// Kinds of owners that have the API server make names for their pods.
const MAKERS: [&str; 4] = ["ReplicaSet", "DaemonSet", "Job", "ReplicationController"];

/// How long an end that chance makes is.
const MADE_LENGTH: usize = 5;

/// The names that chance made in a run, each without its end.
#[derive(Debug, Default)]
pub(super) struct MadeNames(FxHashMap<String, String>);

impl MadeNames {
    /// Those of the pods of a run.
    ///
    /// # Errors
    ///
    /// If its table of pods is damaged.
    pub(super) fn of(run: &RunTables) -> Result<Self, TableError> {
        let mut made = Self::default();
        if run.has_written("pods.csv") {
            let table = run.read_columns("pods.csv", &["name", "owner_kind"])?;
            let [name, owner] = ["name", "owner_kind"].map(|column| table.column(column));
            for row in table.rows().filter(|row| MAKERS.contains(&text(*row, owner))) {
                made.add(text(row, name));
            }
        }
        Ok(made)
    }

    fn add(&mut self, name: &str) {
        if let Some((stem, end)) = name.rsplit_once('-')
            && end.len() == MADE_LENGTH
        {
            self.0.insert(name.to_owned(), format!("{stem}-*"));
        }
    }

    /// A text in which the ends of these names are stars; none if none of the names is in it.
    pub(super) fn taken_out(&self, what: &str) -> Option<String> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let mut out = String::new();
        let (mut rest, mut has_any) = (what, false);
        while !rest.is_empty() {
            let length = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(length);
            let made = self.0.get(word);
            has_any |= made.is_some();
            out.push_str(made.map_or(word, String::as_str));
            let other = behind.find(is_of_name).unwrap_or(behind.len());
            out.push_str(&behind[..other]);
            rest = &behind[other..];
        }
        has_any.then_some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_made_names_are_taken_out_wherever_they_stand() {
        let mut made = MadeNames::default();
        made.add("web-5d9-x7k2p");
        made.add("db-0");
        let taken_out = |what: &str| made.taken_out(what);
        assert_eq!(
            taken_out("pod/shop/web-5d9-x7k2p bound to n-1").as_deref(),
            Some("pod/shop/web-5d9-* bound to n-1")
        );
        assert_eq!(taken_out("Created pod: web-5d9-x7k2p").as_deref(), Some("Created pod: web-5d9-*"));
        // A pod of a StatefulSet has the name that it has in every run.
        assert_eq!(taken_out("pod/shop/db-0 is Running"), None);
        assert_eq!(taken_out("pod/shop/web-5d9-x7k2px is Running"), None);
        assert_eq!(taken_out(""), None);
    }
}
