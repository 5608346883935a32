//! What was tried, as a report of JUnit: what CI servers read.
//!
//! Nothing in it tells how long anything took, so that equal inputs give equal bytes.

use quick_junit::{NonSuccessKind, Property, Report as Document, TestCase, TestCaseStatus, TestSuite};

use super::Report;
use super::snapshot::{Kept, Moved};
use super::text::ORPHAN;
use super::trial::{Judged, Outcome, Played, Trial, Unusable};
use crate::cli::failure::Failure;
use crate::diagnostics::Diagnostic;
use crate::units::counted;

/// The file.
///
/// # Errors
///
/// None that is known: texts are cleaned of what XML cannot hold.
pub(super) fn text(report: &Report) -> Result<String, Failure> {
    let mut document = Document::new("kubesquall");
    document.add_test_suites(report.trials.iter().map(suite));
    for orphan in &report.orphans {
        let file = orphan.to_string_lossy();
        let mut suite = TestSuite::new(&*file);
        suite.add_test_case(case("has a scenario", &file, failed("orphan", ORPHAN, None)));
        document.add_test_suite(suite);
    }
    document.to_string().map_err(|error| Failure::Bug { what: format!("JUnit's report cannot be written: {error}") })
}

fn suite(trial: &Trial) -> TestSuite {
    let mut suite = TestSuite::new(trial.file.as_str());
    match &trial.outcome {
        Outcome::Played(played) => {
            suite.add_properties([
                Property::new("scenario", played.name.as_str()),
                Property::new("seed", played.seed.to_string()),
                Property::new("simulated_s", played.duration.as_secs_f64().to_string()),
            ]);
            suite.add_test_cases(cases(played, &trial.file));
            if !played.remarks.is_empty() {
                suite.set_system_err(played.remarks.join("\n"));
            }
        }
        Outcome::Unusable(problems) => {
            suite.add_test_case(case("can be used", &trial.file, unusable(problems)));
        }
        Outcome::Bug { what, .. } => {
            let status = error("bug", "an invariant of kubesquall broke", what.clone());
            suite.add_test_case(case("plays", &trial.file, status));
        }
    }
    suite
}

fn cases(played: &Played, file: &str) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = played.judged.iter().map(|judged| of_expectation(judged, file)).collect();
    if cases.is_empty() {
        cases.push(case("plays", file, TestCaseStatus::success()));
    }
    let status = match &played.kept {
        Kept::Nothing => return cases,
        Kept::Same | Kept::Written => TestCaseStatus::success(),
        Kept::Moved(moved) => {
            let lines: Vec<String> = moved.iter().map(Moved::in_words).collect();
            let message = format!("{} moved", counted(moved.len(), "figure", "figures"));
            failed("snapshot", &message, Some(lines.join("\n")))
        }
        Kept::Unusable(problems) => unusable(problems),
    };
    cases.push(case("snapshot", file, status));
    cases
}

fn of_expectation(judged: &Judged, file: &str) -> TestCase {
    let status = if judged.outcome.holds {
        TestCaseStatus::success()
    } else {
        let message = format!("{} does not hold: it is {}", judged.wanted(), judged.outcome.found);
        failed("expectation", &message, Some(format!("{}:{}", judged.location.file, judged.location.line)))
    };
    let mut case = case(&judged.wanted(), file, status);
    case.extra.insert("line".into(), judged.location.line.to_string().into());
    case
}

fn case(name: &str, file: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(file);
    case.extra.insert("file".into(), file.into());
    case
}

fn failed(kind: &str, message: &str, body: Option<String>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_type(kind).set_message(message);
    if let Some(body) = body {
        status.set_description(body);
    }
    status
}

fn error(kind: &str, message: &str, body: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(kind).set_message(message).set_description(body);
    status
}

fn unusable(problems: &Unusable) -> TestCaseStatus {
    let lines: Vec<String> = problems.diagnostics.as_slice().iter().map(Diagnostic::to_string).collect();
    error("unusable", &format!("`{}` cannot be used", problems.file), lines.join("\n"))
}
