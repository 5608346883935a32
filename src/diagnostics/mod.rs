//! Interim: what we say about the user's text.

/// Nearest valid names.
pub mod suggest {
    /// The candidate nearest to `name`.
    pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        candidates.into_iter().max_by_key(|c| (strsim::jaro(name, c) * 1000.0) as i64)
    }
}
