//! `request`: a client of the API server wants something done, as a recorded session has it.

use std::ops::Range;

use super::action::{Action, Plans, Timeline, add};
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics};
pub(crate) use crate::rest::ClientRequest;
use crate::scenario::at::At;
use crate::scenario::inventory::Inventory;
use crate::units::SimTime;

impl Action for ClientRequest {
    fn resolve(&self, _at: SimTime, _place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        add(timeline.requests, self.clone())
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        plans.requests[index].clone()
    }

    fn check(&self, at: At<'_>, _config: &Config, _inventory: &Inventory, diagnostics: &mut Diagnostics) {
        let path = crate::rest::Path::parse(&self.path);
        if let Ok(path) = &path
            && let Some(nearest) = path.slip()
        {
            let message = format!("the API server has no resource `{}`", crate::rest::without_query(&self.path));
            let diagnostic = Diagnostic::warning("scenario::unknown_name", message)
                .at(at.field("path").location(), "this request will be refused");
            diagnostics.push(match nearest {
                Some(nearest) => diagnostic.help(format!("the nearest is `{nearest}`")),
                None => diagnostic,
            });
        }
        if let Err(refused) = path {
            diagnostics.push(
                Diagnostic::error("scenario::bad_value", format!("no client can ask for this: {}", refused.message))
                    .at(at.field("path").location(), "no path of the API")
                    .help("a path begins with `/api/v1/` or `/apis/GROUP/VERSION/`"),
            );
        }
        if let Err(refused) = self.value() {
            diagnostics.push(
                Diagnostic::error("scenario::bad_value", refused.message)
                    .at(at.field("body").location(), "")
                    .help("a body is JSON, or YAML if `contentType` says so"),
            );
        }
    }
}
