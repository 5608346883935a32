//! Scenarios: any text is resolved or refused, without files beside it.
#![no_main]

use std::path::Path;

use kubesquall::scenario::{self, Overrides, lock_file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(resolved) = scenario::load_text("fuzzed.yaml", text, Path::new("/nowhere"), &Overrides::none()) {
        let lock = lock_file(&resolved);
        let again = scenario::load_text("lock.yaml", &lock, Path::new("/nowhere"), &Overrides::none());
        assert_eq!(again.as_ref().map(lock_file).ok(), Some(lock), "a lock file is not its own lock file");
    }
});
