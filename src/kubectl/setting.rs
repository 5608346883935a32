//! `kubectl set env`, `set resources`, `set serviceaccount`, `set selector`.

use serde_json::{Map, Value, json};

use super::CommandPlan;
use super::command_line::{SetArgs, SetWhat};
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::{Found, Kind, find};
use super::three_way;
use crate::model::Object;
use crate::state::Store;

/// Where the pods' spec of an object is.
fn pod_spec<'a>(object: &Object, value: &'a mut Value) -> Option<&'a mut Value> {
    value.pointer_mut(match object {
        Object::CronJob(_) => "/spec/jobTemplate/spec/template/spec",
        _ => "/spec/template/spec",
    })
}

/// # Source
/// kubectl, the commands of `set`: one object that is not there and nothing is done.
pub(super) fn plan(args: &SetArgs, store: &Store, plan: &mut CommandPlan) {
    let results = find(&args.selection, store);
    if results.iter().any(Result::is_err) {
        return results.into_iter().filter_map(Result::err).for_each(|failure| plan.fail(failure));
    }
    for found in results.into_iter().flatten() {
        let name = found.printed(store);
        if let SetWhat::Selector(pairs) = &args.what {
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
        let changed = match &args.what {
            SetWhat::ServiceAccount(account) => {
                spec["serviceAccountName"] = json!(account);
                Ok("serviceaccount updated")
            }
            SetWhat::Env { changes, overwrite } => {
                containers(spec, &args.container, |container| env(container, changes, *overwrite))
                    .map(|()| "env updated")
            }
            SetWhat::Resources { limits, requests } => containers(spec, &args.container, |container| {
                resources(container, "limits", limits);
                resources(container, "requests", requests);
                Ok(())
            })
            .map(|()| "resource requirements updated"),
            SetWhat::Selector(_) => continue,
        };
        let is_same = *spec == before;
        match changed {
            // What changes nothing is not sent.
            Ok(_) if is_same => {}
            Ok(done) => apply_value(value, format!("{name} {done}"), Some(format!("{name} {done}")), plan),
            Err(problem) => plan.fail(Failure::own(problem)),
        }
    }
}

/// Changes the containers that a pattern names; none of them is an error.
fn containers(
    spec: &mut Value,
    pattern: &str,
    mut change: impl FnMut(&mut Value) -> Result<(), String>,
) -> Result<(), String> {
    let mut is_found = false;
    for list in ["initContainers", "containers"] {
        // Only those that are named are changed among the ones that run first.
        let all = pattern == "*" && list == "containers";
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if all || container["name"].as_str().is_some_and(|name| matches(pattern, name)) {
                is_found = true;
                change(container)?;
            }
        }
    }
    if is_found { Ok(()) } else { Err(format!("error: unable to find container named {pattern}")) }
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
        let text = format!("setting a selector is only supported for Services, not for {name}");
        return plan.fail(Failure::own(text));
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
