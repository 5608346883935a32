//! `kubectl set image`.

use super::command_line::{Arguments, DRY, FILES, PRINT, SET, Selection, Stop, Words, all_or_refused, pairs};
use super::failure::Failure;
use super::patch::apply_value;
use super::resource::find_all;
use super::verb::{Scene, Verb, works_on_selection};
use super::{CommandPlan, three_way};

/// What stands before the server's refusal.
const REFUSED: &str = "failed to patch image update to pod template: ";

/// Arguments of `set image`.
#[derive(Clone, Debug)]
pub struct SetImageArgs {
    /// What.
    pub selection: Selection,
    /// Container (`*` for all) and image.
    pub images: Vec<(String, String)>,
}

impl Verb for SetImageArgs {
    const COMMANDS: &'static [Words] = &[("set image", &[FILES, PRINT, DRY, SET])];

    fn read(arguments: &mut Arguments) -> Result<Self, Stop> {
        let images = pairs(arguments, "image")?;
        let images: Vec<(String, String)> = images.into_iter().filter_map(|(c, image)| image.map(|i| (c, i))).collect();
        let all = arguments.switch("all", false)?;
        let mut problems = Vec::new();
        if all && arguments.has("selector") {
            problems.push("cannot set --all and --selector at the same time");
        }
        if arguments.words.is_empty() && !arguments.has("filename") {
            problems.push("one or more resources must be specified as <resource> <name> or <resource>/<name>");
        }
        if images.is_empty() {
            problems.push("at least one image update is required");
        } else if images.len() > 1 && images.iter().any(|(container, _)| container == "*") {
            let text =
                "all containers are already specified by *, but saw more than one container_name=container_image pairs";
            problems.push(text);
        }
        match problems.as_slice() {
            [] => {}
            [one] => return Err(Stop::error(one)),
            several => return Err(Stop::refused(several)),
        }
        let without = all_or_refused(arguments)?;
        let selection = arguments.selection(without)?;
        Ok(Self { selection, images })
    }

    works_on_selection!(of_words_or_files);

    /// # Source
    /// kubectl set image: one object that is not there and nothing is done; a container that is not there hinders no other.
    fn plan(&self, scene: &Scene<'_>, plan: &mut CommandPlan) {
        let store = scene.store;
        let mut changed = Vec::new();
        for object in find_all(&self.selection, store, plan) {
            let name = object.printed(store);
            let Some(current) = three_way::export(&object, store) else { continue };
            let mut value = current.to_value();
            // A pod, something with a template, or a cron job with a template of a job.
            let specs = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"];
            let Some(spec) = specs.into_iter().find(|spec| value.pointer(&format!("{spec}/containers")).is_some())
            else {
                continue;
            };
            let mut missing: Vec<&str> = self.images.iter().map(|(c, _)| c.as_str()).collect();
            for list in ["initContainers", "containers"] {
                let containers = value.pointer_mut(&format!("{spec}/{list}"));
                for container in containers.and_then(serde_json::Value::as_array_mut).into_iter().flatten() {
                    for (wanted, image) in &self.images {
                        if wanted == "*" || container["name"] == **wanted {
                            container["image"] = image.clone().into();
                            missing.retain(|c| c != wanted);
                        }
                    }
                }
            }
            for container in missing {
                plan.fail(Failure::own(format!("error: unable to find container named \"{container}\"")));
            }
            changed.push((name, value));
        }
        for (name, value) in changed {
            let mut update = CommandPlan::default();
            apply_value(value, format!("{name} image updated"), Some(String::new()), &mut update);
            plan.items.extend(update.items.into_iter().map(|item| item.failing_as(REFUSED)));
        }
    }
}
