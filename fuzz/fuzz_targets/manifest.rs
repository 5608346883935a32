//! Manifests and dumps: whatever is in a file, it is read or refused, and a problem points into the text.
#![no_main]

use kubesquall::model::manifest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let loaded = manifest::load_text("fuzzed.yaml", text);
    for object in &loaded.objects {
        let _ = object.object.to_value();
    }
});
