//! What was found as a part of a scenario, and as annotations of workloads.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::intake::LatencyEvidence;
use super::lengths::Measure;
use super::model::Latency;
use crate::import::faults;
use crate::model::{cluster_text, yaml, yaml_text};

/// What the file says of itself.
const HEAD: &str = "\
# Made by kubesquall from what a cluster recorded of its pods, nodes and events.
# The block `latency` stands below a scenario's `spec:`. The annotations of workloads belong to their pod templates:
# `--cluster cluster.yaml` puts them into a copy of a cluster.
";

/// The document.
pub(super) fn written(
    read: &LatencyEvidence,
    latencies: &[Latency],
    left_out: &[(Measure, &'static str, usize)],
) -> String {
    let mut text = String::from(HEAD);
    let _ = writeln!(text, "# From: {}", read.inputs.join(", "));
    let evidence = &read.evidence;
    let _ = writeln!(
        text,
        "# Read: {}",
        [
            crate::units::counted(evidence.pods.len(), "pod", "pods"),
            crate::units::counted(evidence.nodes.len(), "node", "nodes"),
            crate::units::counted(evidence.event_count(), "event", "events"),
        ]
        .join(", ")
    );
    for latency in latencies.iter().filter(|latency| latency.workload.is_none()) {
        tell(&mut text, latency);
        for (_, why, count) in left_out.iter().filter(|(measure, ..)| *measure == latency.measure) {
            let _ = writeln!(text, "# left out: {why}: {count}");
        }
    }
    let mut taken = latencies.iter().filter(|latency| latency.workload.is_none() && latency.taken.is_some()).peekable();
    if taken.peek().is_none() {
        text.push_str("#\nlatency: {}\n");
    } else {
        text.push_str("#\nlatency:\n");
    }
    for latency in taken {
        let distribution = latency.written().unwrap_or_default();
        let _ = writeln!(text, "  {}: {distribution}", latency.measure.field());
    }
    let mut workload = None;
    for latency in latencies.iter().filter(|latency| latency.workload.is_some()) {
        if workload != latency.workload.as_deref() {
            workload = latency.workload.as_deref();
            let _ = writeln!(text, "#\n# {}, annotations of the pod template:", workload.unwrap_or_default());
        }
        if let Some((annotation, value)) = latency.annotation() {
            let _ = writeln!(text, "#     {annotation}: '{value}'");
        }
        tell(&mut text, latency);
    }
    text
}

fn tell(text: &mut String, latency: &Latency) {
    let of_workload = latency.workload.is_some();
    let _ =
        writeln!(text, "{}# {}: {}", if of_workload { "" } else { "#\n" }, latency.measure.field(), latency.counted());
    if let Some(goodness) = latency.goodness {
        let _ = writeln!(text, "#   {:<12} {:>10} parameters", "family", "AICc");
        for fit in &latency.fits {
            let aicc = if fit.aicc.is_finite() { format!("{:.1}", fit.aicc) } else { "-".to_owned() };
            let _ = writeln!(text, "#   {:<12} {aicc:>10} {}", fit.name, faults::written(&fit.distribution));
        }
        let by_chance =
            goodness.p_value.map_or_else(String::new, |p| format!(", as far by chance in {:.0} %", p * 100.0));
        let _ = writeln!(text, "# distance of the best: {:.3}{by_chance}", goodness.distance);
    }
    for note in &latency.notes {
        let _ = writeln!(text, "# {}{note}", if note.starts_with("warning") { "" } else { "note: " });
    }
}

impl Latency {
    /// What is taken, on one line of YAML.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        self.taken.as_ref().map(faults::written)
    }

    /// The annotation of the workload, and its value.
    #[must_use]
    pub fn annotation(&self) -> Option<(&'static str, String)> {
        self.measure.annotation().filter(|_| self.workload.is_some()).zip(self.written())
    }

    /// How many lengths there are, and what is known of them.
    #[must_use]
    pub fn counted(&self) -> String {
        let mut text = crate::units::counted(self.whole, "length", "lengths");
        if self.open > 0 {
            let _ = write!(text, ", {} not ended", self.open);
        }
        if self.capped > 0 {
            let _ = write!(text, ", {} of which only the most is known", self.capped);
        }
        text
    }
}

/// A cluster with the annotations on the pod templates of its workloads; and the workloads that it does not have.
///
/// # Errors
///
/// The cluster is no YAML of objects.
pub fn annotated(cluster: &str, latencies: &[Latency]) -> Result<(String, Vec<String>), String> {
    let head: String =
        cluster.lines().take_while(|line| line.starts_with('#')).fold(String::new(), |text, line| text + line + "\n");
    let mut objects = Vec::new();
    for piece in yaml::documents(cluster) {
        let options = yaml::options_with_duplicates(&piece.text);
        let object: Value =
            serde_saphyr::from_str_with_options(&piece.text, options).map_err(|error| error.to_string())?;
        match object {
            Value::Object(mut fields) if fields.contains_key("items") => {
                if let Some(Value::Array(items)) = fields.remove("items") {
                    objects.extend(items);
                }
            }
            object => objects.push(object),
        }
    }
    let mut missing = Vec::new();
    for latency in latencies {
        let (Some(workload), Some((annotation, value))) = (&latency.workload, latency.annotation()) else { continue };
        let found = objects.iter_mut().find(|object| name_of(object) == *workload);
        match found.and_then(template_of) {
            Some(template) => {
                if !template["metadata"]["annotations"].is_object() {
                    template["metadata"]["annotations"] = json!({});
                }
                template["metadata"]["annotations"][annotation] = value.into();
            }
            None if missing.contains(workload) => {}
            None => missing.push(workload.clone()),
        }
    }
    let end = if cluster.ends_with(cluster_text::LAST_LINE) { cluster_text::LAST_LINE } else { "" };
    Ok((head + &yaml_text::documents(objects.into_iter()) + end, missing))
}

/// As `deployment/shop/web`.
fn name_of(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").unwrap_or("default");
    let kind = text("/kind").unwrap_or_default().to_ascii_lowercase();
    format!("{kind}/{namespace}/{}", text("/metadata/name").unwrap_or_default())
}

fn template_of(object: &mut Value) -> Option<&mut Value> {
    let path = if object["kind"] == "CronJob" { "/spec/jobTemplate/spec/template" } else { "/spec/template" };
    let template = object.pointer_mut(path).filter(|template| template.is_object())?;
    if !template["metadata"].is_object() {
        template["metadata"] = json!({});
    }
    Some(template)
}
