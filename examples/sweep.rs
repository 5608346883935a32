//! Plays a study in memory and prints what its variants cost: `cargo run --example sweep [STUDY]`.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "an example reads its arguments and prints")]

use kubesquall::{Error, Study, SweepOptions};

fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "scenarios/studies/tune-tolerations.yaml".to_owned());
    let outcome = Study::load(path)?.sweep(&SweepOptions::new())?;
    for (variant, cost) in outcome.variants().iter().zip(outcome.metric("cost").unwrap_or_default()) {
        println!("{:12} {:.0} [{:.0}, {:.0}]", variant.join(" "), cost.mean, cost.low, cost.high);
    }
    if let Some(best) = outcome.best() {
        println!("lowest: {}", outcome.variants()[best].join(" "));
    }
    Ok(())
}
