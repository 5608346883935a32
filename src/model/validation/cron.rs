//! Cron schedules and time zones, as far as the API server looks at them.

use super::error::Errors;
use super::path::Path;
use crate::model::TimeZone;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What one field of a schedule may hold.
struct Field {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field { min: 1, max: 12, names: &MONTHS },
    Field { min: 0, max: 6, names: &WEEKDAYS },
];

/// Whether a schedule can be understood.
///
/// # Errors
///
/// The parser's words.
///
/// # Source
///
/// robfig/cron v3, `ParseStandard`: five fields or a word after `@`. Sunday is 0 only.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    let schedule = match schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest.trim()),
        None => schedule,
    };
    if schedule.starts_with('@') {
        return descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (text, field) in fields.iter().zip(&FIELDS) {
        text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, field))?;
    }
    Ok(())
}

fn descriptor(schedule: &str) -> Result<(), String> {
    if let Some(every) = schedule.strip_prefix("@every ") {
        return match every.parse::<crate::units::SimDuration>() {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("failed to parse duration {schedule}: time: invalid duration {every:?}")),
        };
    }
    match schedule {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => Err(format!("unrecognized descriptor: {schedule}")),
    }
}

fn range(text: &str, field: &Field) -> Result<(), String> {
    let parts: Vec<&str> = text.split('/').collect();
    let limits: Vec<&str> = parts[0].split('-').collect();
    let (start, mut end) = match limits.as_slice() {
        ["*" | "?", ..] => (field.min, field.max),
        [one] => (number(one, field)?, number(one, field)?),
        [start, end] => (number(start, field)?, number(end, field)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            if limits.len() == 1 {
                end = field.max;
            }
            integer(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < field.min {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", field.min));
    }
    if end > field.max {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", field.max));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number(text: &str, field: &Field) -> Result<u32, String> {
    match field.names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        Some(index) => Ok(field.min + u32::try_from(index).unwrap_or(0)),
        None => integer(text),
    }
}

fn integer(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_refused_in_the_words_of_their_parser() {
        #[track_caller]
        fn refuse(text: &str, expected: &str) {
            assert_eq!(check(text), Err(expected.to_owned()), "{text}");
        }
        for good in ["* * * * *", "*/5 0-6,12 1 jan-MAR sun", "@hourly", "@every 1h30m", "0/15 * ? * ?", "1,,2 * * * *"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        refuse("every day", "expected exactly 5 fields, found 2: [every day]");
        refuse("60 * * * *", "end of range (60) above maximum (59): 60");
        refuse("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        refuse("* * * * 7", "end of range (7) above maximum (6): 7");
        refuse("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3");
        refuse("*/0 * * * *", "step of range should be a positive number: */0");
        refuse("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax");
        refuse("1-2-3 * * * *", "too many hyphens: 1-2-3");
        refuse("@often", "unrecognized descriptor: @often");
        refuse("@every day", "failed to parse duration @every day: time: invalid duration \"day\"");
    }
}
