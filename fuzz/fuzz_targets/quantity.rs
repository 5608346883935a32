//! Quantities, durations and counts: what is read and written is read again as the same.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use kubesquall::units::{IntOrPercent, Quantity, SimDuration};
use libfuzzer_sys::fuzz_target;

fn round_trip<T: FromStr + Display + Debug + PartialEq>(text: &str) {
    if let Ok(read) = text.parse::<T>() {
        let written = read.to_string();
        assert_eq!(written.parse::<T>().ok(), Some(read), "{text} is written as {written}");
    }
}

fuzz_target!(|text: &str| {
    round_trip::<Quantity>(text);
    round_trip::<SimDuration>(text);
    round_trip::<IntOrPercent>(text);
});
