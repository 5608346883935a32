//! Plays a scenario file, prints what matters and writes its results: `cargo run --example replay [SCENARIO [DIR]]`.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example reads its arguments and prints")]

use kubesquall::{Error, Scenario};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let scenario = Scenario::load(arguments.next().unwrap_or_else(|| "scenarios/zone-outage.yaml".to_owned()))?;
    let outcome = scenario.play(scenario.seed());
    for sentence in outcome.verdict()? {
        println!("{sentence}");
    }
    if let Some(dir) = arguments.next() {
        println!("results in {}", outcome.write(dir)?.display());
    }
    Ok(())
}
