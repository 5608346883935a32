//! Looks for what the feature `live` holds, and says how to make it where it is not there.

use std::env;
use std::path::PathBuf;

#[expect(clippy::disallowed_methods, reason = "the environment is how cargo tells a build script what is built")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=KUBESQUALL_LIVE");
    if env::var_os("CARGO_FEATURE_LIVE").is_none() {
        return;
    }
    let built = || PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("live/simulator.wasm.gz");
    let place = env::var_os("KUBESQUALL_LIVE").map_or_else(built, PathBuf::from);
    println!("cargo::rerun-if-changed={}", place.display());
    if place.is_file() {
        println!("cargo::rustc-env=KUBESQUALL_LIVE={}", place.display());
    } else {
        println!(
            "cargo::error=the feature `live` holds the simulator as WebAssembly, and `{}` is not there: run `live/build` in a \
             clone of the repository, name another file with KUBESQUALL_LIVE, or build without the feature",
            place.display()
        );
    }
}
