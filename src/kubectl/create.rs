//! `kubectl create` without files, and `run`: objects made from flags.

use serde_json::{Map, Value, json};

use super::command_line::{
    Arguments, CREATE, DRY, FILES, PRINT, Selection, Stop, WRITE, WithoutNames, Words, error, plain,
};
use super::failure::Failure;
use super::resource::{Found, Kind, find_or_fail};
use super::three_way::export;
use super::verb::{Scene, Verb};
use super::{CommandPlan, Step};
use crate::arena::Symbol;
use crate::component::{Request, export_workload};
use crate::model::manifest::load_text;
use crate::model::{AnyKind, LabelSelector, Object};
use crate::state::Store;
use crate::units::Quantity;

/// Arguments of `create KIND` and `run`.
#[derive(Clone, Debug)]
pub enum CreateArgs {
    /// An object made from flags.
    Made(Box<Made>),
    /// `create job --from`.
    JobFrom {
        /// The Job's name.
        name: String,
        /// The CronJob.
        selection: Selection,
    },
}

/// An object made from flags.
#[derive(Clone, Debug)]
pub struct Made {
    /// The object.
    pub object: Object,
    /// What is printed to be done.
    pub done: &'static str,
    /// What stands before the server's refusal.
    pub failed: String,
    /// Whether `-n` says the namespace.
    pub is_namespace_given: bool,
    /// The Service that `run --expose` makes besides.
    pub service: Option<Object>,
}

impl Verb for CreateArgs {
    const COMMANDS: &'static [Words] = &[
        (
            "create clusterrole",
            &[PRINT, DRY, WRITE, CREATE, "aggregation-rule= non-resource-url= resource= resource-name= verb="],
        ),
        ("create clusterrolebinding", &[PRINT, DRY, WRITE, CREATE, "clusterrole= group= serviceaccount= user="]),
        ("create configmap", &[PRINT, DRY, WRITE, CREATE, "append-hash! from-env-file= from-file= from-literal="]),
        ("create cronjob", &[PRINT, DRY, WRITE, CREATE, "image= restart= schedule="]),
        ("create deployment", &[PRINT, DRY, WRITE, CREATE, "image= port= replicas,r="]),
        ("create ingress", &[PRINT, DRY, WRITE, CREATE, "annotation= class= default-backend= rule="]),
        ("create job", &[PRINT, DRY, WRITE, CREATE, "from= image="]),
        ("create namespace", &[PRINT, DRY, WRITE, CREATE]),
        ("create poddisruptionbudget", &[PRINT, DRY, WRITE, CREATE, "max-unavailable= min-available= selector="]),
        (
            "create priorityclass",
            &[PRINT, DRY, WRITE, CREATE, "description= global-default! preemption-policy= value="],
        ),
        ("create quota", &[PRINT, DRY, WRITE, CREATE, "hard= scopes="]),
        ("create role", &[PRINT, DRY, WRITE, CREATE, "resource= resource-name= verb="]),
        ("create rolebinding", &[PRINT, DRY, WRITE, CREATE, "clusterrole= group= role= serviceaccount= user="]),
        (
            "create secret docker-registry",
            &[
                PRINT,
                DRY,
                WRITE,
                CREATE,
                "append-hash! docker-email= docker-password= docker-server= docker-username= from-file=",
            ],
        ),
        (
            "create secret generic",
            &[PRINT, DRY, WRITE, CREATE, "append-hash! from-env-file= from-file= from-literal= type="],
        ),
        ("create secret tls", &[PRINT, DRY, WRITE, CREATE, "append-hash! cert= key="]),
        ("create service clusterip", &[PRINT, DRY, WRITE, CREATE, "clusterip= tcp="]),
        ("create service externalname", &[PRINT, DRY, WRITE, CREATE, "external-name= tcp="]),
        ("create service loadbalancer", &[PRINT, DRY, WRITE, CREATE, "tcp="]),
        ("create service nodeport", &[PRINT, DRY, WRITE, CREATE, "node-port= tcp="]),
        ("create serviceaccount", &[PRINT, DRY, WRITE, CREATE]),
        (
            "run",
            &[
                FILES,
                PRINT,
                DRY,
                "annotations= attach! command! detach-keys= env= expose! field-manager= grace-period= image= image-pull-policy= \
                 labels,l= leave-stdin-open! override-type= overrides= pod-running-timeout= port= privileged! quiet,q! record! \
                 restart= rm! save-config! stdin,i! timeout= tty,t! wait! cascade? force!",
            ],
        ),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("create cm", "create configmap"),
        ("create cj", "create cronjob"),
        ("create deploy", "create deployment"),
        ("create ing", "create ingress"),
        ("create ns", "create namespace"),
        ("create pdb", "create poddisruptionbudget"),
        ("create pc", "create priorityclass"),
        ("create resourcequota", "create quota"),
        ("create sa", "create serviceaccount"),
        ("create svc", "create service"),
    ];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        if arguments.path == "run" { run(arguments) } else { read(arguments) }
    }

    fn selection(&self) -> Option<&Selection> {
        match self {
            Self::Made(_) => None,
            Self::JobFrom { selection, .. } => Some(selection),
        }
    }

    fn made(&self) -> Option<&Object> {
        match self {
            Self::Made(made) => Some(&made.object),
            Self::JobFrom { .. } => None,
        }
    }

    fn plan(&self, scene: &Scene<'_>, out: &mut CommandPlan) {
        match self {
            Self::Made(made) => plan(made, out),
            Self::JobFrom { name, selection } => job_from(name, selection, scene.store, out),
        }
    }
}

/// What the parser says of an amount that is none.
pub(super) const QUANTITY_FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The object of a tree.
fn object_of(value: &Value, word: &str) -> Result<Object, Stop> {
    let mut loaded = load_text("the command line", &value.to_string());
    match loaded.objects.pop() {
        Some(object) => Ok(object.object),
        None => Err(error(word, format!("`{word}` cannot be made from these flags")).into()),
    }
}

pub(super) fn required(arguments: &Arguments, flag: &'static str) -> Result<String, Stop> {
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
fn read(arguments: &Arguments) -> Result<CreateArgs, Stop> {
    let kind = arguments.path.strip_prefix("create ").unwrap_or_default();
    if kind == "job" && arguments.has("from") {
        return read_job_from(arguments);
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
    Ok(CreateArgs::Made(Box::new(made(&value, &name, failed, arguments)?)))
}

fn made(value: &Value, name: &str, failed: String, arguments: &Arguments) -> Result<Made, Stop> {
    let (object, is_namespace_given) = (object_of(value, name)?, arguments.has("namespace"));
    Ok(Made { object, done: "created", failed, is_namespace_given, service: None })
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

fn read_job_from(arguments: &Arguments) -> Result<CreateArgs, Stop> {
    let name = name(arguments)?;
    if arguments.has("image") {
        return Err(Stop::error("either --image or --from must be specified"));
    }
    if !arguments.rest.is_empty() {
        return Err(Stop::error("cannot specify --from and command"));
    }
    let from = arguments.text("from").unwrap_or_default();
    if from.is_empty() {
        return Err(Stop::error("either --image or --from must be specified"));
    }
    let mut source = arguments.clone();
    source.words = vec![from.to_owned()];
    let selection = source.selection(WithoutNames::Refused)?;
    if selection.targets.len() != 1 {
        return Err(Stop::error("from must be an existing cronjob"));
    }
    Ok(CreateArgs::JobFrom { name, selection })
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
    let of_nodes = arguments.number::<i64>("node-port")?.filter(|number| *number != 0);
    for port in arguments.list("tcp") {
        let (own, target) = port.split_once(':').unwrap_or((&port, &port));
        let number: i32 = own.parse().map_err(|_| Stop::error(format!("invalid port: {own}")))?;
        let target = target.parse::<i32>().map_or_else(|_| json!(target), |target| json!(target));
        let mut port = json!({"name": port.replace(':', "-"), "port": number, "protocol": "TCP", "targetPort": target});
        if let Some(number) = of_nodes {
            port["nodePort"] = json!(number);
        }
        ports.push(port);
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
fn run(arguments: &Arguments) -> Result<CreateArgs, Stop> {
    let Some((name, words)) = arguments.words.split_first() else {
        return Err(Stop::usage("NAME is required for run", "run"));
    };
    let image = required(arguments, "image")?;
    if arguments.switch("rm", false)? {
        let is_attached = arguments.switch("attach", arguments.switch("stdin", false)?)?;
        if !is_attached {
            return Err(Stop::usage("--rm should only be used for attached containers", "run"));
        }
        return Err(Stop::Unanswered("run --rm".to_owned()));
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
    let mut made = made(&value, name, String::new(), arguments)?;
    if arguments.switch("expose", false)? {
        made.service = Some(pods_service(arguments, name)?);
    }
    Ok(CreateArgs::Made(Box::new(made)))
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
    object_of(&service, name)
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

/// Plans the creation of an object; `failed` stands before the server's refusal.
pub(super) fn create(object: Object, done: &str, failed: &str, plan: &mut CommandPlan) {
    let failed = Some(failed.to_owned()).filter(|failed| !failed.is_empty());
    if let Some(step) = step(object, done) {
        plan.call(Step { failed, ..step });
    }
}

/// The creation of an object of a kind that kubectl knows.
pub(super) fn step(object: Object, done: &str) -> Option<Step> {
    let metadata = object.metadata();
    let kind = Kind::of(&object)?;
    let line = format!("{}/{} {done}", kind.printed(), metadata.name);
    let home = Some(metadata.namespace).filter(|namespace| kind.is_namespaced() && !namespace.is_empty());
    Some(Step { home, ..Step::new(Request::Create(Box::new(object)), line) })
}

fn plan(args: &Made, plan: &mut CommandPlan) {
    if let Some(service) = &args.service {
        create(service.clone(), args.done, "", plan);
    }
    create(args.object.clone(), args.done, &args.failed, plan);
}

/// The object of a tree that is well formed.
pub(super) fn object(value: &Value) -> Option<Object> {
    load_text("kubectl", &value.to_string()).objects.pop().map(|object| object.object)
}

/// # Source
/// kubectl, `CreateJobOptions.createJobFromCronJob`.
fn job_from(name: &str, selection: &Selection, store: &Store, plan: &mut CommandPlan) {
    for found in find_or_fail(selection, store, plan) {
        let cron_job = match &found {
            Found::Workload(_, id) => export_workload(store, *id),
            _ => None,
        };
        let (Some(Object::CronJob(cron_job)), Found::Workload(_, id)) = (cron_job, &found) else {
            let text = format!("unknown object type {}", go_type(&found, store));
            return plan.fail(Failure::own(text));
        };
        let uid = store.workload_meta(*id).map(|meta| meta.uid.to_string()).unwrap_or_default();
        let template = Object::CronJob(cron_job).to_value()["spec"]["jobTemplate"].clone();
        let mut annotations = template["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.insert("cronjob.kubernetes.io/instantiate".to_owned(), json!("manual"));
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "name": found.name(store), "uid": uid, "controller": true,
        });
        let metadata = json!({
            "name": name,
            "namespace": found.namespace(store),
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [owner],
        });
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]});
        if let Some(job) = object(&job) {
            create(job, "created", "failed to create job: ", plan);
        }
    }
}

/// The name of an object's type in kubectl's own words.
fn go_type(found: &Found, store: &Store) -> String {
    let (version, kind) = match found.kind().any() {
        AnyKind::Modelled(kind) => (Symbol::new(kind.api_version()), Symbol::new(kind.as_str())),
        AnyKind::Stored(kind) if !kind.is_built_in() => return "*unstructured.Unstructured".to_owned(),
        AnyKind::Stored(kind) => match export(found, store) {
            Some(Object::Stored(object)) => (object.api_version, kind.kind),
            Some(modelled) => (Symbol::new(modelled.kind().api_version()), kind.kind),
            None => (Symbol::new("v1"), kind.kind),
        },
    };
    let version = version.as_str().rsplit('/').next().unwrap_or_default();
    format!("*{version}.{kind}")
}
