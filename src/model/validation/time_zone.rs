//! Time zones, as far as the API server looks at them.

use super::error::Errors;
use super::path::Path;
use crate::model::TimeZone;

/// # Source
///
/// kube-apiserver, `validateTimeZone`.
pub(super) fn time_zone(zone: &str, path: &Path<'_>, e: &mut Errors) {
    if zone.is_empty() {
        return e.invalid(path, zone, "timeZone must be nil or non-empty string");
    }
    let is_part = |part: &str| {
        !matches!(part, "." | "..")
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte))
    };
    if !zone.split('/').all(is_part) {
        return e.invalid(path, zone, format!("unknown time zone {zone}"));
    }
    if zone.eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        e.invalid(path, zone, detail);
        if zone == "Local" {
            return;
        }
    }
    if TimeZone::named(zone).is_none() {
        e.invalid(path, zone, format!("unknown time zone {zone}"));
    }
}
