//! What an API server says of a text that is no JSON.

/// How the text goes on that is still to be read.
type Read<'a> = Result<&'a str, String>;

/// What is wrong with a text; nothing if it is JSON.
///
/// # Source
/// encoding/json, `checkValid` and the scanner's states.
pub(super) fn problem(text: &str) -> Option<String> {
    let rest = match value(text) {
        Ok(rest) => blank(rest),
        Err(problem) => return Some(problem),
    };
    (!rest.is_empty()).then(|| unexpected(rest, "after top-level value"))
}

/// An error at the first character, or at the end.
fn unexpected(rest: &str, context: &str) -> String {
    match rest.chars().next() {
        None => "unexpected end of JSON input".to_owned(),
        Some('\'') => format!("invalid character '\\'' {context}"),
        Some('"') => format!("invalid character '\"' {context}"),
        Some(letter) => format!("invalid character '{}' {context}", letter.escape_debug()),
    }
}

fn blank(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\r', '\n'])
}

fn value(text: &str) -> Read<'_> {
    let text = blank(text);
    match text.as_bytes().first() {
        Some(b'{') => object(&text[1..]),
        Some(b'[') => array(&text[1..]),
        Some(b'"') => string(&text[1..]),
        Some(b'-' | b'0'..=b'9') => number(text),
        Some(b't') => literal(text, "true"),
        Some(b'f') => literal(text, "false"),
        Some(b'n') => literal(text, "null"),
        _ => Err(unexpected(text, "looking for beginning of value")),
    }
}

fn object(text: &str) -> Read<'_> {
    let mut rest = blank(text);
    if let Some(rest) = rest.strip_prefix('}') {
        return Ok(rest);
    }
    loop {
        let key = blank(rest);
        let key = key.strip_prefix('"').ok_or_else(|| unexpected(key, "looking for beginning of object key string"))?;
        let colon = blank(string(key)?);
        let of_key = colon.strip_prefix(':').ok_or_else(|| unexpected(colon, "after object key"))?;
        rest = blank(value(of_key)?);
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b'}') => return Ok(&rest[1..]),
            _ => return Err(unexpected(rest, "after object key:value pair")),
        }
    }
}

fn array(text: &str) -> Read<'_> {
    let mut rest = blank(text);
    if let Some(rest) = rest.strip_prefix(']') {
        return Ok(rest);
    }
    loop {
        rest = blank(value(rest)?);
        match rest.as_bytes().first() {
            Some(b',') => rest = &rest[1..],
            Some(b']') => return Ok(&rest[1..]),
            _ => return Err(unexpected(rest, "after array element")),
        }
    }
}

/// What follows an opening quote.
fn string(text: &str) -> Read<'_> {
    let mut rest = text;
    loop {
        let at = rest.find(|letter: char| letter == '"' || letter == '\\' || letter < ' ').unwrap_or(rest.len());
        rest = &rest[at..];
        match rest.as_bytes().first() {
            Some(b'"') => return Ok(&rest[1..]),
            Some(b'\\') => rest = escaped(&rest[1..])?,
            _ => return Err(unexpected(rest, "in string literal")),
        }
    }
}

/// What follows a backslash.
fn escaped(text: &str) -> Read<'_> {
    match text.as_bytes().first() {
        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => Ok(&text[1..]),
        Some(b'u') => (0..4).try_fold(&text[1..], |rest, _| match rest.as_bytes().first() {
            Some(digit) if digit.is_ascii_hexdigit() => Ok(&rest[1..]),
            _ => Err(unexpected(rest, "in \\u hexadecimal character escape")),
        }),
        _ => Err(unexpected(text, "in string escape code")),
    }
}

fn number(text: &str) -> Read<'_> {
    let some = |text: &str, context: &str| -> Result<usize, String> {
        let count = text.bytes().take_while(u8::is_ascii_digit).count();
        if count == 0 { Err(unexpected(text, context)) } else { Ok(count) }
    };
    let mut rest = text.strip_prefix('-').unwrap_or(text);
    rest = match rest.strip_prefix('0') {
        Some(rest) => rest,
        None => &rest[some(rest, "in numeric literal")?..],
    };
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = &fraction[some(fraction, "after decimal point in numeric literal")?..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        rest = &exponent[some(exponent, "in exponent of numeric literal")?..];
    }
    Ok(rest)
}

fn literal<'a>(text: &'a str, word: &str) -> Read<'a> {
    let mut rest = text;
    for letter in word.chars() {
        rest = rest
            .strip_prefix(letter)
            .ok_or_else(|| unexpected(rest, &format!("in literal {word} (expecting '{letter}')")))?;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_character_that_does_not_fit_is_named() {
        for good in [r#" {"a": [1, -2.5e+3, "x\u00e4\"", true, null, {}, []]} "#, "0", "\"\""] {
            assert_eq!(problem(good), None, "{good}");
        }
        for (text, expected) in [
            (r#"{"spec":"#, "unexpected end of JSON input"),
            (r#"{"a":"b}"#, "unexpected end of JSON input"),
            ("{spec: 1}", "invalid character 's' looking for beginning of object key string"),
            (r#"{"a":1,}"#, "invalid character '}' looking for beginning of object key string"),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (r#"{"a":1 "b":2}"#, "invalid character '\"' after object key:value pair"),
            (r#"{"a":[1,]}"#, "invalid character ']' looking for beginning of value"),
            (r#"{"a":[1 2]}"#, "invalid character '2' after array element"),
            (r#"{"a":tru}"#, "invalid character '}' in literal true (expecting 'e')"),
            ("{} x", "invalid character 'x' after top-level value"),
            (r#"{"a":01}"#, "invalid character '1' after object key:value pair"),
            (r#"{"a":"\x"}"#, "invalid character 'x' in string escape code"),
            (r#"{"a":-}"#, "invalid character '}' in numeric literal"),
        ] {
            assert_eq!(problem(text).as_deref(), Some(expected), "{text}");
        }
    }
}
