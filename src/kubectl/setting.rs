//! `kubectl set env`, `set resources`, `set serviceaccount`, `set selector`.

use serde_json::{Map, Value, json};

use super::CommandPlan;
use super::command_line::{Arguments, DRY, FILES, PRINT, SET, Selection, Stop, Words, all_or_refused, error};
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::{Found, Kind, find_all};
use super::three_way;
use super::verb::{Scene, Verb, works_on_selection};
use crate::model::Object;
use crate::state::Store;

/// Arguments of `set` but for images.
#[derive(Clone, Debug)]
pub struct SetArgs {
    /// What.
    pub selection: Selection,
    /// `--containers`; `*` for all.
    pub container: String,
    /// What is set.
    pub what: SetWhat,
}

/// What `set` sets.
#[derive(Clone, Debug)]
pub enum SetWhat {
    /// Variables; no value removes one.
    Env {
        /// Names and values.
        changes: Vec<(String, Option<String>)>,
        /// `--overwrite`.
        overwrite: bool,
    },
    /// Resources of containers.
    Resources {
        /// `--limits`.
        limits: Vec<(String, String)>,
        /// `--requests`.
        requests: Vec<(String, String)>,
    },
    /// `spec.serviceAccountName`.
    ServiceAccount(String),
    /// The selector of a Service.
    Selector(Vec<(String, String)>),
}

impl Verb for SetArgs {
    const COMMANDS: &'static [Words] = &[
        ("set env", &[FILES, PRINT, DRY, SET, "containers,c= env,e= from= keys= list! overwrite! prefix= resolve!"]),
        ("set resources", &[FILES, PRINT, DRY, SET, "containers,c= limits= requests="]),
        ("set selector", &[FILES, PRINT, DRY, "all! field-manager= local! record! resource-version="]),
        ("set serviceaccount", &[FILES, PRINT, DRY, "all! field-manager= local! record!"]),
        ("set subject", &[FILES, PRINT, DRY, SET, "group= serviceaccount= user="]),
    ];
    const ALIASES: &'static [(&'static str, &'static str)] = &[("set sa", "set serviceaccount")];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        match arguments.path.as_str() {
            "set env" => read_env(arguments),
            "set resources" => read_resources(arguments),
            "set selector" => read_selector(arguments),
            "set serviceaccount" => read_service_account(arguments),
            _ => Err(arguments.unplayable()),
        }
    }

    works_on_selection!(of_words_or_files);

    /// # Source
    /// kubectl, the commands of `set`: one object that is not there and nothing is done.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        for found in find_all(&self.selection, store, plan) {
            let name = found.printed(store);
            if let SetWhat::Selector(pairs) = &self.what {
                selector(&found, pairs, store, plan);
                continue;
            }
            let object = match &found {
                Found::Workload(..) => three_way::export(&found, store),
                _ => None,
            };
            let Some(object) = object else {
                plan.fail(Failure::own(format!("{name} does not have a pod template that can be set")));
                continue;
            };
            let mut value = object.to_value();
            let Some(spec) = pod_spec(&object, &mut value) else { continue };
            let before = spec.clone();
            // Of the words that stand before the server's refusal one lacks a colon.
            let refused = match &self.what {
                SetWhat::ServiceAccount(_) => "failed to patch ServiceAccountName ",
                SetWhat::Resources { .. } => "failed to patch resources update to pod template ",
                SetWhat::Env { .. } | SetWhat::Selector(_) => "failed to patch env update to pod template: ",
            };
            let changed = match &self.what {
                SetWhat::ServiceAccount(account) => {
                    spec["serviceAccountName"] = json!(account);
                    Ok("serviceaccount updated")
                }
                SetWhat::Env { changes, overwrite } => {
                    let mut kept = Ok(());
                    let found = containers(spec, &self.container, |container| {
                        if kept.is_ok() {
                            kept = env(container, changes, *overwrite);
                        }
                    });
                    if let Err(pattern) = found {
                        let (kind, name) = (object.kind().as_str(), object.metadata().name);
                        plan.warnings
                            .push(format!("Warning: {kind}/{name} does not have any containers matching {pattern:?}"));
                    }
                    kept.map(|()| "env updated")
                }
                SetWhat::Resources { limits, requests } => containers(spec, &self.container, |container| {
                    resources(container, "limits", limits);
                    resources(container, "requests", requests);
                })
                .map(|()| "resource requirements updated")
                .map_err(|pattern| format!("error: unable to find container named {pattern}")),
                SetWhat::Selector(_) => continue,
            };
            let is_same = *spec == before;
            match changed {
                // What changes nothing is not sent.
                Ok(_) if is_same => {}
                Ok(done) => {
                    let mut update = CommandPlan::default();
                    apply_value(value, format!("{name} {done}"), Some(format!("{name} {done}")), &mut update);
                    plan.items.extend(update.items.into_iter().map(|item| item.failing_as(refused)));
                }
                Err(problem) => plan.fail(Failure::own(problem)),
            }
        }
    }
}

const NO_RESOURCES: &str = "one or more resources must be specified as <resource> <name> or <resource>/<name>";

/// Without a name all are meant only if so said.
fn set(arguments: &mut Arguments, what: SetWhat) -> Result<SetArgs, Stop> {
    if arguments.switch("all", false)? && arguments.has("selector") {
        return Err(Stop::error("cannot set --all and --selector at the same time"));
    }
    if arguments.words.is_empty() && !arguments.has("filename") {
        return Err(Stop::error(NO_RESOURCES));
    }
    let container = arguments.text("containers").unwrap_or("*").to_owned();
    let without = all_or_refused(arguments)?;
    let selection = arguments.selection(without)?;
    Ok(SetArgs { selection, container, what })
}

/// # Source
/// kubectl, `EnvOptions.Validate` and `RunEnv`.
fn read_env(arguments: &mut Arguments) -> Result<SetArgs, Stop> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-') && word != "-";
    let first = arguments.words.iter().position(is_change).unwrap_or(arguments.words.len());
    let mut changes = arguments.words.split_off(first);
    if let Some(word) = changes.iter().find(|word| !is_change(word)) {
        return Err(Stop::error(format!("all resources must be specified before environment changes: {word}")));
    }
    changes.extend(arguments.texts("env").map(str::to_owned));
    if arguments.switch("list", false)? {
        return Err(arguments.unanswered());
    }
    if let Some(from) = arguments.text("from") {
        // Which variables it holds is not kept: one that stands for all of them makes the templates differ.
        changes.push(format!("_from={from}"));
    }
    if changes.is_empty() {
        return Err(Stop::error("at least one environment variable must be provided"));
    }
    let overwrite = arguments.switch("overwrite", true)?;
    let change = |word: String| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.trim_end_matches('-').to_owned(), None),
    };
    set(arguments, SetWhat::Env { changes: changes.into_iter().map(change).collect(), overwrite })
}

/// # Source
/// kubectl, `SetResourcesOptions.Validate`.
fn read_resources(arguments: &mut Arguments) -> Result<SetArgs, Stop> {
    let amounts = |flag: &'static str| -> Result<Vec<(String, String)>, Stop> {
        let parse = |pair: String| {
            let invalid = || error(&pair, format!("--{flag} takes RESOURCE=AMOUNT, not `{pair}`"));
            let (name, amount) = pair.split_once('=').ok_or_else(invalid)?;
            amount.parse::<crate::units::Quantity>().map_err(|_| invalid())?;
            Ok((name.to_owned(), amount.to_owned()))
        };
        arguments.list(flag).into_iter().filter(|pair| !pair.is_empty()).map(parse).collect()
    };
    let (limits, requests) = (amounts("limits")?, amounts("requests")?);
    if limits.is_empty() && requests.is_empty() {
        let text = "you must specify an update to requests or limits (in the form of --requests/--limits)";
        return Err(Stop::error(text));
    }
    set(arguments, SetWhat::Resources { limits, requests })
}

fn read_service_account(arguments: &mut Arguments) -> Result<SetArgs, Stop> {
    let Some(account) = arguments.words.pop() else {
        return Err(Stop::error("serviceaccount is required"));
    };
    set(arguments, SetWhat::ServiceAccount(account))
}

fn read_selector(arguments: &mut Arguments) -> Result<SetArgs, Stop> {
    let Some(text) = arguments.words.pop_if(|word| word.contains('=') || word.contains(' ')) else {
        return Err(Stop::error("one or more selectors must be specified"));
    };
    let pairs =
        text.split(',').map(|pair| pair.split_once('=').ok_or_else(|| error(pair, "a Service selects by KEY=VALUE")));
    let pairs = pairs
        .map(|pair| pair.map(|(key, value)| (key.trim().to_owned(), value.trim_start_matches('=').trim().to_owned())));
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    set(arguments, SetWhat::Selector(pairs))
}

/// Where the pods' spec of an object is.
fn pod_spec<'a>(object: &Object, value: &'a mut Value) -> Option<&'a mut Value> {
    value.pointer_mut(match object {
        Object::CronJob(_) => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    })
}

/// Changes the containers that a pattern names; if there are none, the pattern is given back.
fn containers(spec: &mut Value, pattern: &str, mut change: impl FnMut(&mut Value)) -> Result<(), String> {
    let mut is_found = false;
    for list in ["initContainers", "containers"] {
        // Only those that are named are changed among the ones that run first.
        let all = pattern == "*" && list == "containers";
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if all || container["name"].as_str().is_some_and(|name| matches(pattern, name)) {
                is_found = true;
                change(container);
            }
        }
    }
    if is_found { Ok(()) } else { Err(pattern.to_owned()) }
}

/// A pattern with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, "")) => name.starts_with(start) && !start.is_empty(),
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|name| (0..=name.len()).any(|at| name.is_char_boundary(at) && matches(rest, &name[at..]))),
    }
}

fn env(container: &mut Value, changes: &[(String, Option<String>)], overwrite: bool) -> Result<(), String> {
    let mut list = container["env"].as_array().cloned().unwrap_or_default();
    for (name, value) in changes {
        let present = list.iter_mut().find(|variable| variable["name"] == **name);
        match (value, present) {
            (None, _) => list.retain(|variable| variable["name"] != **name),
            (Some(value), Some(present)) => {
                if !overwrite && present["value"] != **value {
                    let old = present["value"].as_str().unwrap_or_default();
                    return Err(format!("'{name}' already has a value ({old}), and --overwrite is false"));
                }
                *present = json!({"name": name, "value": value});
            }
            (Some(value), None) => list.push(json!({"name": name, "value": value})),
        }
    }
    if let Some(fields) = container.as_object_mut() {
        if list.is_empty() {
            fields.remove("env");
        } else {
            fields.insert("env".to_owned(), Value::Array(list));
        }
    }
    Ok(())
}

fn resources(container: &mut Value, part: &str, amounts: &[(String, String)]) {
    let Some(fields) = container.as_object_mut().filter(|_| !amounts.is_empty()) else { return };
    let resources = fields.entry("resources").or_insert_with(|| json!({}));
    let mut map: Map<String, Value> = resources[part].as_object().cloned().unwrap_or_default();
    map.extend(amounts.iter().map(|(name, amount)| (name.clone(), json!(amount))));
    resources[part] = Value::Object(map);
}

fn selector(found: &Found, pairs: &[(String, String)], store: &Store, plan: &mut CommandPlan) {
    let name = found.printed(store);
    let Some(object) = three_way::export(found, store).filter(|_| found.kind() == Kind::Service) else {
        return plan.fail(Failure::own("setting a selector is only supported for Services"));
    };
    let mut value = object.to_value();
    let pairs = pairs.iter().map(|(key, value)| (key.clone(), json!(value)));
    value["spec"]["selector"] = Value::Object(pairs.collect());
    let done = format!("{name} selector updated");
    apply_value(value, done.clone(), Some(done), plan);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_named_by_patterns() {
        assert!(matches("web", "web") && !matches("web", "web2") && matches("w*", "web") && matches("*b", "web"));
        assert!(matches("w*b", "web") && !matches("w*c", "web"));
    }

    #[test]
    fn variables_are_added_changed_and_taken_away() {
        let mut container = json!({"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
        let change = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let changes = [change("A", Some("3")), change("B", None), change("C", Some("4"))];
        assert!(env(&mut container, &changes, false).is_err());
        env(&mut container, &changes, true).expect("a change");
        assert_eq!(container["env"], json!([{"name": "A", "value": "3"}, {"name": "C", "value": "4"}]));
        env(&mut container, &[change("A", None), change("C", None)], true).expect("a change");
        assert_eq!(container, json!({"name": "c"}));
    }
}
