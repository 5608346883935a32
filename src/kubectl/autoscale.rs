//! `kubectl autoscale`.

use serde_json::{Value, json};

use super::command_line::{Arguments, DRY, FILES, PRINT, Selection, Stop, WithoutNames, Words};
use super::create::{QUANTITY_FORM, object, required, step};
use super::failure::Failure;
use super::printing::DryRun;
use super::resource::{Found, find_or_fail};
use super::three_way::export;
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, Item, Step};
use crate::model::Object;
use crate::state::WorkloadId;
use crate::units::Quantity;

/// Arguments of `autoscale`.
#[derive(Clone, Debug)]
pub struct AutoscaleArgs {
    /// What is scaled.
    pub selection: Selection,
    /// `--name`.
    pub name: Option<String>,
    /// `--min`; less than 1 if not given.
    pub min: i32,
    /// `--max`.
    pub max: i32,
    /// `--cpu-percent`, if it is positive.
    pub cpu_percent: Option<i32>,
    /// `--cpu`.
    pub cpu: Option<UsageTarget>,
    /// `--memory`.
    pub memory: Option<UsageTarget>,
    /// Whether `--cpu-percent` was given, which kubectl advises against.
    pub is_deprecated: bool,
}

/// How much of a resource an autoscaler is to have pods use.
#[derive(Copy, Clone, Debug)]
pub enum UsageTarget {
    /// Percent of what they request.
    Utilization(i32),
    /// On average.
    Average(Quantity),
}

impl Verb for AutoscaleArgs {
    const COMMANDS: &'static [Words] = &[(
        "autoscale",
        &[FILES, PRINT, DRY, "cpu= cpu-percent= field-manager= max= memory= min= name= record! save-config!"],
    )];
    const READS_BEFORE: bool = false;

    /// # Source
    /// kubectl, `AutoscaleOptions.Validate`.
    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        required(arguments, "max")?;
        let max = arguments.number::<i32>("max")?.unwrap_or(-1);
        let min = arguments.number::<i32>("min")?.unwrap_or(-1);
        let cpu_percent = arguments.number::<i32>("cpu-percent")?.filter(|percent| *percent > 0);
        if max < 1 {
            return Err(Stop::error(format!("--max=MAXPODS is required and must be at least 1, max: {max}")));
        }
        if max < min {
            let text = format!("--max=MAXPODS must be larger or equal to --min=MINPODS, max: {max}, min: {min}");
            return Err(Stop::error(text));
        }
        let given = |flag: &str| arguments.text(flag).filter(|text| !text.is_empty());
        if cpu_percent.is_some() && given("cpu").is_some() {
            return Err(Stop::error("--cpu-percent and --cpu are mutually exclusive"));
        }
        let cpu = given("cpu").map(|text| usage_target(text, "cpu", "m")).transpose()?;
        let memory = given("memory").map(|text| usage_target(text, "memory", "Mi")).transpose()?;
        let name = given("name").map(str::to_owned);
        let is_deprecated = arguments.has("cpu-percent");
        let selection = arguments.selection(WithoutNames::Refused)?;
        Ok(Self { selection, name, min, max, cpu_percent, cpu, memory, is_deprecated })
    }

    works_on_selection!(of_words_or_files);

    /// # Source
    /// kubectl, `AutoscaleOptions.Run`.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        let dry_run = scene.line.printing.dry_run;
        if self.is_deprecated {
            let text = "Flag --cpu-percent has been deprecated, Use --cpu with percentage or resource quantity format (e.g., '70%' \
                        for utilization or '500m' for milliCPU).";
            plan.warnings.push(text.to_owned());
        }
        let done = if dry_run == DryRun::Client { "created" } else { "autoscaled" };
        for found in find_or_fail(&self.selection, store, plan) {
            let kind = found.kind().group_kind();
            let plain = kind.split('.').next().unwrap_or(&kind);
            let is_scalable = matches!(
                found,
                Found::Workload(_, WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_) | WorkloadId::StatefulSet(_))
            );
            if !is_scalable {
                let version = export(&found, store).map_or_else(|| "v1".to_owned(), |object| version_of(&object));
                // The group is empty for kinds of the first API.
                let version = if version.contains('/') { version } else { format!("/{version}") };
                let resource = found.kind().resource();
                let resource = resource.split('.').next().unwrap_or(resource);
                let why = format!(
                    "could not find scale subresource for {version}, Resource={resource} in discovery information"
                );
                plan.fail(Failure::own(format!("cannot autoscale a {plain}: {why}")));
                continue;
            }
            let name = self.name.clone().unwrap_or_else(|| found.name(store));
            let mut spec = json!({
                "maxReplicas": self.max,
                "scaleTargetRef": {
                    "apiVersion": if kind.contains('.') { "apps/v1" } else { "v1" }, "kind": plain, "name": found.name(store),
                },
            });
            if self.min > 0 {
                spec["minReplicas"] = json!(self.min);
            }
            let of_version = |version: &str, spec: &Value| {
                object(&json!({
                    "apiVersion": version, "kind": "HorizontalPodAutoscaler",
                    "metadata": {"name": name, "namespace": found.namespace(store)}, "spec": spec,
                }))
            };
            let plain_spec = spec.clone();
            let metrics = metrics(self);
            if !metrics.is_empty() {
                spec["metrics"] = Value::Array(metrics);
            }
            let Some(autoscaler) = of_version("autoscaling/v2", &spec) else { continue };
            let otherwise = match no_older_version(self) {
                Some(why) => Item::Fail(Failure::own(format!(
                    "failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1: {why}"
                ))),
                None => match of_version("autoscaling/v1", &plain_spec).and_then(|older| step(older, done)) {
                    Some(older) => Item::Call(Box::new(older)),
                    None => continue,
                },
            };
            if let Some(step) = step(autoscaler, done) {
                plan.call(Step { otherwise: vec![otherwise], ..step });
            }
        }
    }
}

/// `70%`, `500m`, `2Gi`; a bare number is in thousandths of a core, or in mebibytes.
///
/// # Source
/// kubectl autoscale, `parseResourceInput`.
fn usage_target(text: &str, resource: &str, unit: &str) -> Result<UsageTarget, Stop> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Stop::error("empty input"));
    }
    if let Some(percent) = text.strip_suffix('%') {
        let found = percent.parse().ok().filter(|percent| *percent >= 0);
        let invalid = || Stop::error(format!("invalid percentage value: {percent}"));
        return found.map(UsageTarget::Utilization).ok_or_else(invalid);
    }
    let (amount, invalid) = match text.parse::<f64>() {
        Ok(number) => (format!("{number}{unit}"), QUANTITY_FORM.to_owned()),
        Err(_) => (text.to_owned(), format!("invalid resource {resource} value: {text}")),
    };
    amount.parse().map(UsageTarget::Average).map_err(|_| Stop::error(invalid))
}

/// What the flags say of metrics, as an autoscaler has it.
fn metrics(args: &AutoscaleArgs) -> Vec<Value> {
    let percent = args.cpu_percent.map(|percent| ("cpu", UsageTarget::Utilization(percent)));
    let given = percent.into_iter().chain(args.cpu.map(|cpu| ("cpu", cpu)));
    let metric = |(name, target)| {
        let target = match target {
            UsageTarget::Utilization(percent) => json!({"type": "Utilization", "averageUtilization": percent}),
            UsageTarget::Average(amount) => json!({"type": "AverageValue", "averageValue": amount.to_string()}),
        };
        json!({"type": "Resource", "resource": {"name": name, "target": target}})
    };
    given.chain(args.memory.map(|memory| ("memory", memory))).map(metric).collect()
}

/// Why kubectl does not try the first version of the API after the second one refused; none if it does.
///
/// # Source
/// kubectl, `AutoscaleOptions.canCreateHPAV1`: it reads `--cpu` again, whether it was given or not.
fn no_older_version(args: &AutoscaleArgs) -> Option<&'static str> {
    match (args.cpu, args.memory) {
        (None, _) => Some("empty input"),
        (Some(UsageTarget::Utilization(_)), None) => None,
        _ => Some("%!w(<nil>)"),
    }
}

fn version_of(object: &Object) -> String {
    object.to_value()["apiVersion"].as_str().unwrap_or_default().to_owned()
}
