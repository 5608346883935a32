//! kubectl lines: any line is a command, or refused with a word of the line.
#![no_main]

use kubesquall::kubectl;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    if let Err(error) = kubectl::parse(line) {
        assert!(!error.message.is_empty());
    }
});
