//! `create` without `-f`, `run`, `expose` and `autoscale`: objects made from flags.

use serde_json::{Map, Value, json};

use super::args::{AutoscaleArgs, ExposeArgs, JobFromArgs, MakeArgs, UsageTarget};
use super::flags::Arguments;
use super::resources::WithoutNames;
use super::{Command, CommandLineError, Stop, error, plain};
use crate::model::manifest::load_text;
use crate::model::{LabelSelector, Object};
use crate::units::Quantity;

/// What the parser says of an amount that is none.
const QUANTITY_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The object of a tree.
fn object(value: &Value, word: &str) -> Result<Object, Stop> {
    let mut loaded = load_text("the command line", &value.to_string());
    match loaded.objects.pop() {
        Some(object) => Ok(object.object),
        None => Err(error(word, format!("`{word}` cannot be made from these flags")).into()),
    }
}

fn required(arguments: &Arguments, flag: &'static str) -> Result<String, Stop> {
    let missing = || Stop::error(format!("required flag(s) \"{flag}\" not set"));
    arguments.text(flag).filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(missing)
}

/// # Source
/// kubectl, `NameFromCommandArgs`.
fn name(arguments: &Arguments) -> Result<String, Stop> {
    match arguments.words.as_slice() {
        [name] => Ok(name.clone()),
        words => {
            let text = format!("exactly one NAME is required, got {}", words.len());
            Err(Stop::usage(text, &arguments.path))
        }
    }
}

/// `create KIND NAME`.
///
/// # Source
/// kubectl, the commands of `create`: what each makes of its flags.
pub(super) fn create(arguments: &Arguments) -> Result<Command, Stop> {
    let kind = arguments.path.strip_prefix("create ").unwrap_or_default();
    if kind == "job" && arguments.has("from") {
        return job_from(arguments);
    }
    let name = name(arguments)?;
    let (api_version, api_kind, fields, failed) = match kind {
        "namespace" => ("v1", "Namespace", json!({}), ""),
        "serviceaccount" => ("v1", "ServiceAccount", json!({}), "failed to create serviceaccount: "),
        "configmap" => ("v1", "ConfigMap", plain::config_map(arguments)?, "failed to create configmap: "),
        "secret generic" | "secret tls" | "secret docker-registry" => {
            ("v1", "Secret", json!({"data": sources(arguments)}), "failed to create secret ")
        }
        "deployment" => ("apps/v1", "Deployment", deployment(arguments, &name)?, "failed to create deployment: "),
        "job" => {
            let Some(image) = arguments.text("image") else {
                return Err(Stop::error("either --image or --from must be specified"));
            };
            ("batch/v1", "Job", json!({"spec": job_spec(arguments, &name, image)}), "failed to create job: ")
        }
        "cronjob" => {
            let spec = job_spec(arguments, &name, &required(arguments, "image")?);
            let schedule = required(arguments, "schedule")?;
            let spec = json!({"schedule": schedule, "jobTemplate": {"metadata": {"name": name}, "spec": spec}});
            ("batch/v1", "CronJob", json!({"spec": spec}), "failed to create cronjob: ")
        }
        "priorityclass" => {
            let fields = json!({
                "value": arguments.number::<i32>("value")?.unwrap_or(0),
                "globalDefault": arguments.switch("global-default", false)?,
                "description": arguments.text("description").unwrap_or_default(),
                "preemptionPolicy": arguments.text("preemption-policy").unwrap_or("PreemptLowerPriority"),
            });
            ("scheduling.k8s.io/v1", "PriorityClass", fields, "failed to create priorityclass: ")
        }
        "poddisruptionbudget" => {
            ("policy/v1", "PodDisruptionBudget", budget(arguments)?, "failed to create poddisruptionbudgets: ")
        }
        "quota" => ("v1", "ResourceQuota", quota(arguments)?, "failed to create quota: "),
        "role" => ("rbac.authorization.k8s.io/v1", "Role", plain::rules(arguments)?, ""),
        "clusterrole" => ("rbac.authorization.k8s.io/v1", "ClusterRole", plain::rules(arguments)?, ""),
        "rolebinding" => (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            plain::binding(arguments)?,
            "failed to create rolebinding: ",
        ),
        "clusterrolebinding" => {
            let failed = "failed to create clusterrolebinding: ";
            ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", plain::binding(arguments)?, failed)
        }
        "ingress" => ("networking.k8s.io/v1", "Ingress", sources(arguments), "failed to create ingress: "),
        _ => ("v1", "Service", service(arguments, &name, kind)?, ""),
    };
    let failed = match (kind.strip_prefix("service "), failed) {
        (Some(kind), _) => format!("failed to create {} service: ", service_type(kind)),
        (None, failed) => failed.to_owned(),
    };
    let mut value = json!({
        "apiVersion": api_version,
        "kind": api_kind,
        "metadata": {"name": name, "namespace": arguments.namespace()},
    });
    if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
        value.extend(fields);
    }
    if kind == "deployment" || api_kind == "Service" {
        value["metadata"]["labels"] = json!({"app": name});
    }
    made(&value, &name, failed, arguments)
}

fn made(value: &Value, name: &str, failed: String, arguments: &Arguments) -> Result<Command, Stop> {
    let (object, is_namespace_given) = (object(value, name)?, arguments.has("namespace"));
    Ok(Command::Make(MakeArgs { object, done: "created", failed, is_namespace_given, service: None }))
}

/// What decides nothing is told apart by the flags that say it.
fn sources(arguments: &Arguments) -> Value {
    const FLAGS: [&str; 24] = [
        "from-literal",
        "from-file",
        "from-env-file",
        "type",
        "cert",
        "key",
        "docker-server",
        "docker-username",
        "docker-password",
        "docker-email",
        "verb",
        "resource",
        "resource-name",
        "non-resource-url",
        "aggregation-rule",
        "clusterrole",
        "role",
        "group",
        "serviceaccount",
        "user",
        "annotation",
        "class",
        "default-backend",
        "rule",
    ];
    let said = FLAGS.iter().filter(|flag| arguments.has(flag));
    let said = said.map(|flag| ((*flag).to_owned(), arguments.texts(flag).collect::<Vec<_>>().into()));
    Value::Object(said.collect::<Map<String, Value>>())
}

/// The name of an image's container.
fn container_name(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    let plain = last.split(['@', ':']).next().unwrap_or(last);
    plain.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn deployment(arguments: &Arguments, name: &str) -> Result<Value, Stop> {
    required(arguments, "image")?;
    let images = arguments.list("image");
    if images.len() > 1 && !arguments.rest.is_empty() {
        return Err(Stop::error("cannot specify multiple --image options and command"));
    }
    let mut containers: Vec<Value> =
        images.iter().map(|image| json!({"name": container_name(image), "image": image, "resources": {}})).collect();
    if let Some(first) = containers.first_mut() {
        if !arguments.rest.is_empty() {
            first["command"] = json!(arguments.rest);
        }
        if let Some(port) = arguments.number::<i32>("port")?.filter(|port| *port >= 0) {
            first["ports"] = json!([{"containerPort": port}]);
        }
    }
    let labels = json!({"app": name});
    Ok(json!({"spec": {
        "replicas": arguments.number::<i32>("replicas")?.unwrap_or(1),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }}))
}

fn job_spec(arguments: &Arguments, name: &str, image: &str) -> Value {
    let mut container = json!({"name": name, "image": image, "resources": {}});
    if !arguments.rest.is_empty() {
        container["command"] = json!(arguments.rest);
    }
    let default = if arguments.path == "create cronjob" { "OnFailure" } else { "Never" };
    let restart = arguments.text("restart").unwrap_or(default);
    json!({"template": {"spec": {"restartPolicy": restart, "containers": [container]}}})
}

fn job_from(arguments: &Arguments) -> Result<Command, Stop> {
    let name = name(arguments)?;
    if arguments.has("image") {
        return Err(Stop::error("either --image or --from must be specified"));
    }
    if !arguments.rest.is_empty() {
        return Err(Stop::error("cannot specify --from and command"));
    }
    let from = arguments.text("from").unwrap_or_default();
    let mut source = arguments.clone();
    source.words = vec![from.to_owned()];
    let selection = source.selection(WithoutNames::Refused)?;
    if selection.targets.len() != 1 || selection.targets[0].kind.printed() != "cronjob.batch" {
        return Err(Stop::error("from must be an existing cronjob"));
    }
    Ok(Command::JobFrom(JobFromArgs { name, selection }))
}

fn budget(arguments: &Arguments) -> Result<Value, Stop> {
    let Some(selector) = arguments.text("selector").filter(|text| !text.is_empty()) else {
        return Err(Stop::error("a selector must be specified"));
    };
    let selector = LabelSelector::parse(selector).map_err(|e| error(selector, e.to_string()))?;
    let amount = |text: &str| text.parse::<i64>().map_or_else(|_| json!(text), |count| json!(count));
    let mut spec = json!({"selector": selector});
    match (arguments.text("min-available"), arguments.text("max-unavailable")) {
        (None, None) => return Err(Stop::error("one of min-available or max-unavailable must be specified")),
        (Some(_), Some(_)) => {
            return Err(Stop::error("min-available and max-unavailable cannot be both specified"));
        }
        (Some(least), None) => spec["minAvailable"] = amount(least),
        (None, Some(most)) => spec["maxUnavailable"] = amount(most),
    }
    Ok(json!({"spec": spec}))
}

/// # Source
/// kubectl create quota, `populateResourceListV1` and `parseScopes`.
fn quota(arguments: &Arguments) -> Result<Value, Stop> {
    let given = |flag: &str| arguments.text(flag).filter(|text| !text.is_empty());
    let mut hard = Map::new();
    for statement in given("hard").into_iter().flat_map(|text| text.split(',')) {
        let [resource, amount] = statement.split('=').collect::<Vec<_>>()[..] else {
            let text = format!("Invalid argument syntax {statement}, expected <resource>=<value>");
            return Err(Stop::error(text));
        };
        amount.parse::<Quantity>().map_err(|_| Stop::error(QUANTITY_FORM))?;
        hard.insert(resource.to_owned(), json!(amount));
    }
    let scopes: Vec<&str> = given("scopes").into_iter().flat_map(|text| text.split(',')).collect();
    if scopes.contains(&"") {
        return Err(Stop::error("invalid resource quota scope \"\""));
    }
    let mut spec = Map::new();
    if !hard.is_empty() {
        spec.insert("hard".to_owned(), hard.into());
    }
    if !scopes.is_empty() {
        spec.insert("scopes".to_owned(), json!(scopes));
    }
    Ok(json!({"spec": spec}))
}

fn service_type(kind: &str) -> &'static str {
    match kind {
        "nodeport" => "NodePort",
        "loadbalancer" => "LoadBalancer",
        "externalname" => "ExternalName",
        _ => "ClusterIP",
    }
}

fn service(arguments: &Arguments, name: &str, kind: &str) -> Result<Value, Stop> {
    let kind = kind.strip_prefix("service ").unwrap_or(kind);
    let mut ports = Vec::new();
    for port in arguments.list("tcp") {
        let (own, target) = port.split_once(':').unwrap_or((&port, &port));
        let number: i32 = own.parse().map_err(|_| Stop::error(format!("invalid port: {own}")))?;
        let target = target.parse::<i32>().map_or_else(|_| json!(target), |target| json!(target));
        ports.push(json!({"name": port.replace(':', "-"), "port": number, "protocol": "TCP", "targetPort": target}));
    }
    if ports.is_empty() && kind != "externalname" && arguments.text("clusterip") != Some("None") {
        return Err(Stop::error("at least one tcp port specifier must be provided"));
    }
    let mut spec = json!({"selector": {"app": name}, "ports": ports, "type": service_type(kind)});
    if let Some(address) = arguments.text("clusterip").or(arguments.text("external-name")) {
        spec[if kind == "externalname" { "externalName" } else { "clusterIP" }] = json!(address);
    }
    Ok(json!({"spec": spec}))
}

/// `run NAME --image=IMAGE`: a pod.
///
/// # Source
/// kubectl, `RunOptions.Run` and `BasicPod`.
pub(super) fn run(arguments: &Arguments) -> Result<Command, Stop> {
    let Some((name, words)) = arguments.words.split_first() else {
        return Err(Stop::usage("NAME is required for run", "run"));
    };
    let image = required(arguments, "image")?;
    if arguments.switch("rm", false)? {
        return Ok(Command::Unanswered("run --rm".to_owned()));
    }
    let labels = arguments.text("labels").unwrap_or_default();
    let labels: Map<String, Value> = if labels.is_empty() {
        [("run".to_owned(), json!(name))].into_iter().collect()
    } else {
        labels.split(',').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (k.to_owned(), json!(v))).collect()
    };
    let mut container = json!({"name": name, "image": image, "resources": {}});
    let words: Vec<&String> = words.iter().chain(&arguments.rest).collect();
    if !words.is_empty() {
        container[if arguments.switch("command", false)? { "command" } else { "args" }] = json!(words);
    }
    let env: Vec<Value> = arguments
        .texts("env")
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    if !env.is_empty() {
        container["env"] = json!(env);
    }
    if let Some(port) = arguments.number::<i32>("port")? {
        container["ports"] = json!([{"containerPort": port}]);
    }
    let restart = arguments.text("restart").unwrap_or("Always");
    if !["Always", "OnFailure", "Never"].contains(&restart) {
        return Err(Stop::usage(format!("invalid restart policy: {restart}"), "run"));
    }
    let mut value = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": arguments.namespace(), "labels": labels},
        "spec": {"containers": [container], "restartPolicy": restart},
    });
    let annotations = arguments.texts("annotations").filter_map(|pair| pair.split_once('='));
    let annotations: Map<String, Value> = annotations.map(|(key, value)| (key.to_owned(), json!(value))).collect();
    if !annotations.is_empty() {
        value["metadata"]["annotations"] = annotations.into();
    }
    if let Some(text) = arguments.text("overrides") {
        let overrides: Value = serde_json::from_str(text).map_err(|_| error(text, "--overrides is no JSON"))?;
        merge(&mut value, &overrides);
    }
    let mut command = made(&value, name, String::new(), arguments)?;
    if let Command::Make(made) = &mut command
        && arguments.switch("expose", false)?
    {
        made.service = Some(pods_service(arguments, name)?);
    }
    Ok(command)
}

/// The Service of `run --expose`.
///
/// # Source
/// kubectl, `RunOptions.generateService`.
fn pods_service(arguments: &Arguments, name: &str) -> Result<Object, Stop> {
    let Some(port) = arguments.number::<i32>("port")? else {
        return Err(Stop::error("--port must be set when exposing a service"));
    };
    let labels = arguments.text("labels").filter(|labels| !labels.is_empty());
    let pairs = labels.into_iter().flat_map(|labels| labels.split(',')).filter_map(|pair| pair.split_once('='));
    let labels: Map<String, Value> = pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect();
    let selector = if labels.is_empty() { json!({"run": name}) } else { json!(labels) };
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": arguments.namespace(), "labels": labels},
        "spec": {"ports": [{"port": port, "protocol": "TCP", "targetPort": port}], "selector": selector},
    });
    object(&service, name)
}

/// A JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                if value.is_null() {
                    target.remove(key);
                } else {
                    merge(target.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
        }
        (target, patch) => *target = patch.clone(),
    }
}

/// `expose`.
pub(super) fn expose(arguments: &mut Arguments) -> Result<Command, Stop> {
    let ports = arguments.list("port");
    let ports = ports
        .iter()
        .map(|port| port.parse::<i32>().map_err(|_| error(port, format!("--port takes a number, not `{port}`"))))
        .collect::<Result<Vec<_>, CommandLineError>>()?;
    let selector = arguments.text("selector").filter(|text| !text.is_empty()).map(str::to_owned);
    let (name, target_port) =
        (arguments.text("name").map(str::to_owned), arguments.text("target-port").map(str::to_owned));
    let service_type = arguments.text("type").map(str::to_owned);
    // Its own `--selector` is the Service's.
    let selection = arguments.without("selector").selection(WithoutNames::Refused)?;
    Ok(Command::Expose(ExposeArgs { selection, name, ports, target_port, selector, service_type }))
}

/// `autoscale`.
///
/// # Source
/// kubectl, `AutoscaleOptions.Validate`.
pub(super) fn autoscale(arguments: &mut Arguments) -> Result<Command, Stop> {
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
    Ok(Command::Autoscale(AutoscaleArgs { selection, name, min, max, cpu_percent, cpu, memory, is_deprecated }))
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
