//! Nodes short of something: a condition that simply holds, or an amount that others than pods use.

use super::Chaos;
use super::fault::{Begun, Check, Hit};
use super::losses::Losses;
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::diagnostics::{Diagnostic, unknown_name};
use crate::model::ResourceList;
use crate::state::{NodeConditionKind, Usage};

/// The resources that kubelets watch.
const MEASURED: [&str; 3] = ["memory", "ephemeral-storage", "pids"];

fn usage(amounts: &ResourceList) -> Usage {
    let of = |name: &str| amounts.get(name.into()).map_or(0, |amount| amount.value());
    Usage { memory: of("memory"), ephemeral_storage: of("ephemeral-storage"), pids: of("pids") }
}

/// Amounts that are not what the kind's condition goes by.
pub(super) fn check(usage: &ResourceList, kind: &str, resource: &str, check: &mut Check<'_>) {
    for (name, _) in usage.iter().filter(|(name, _)| !MEASURED.contains(&name.as_str())) {
        let diagnostic = unknown_name("resource that kubelets watch", name.as_str(), MEASURED.into_iter());
        check.diagnostics.push(diagnostic.at((check.place)(&format!("usage[\"{name}\"]")), "nothing measures it"));
    }
    if usage.is_empty() && (check.is_empty)("usage") {
        check.diagnostics.push(
            Diagnostic::warning(
                "scenario::no_effect",
                format!("{kind} with a usage of nothing: the condition simply holds"),
            )
            .at((check.place)("usage"), "the same as if it were not written")
            .help(format!("write how much others than pods use, `usage: {{{resource}: 3Gi}}`, or leave `usage` out")),
        );
    }
    let is_known = |name: Symbol| MEASURED.contains(&name.as_str());
    if !usage.is_empty() && usage.iter().all(|(name, _)| is_known(name)) && !usage.contains(Symbol::new(resource)) {
        let message = format!("{kind} with usage of something else than `{resource}`: this alone brings no {kind}");
        check.diagnostics.push(
            Diagnostic::warning("scenario::no_effect", message)
                .at(
                    (check.place)("usage"),
                    "the kubelet's thresholds decide, each about what is used of its own resource",
                )
                .help(format!("add `{resource}`, or take the kind that goes with what is used")),
        );
    } else if usage.get(Symbol::new(resource)).is_some_and(|amount| amount.is_zero()) {
        let message = format!("{kind} with a usage of no `{resource}`: this alone brings no {kind}");
        check.diagnostics.push(
            Diagnostic::warning("scenario::no_effect", message)
                .at((check.place)("usage"), "others than pods use nothing of it anyway")
                .help("write how much they use, or leave `usage` out: the condition holds then"),
        );
    }
}

pub(super) fn begin(
    amounts: &ResourceList,
    condition: NodeConditionKind,
    hit: &Hit<'_>,
    losses: &mut Losses,
    ctx: &mut Ctx<'_, Chaos>,
) {
    if amounts.is_empty() {
        losses.take_condition(hit, condition, ctx);
        return;
    }
    for &node in hit.nodes {
        losses.burden(hit.fault, node, usage(amounts), ctx);
    }
}

pub(super) fn end(
    amounts: &ResourceList,
    condition: NodeConditionKind,
    fault: &Begun,
    losses: &mut Losses,
    ctx: &mut Ctx<'_, Chaos>,
) {
    if amounts.is_empty() {
        losses.give_condition_back(fault, condition, ctx);
        return;
    }
    for &node in &fault.nodes {
        losses.unburden(fault.fault, node, ctx);
    }
}
