//! `kubectl apply -f` and `kubectl create -f`.

use super::Plan;
use super::command_line::{ApplyArgs, ApplyVerb};
use super::resource::{Found, Kind, find_one};
use crate::component::Request;
use crate::model::Object;
use crate::state::Store;

pub(super) fn plan(args: &ApplyArgs, objects: &[Object], store: &Store, plan: &mut Plan) {
    if objects.is_empty() {
        plan.fail("error: no objects passed to apply");
    }
    for object in objects {
        let metadata = object.metadata();
        let kind = Kind::parse(object.kind().as_str());
        let printed = kind.map_or_else(|| object.kind().as_str().to_ascii_lowercase(), |k| k.printed().to_owned());
        let name = format!("{printed}/{}", metadata.name);
        let exists = kind
            .filter(|k| k.other_kind().is_none())
            .and_then(|k| find_one(k, metadata.namespace, metadata.name.as_str(), store));
        match (args.verb, exists) {
            (ApplyVerb::Create, _) => {
                plan.step(Request::Create(Box::new(object.clone())), format!("{name} created"), name);
            }
            (ApplyVerb::Apply, None) => {
                plan.step(Request::Apply(Box::new(object.clone())), format!("{name} created"), name);
            }
            (ApplyVerb::Apply, Some(Found::Pod(_) | Found::Node(_))) => plan.stdout.push(format!("{name} unchanged")),
            (ApplyVerb::Apply, Some(_)) => {
                let request = Request::Apply(Box::new(object.clone()));
                plan.step(request, format!("{name} configured"), name.clone());
                if let Some(step) = plan.steps.last_mut() {
                    step.unchanged = Some(format!("{name} unchanged"));
                }
            }
        }
    }
}
