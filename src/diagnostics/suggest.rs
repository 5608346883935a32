//! What the user may have meant.

use super::Diagnostic;

/// The candidate nearest to a name, if any is near enough to be what was meant.
///
/// One that differs in case only wins; then the fewest insertions, deletions, replacements and swaps of neighbors, case
/// aside; among equals the first candidate.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let distance_max = (name.chars().count() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let candidate_lower = candidate.to_lowercase();
        let edits = strsim::damerau_levenshtein(&lower, &candidate_lower);
        // A word that goes on where the other stops is a likely slip, however long the rest: `tolerationSecs`.
        let is_prefix = lower.len() >= 3 && candidate_lower.starts_with(&lower);
        // So is one that has a word before it: `NodeCrash`.
        let is_ending = candidate_lower.len() >= 4 && lower.ends_with(&candidate_lower);
        if (edits <= distance_max || is_prefix || is_ending) && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Candidates by how near they are to a name, the nearest first; equally near ones in their order.
pub fn by_nearness<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = name.to_lowercase();
    let mut found: Vec<&str> = candidates.into_iter().collect();
    found.sort_by_cached_key(|candidate| strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()));
    found
}

/// Help for a name that there is not: the nearest of those that there are, or else these words.
pub fn nearest_or<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    nearest(name, candidates).map_or_else(otherwise, |nearest| format!("the nearest is `{nearest}`"))
}

/// The candidate that a word is a slip of, where most words that are none are words of their own: a word of five letters or
/// more that is one or two edits away.
pub fn slip<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_long = word.chars().count() >= 5;
    let near = nearest(word, candidates).filter(|_| is_long)?;
    (strsim::damerau_levenshtein(&word.to_lowercase(), &near.to_lowercase()) <= 2).then_some(near)
}

/// An unknown name, with the nearest one or the first of those there are.
pub fn unknown_name<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Diagnostic {
    const LISTED_MAX: usize = 8;
    let diagnostic = Diagnostic::error("scenario::unknown_name", format!("there is no {what} `{name}`"));
    if let Some(nearest) = nearest(name, known.clone()).filter(|nearest| *nearest != name) {
        return diagnostic.help(format!("the nearest is `{nearest}`"));
    }
    let listed: Vec<&str> = known.clone().take(LISTED_MAX).collect();
    if listed.is_empty() {
        return diagnostic.help(format!("there is no {what} at all"));
    }
    let more = if known.count() > LISTED_MAX { ", …" } else { "" };
    diagnostic.help(format!("there are `{}`{more}", listed.join("`, `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let fields = ["effect", "key", "operator", "tolerationSeconds", "value", "name", "namespace"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest(name, fields), expected, "{name}");
        check("tolerationSecond", Some("tolerationSeconds"));
        check("tolerationseconds", Some("tolerationSeconds"));
        check("toleration", Some("tolerationSeconds"));
        check("TOLERATIONSECONDS", Some("tolerationSeconds"));
        check("vlaue", Some("value"));
        check("kye", Some("key"));
        check("nam", Some("name"));
        check("ke", Some("key"));
        check("nodeKey", None);
        check("podNamespace", Some("namespace"));
        check("selector", None);
        check("x", None);
        check("", None);
    }

    #[test]
    fn a_slip_is_a_long_word_with_few_edits() {
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(slip(word, ["deployments", "vpa", "certificatesigningrequests", "pods"]), expected, "{word}");
        };
        check("deploymnts", Some("deployments"));
        check("deploments", Some("deployments"));
        check("vp", None);
        check("podz", None);
        check("certificate", None);
    }

    #[test]
    fn among_equals_the_first_wins() {
        assert_eq!(nearest("zone", ["zona", "zonf"]), Some("zona"));
        assert_eq!(nearest("Zone", ["zones", "zone"]), Some("zone"));
        assert_eq!(nearest("anything", []), None);
    }
}
