//! `kubectl expose`.

use serde_json::{Value, json};

use super::CommandPlan;
use super::command_line::{
    Arguments, CommandLineError, DRY, FILES, PRINT, Selection, Stop, WithoutNames, Words, error,
};
use super::create::{create, object};
use super::failure::Failure;
use super::resource::{Found, Kind, find_or_fail};
use super::verb::{Scene, Verb, works_on_selection};
use crate::component::export_workload;
use crate::state::{Store, WorkloadId};

/// Arguments of `expose`.
#[derive(Clone, Debug)]
pub struct ExposeArgs {
    /// What is exposed.
    pub selection: Selection,
    /// `--name`.
    pub name: Option<String>,
    /// `--port`.
    pub ports: Vec<i32>,
    /// `--target-port`.
    pub target_port: Option<String>,
    /// `--selector`.
    pub selector: Option<String>,
    /// `--type`.
    pub service_type: Option<String>,
}

impl Verb for ExposeArgs {
    const COMMANDS: &'static [Words] = &[(
        "expose",
        &[
            FILES,
            PRINT,
            DRY,
            "cluster-ip= external-ip= field-manager= labels,l= load-balancer-ip= name= override-type= overrides= port= \
                 protocol= record! save-config! selector= session-affinity= target-port= type=",
        ],
    )];
    const READS_BEFORE: bool = false;

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
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
        Ok(Self { selection, name, ports, target_port, selector, service_type })
    }

    works_on_selection!(of_words_or_files);

    /// # Source
    /// kubectl, `ExposeServiceOptions.RunExpose`.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        for found in find_or_fail(&self.selection, store, plan) {
            let Some((mut selector, known)) = exposed(&found, store) else {
                plan.fail(Failure::own(format!("cannot expose a {}", found.kind().group_kind())));
                continue;
            };
            if let Some(text) = &self.selector {
                let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
                selector = Value::Object(pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect());
            }
            let ports: Vec<i64> =
                if self.ports.is_empty() { known } else { self.ports.iter().map(|port| i64::from(*port)).collect() };
            if ports.is_empty() {
                plan.fail(Failure::own("couldn't find port via --port flag or introspection"));
                continue;
            }
            let target = |port: i64| match &self.target_port {
                Some(text) => text.parse::<i64>().map_or_else(|_| json!(text), |port| json!(port)),
                None => json!(port),
            };
            let many = ports.len() > 1;
            let port = |(index, port): (usize, &i64)| {
                let mut value = json!({"port": port, "protocol": "TCP", "targetPort": target(*port)});
                if many {
                    value["name"] = json!(format!("port-{}", index + 1));
                }
                value
            };
            let ports: Vec<Value> = ports.iter().enumerate().map(port).collect();
            let service = json!({
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {
                    "name": self.name.clone().unwrap_or_else(|| found.name(store)),
                    "namespace": found.namespace(store),
                    "labels": found.labels(store),
                },
                "spec": {"selector": selector, "ports": ports, "type": self.service_type.as_deref().unwrap_or("ClusterIP")},
            });
            if let Some(service) = object(&service) {
                create(service, "exposed", "", plan);
            }
        }
    }
}

/// What an object exposes: its selector and the ports of its containers.
fn exposed(found: &Found, store: &Store) -> Option<(Value, Vec<i64>)> {
    let ports = |pod: &Value| -> Vec<i64> {
        let containers = pod["containers"].as_array().into_iter().flatten();
        let ports = containers.flat_map(|container| container["ports"].as_array().into_iter().flatten());
        ports.filter_map(|port| port["containerPort"].as_i64()).collect()
    };
    let value = match found {
        Found::Pod(id) => {
            let pod = store.pod(*id)?;
            let spec = serde_json::to_value(&pod.spec.spec).ok()?;
            return Some((json!(pod.labels), ports(&spec)));
        }
        Found::Workload(_, WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_)) => {
            let Found::Workload(_, id) = found else { return None };
            export_workload(store, *id)?.to_value()
        }
        Found::Other(Kind::Service, ..) => super::three_way::export(found, store)?.to_value(),
        _ => return None,
    };
    if let Found::Other(..) = found {
        let ports = value["spec"]["ports"].as_array().into_iter().flatten();
        return Some((value["spec"]["selector"].clone(), ports.filter_map(|port| port["port"].as_i64()).collect()));
    }
    let selector = &value["spec"]["selector"];
    let selector = selector.get("matchLabels").unwrap_or(selector).clone();
    Some((selector, ports(&value["spec"]["template"]["spec"])))
}
