//! What other tools make objects of, or do not leave in a cluster: it is played as it is written, and that is said.

use super::piece::Header;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Location};
use crate::model::Object;

/// By which Helm knows its hooks, and when it runs them.
const HOOK: &str = "helm.sh/hook";

/// What to say of a text that another tool fills in or applies to others; nothing if it is none.
pub(super) fn unbuilt(file: &str, header: &Header, location: impl FnOnce() -> Location) -> Option<Diagnostic> {
    let (kind, version) = (header.kind(), header.api_version());
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let is_kustomization = match kind.as_str() {
        // Both may be left out.
        "" => version.is_empty() && matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization"),
        "Kustomization" | "Component" => version.as_str().starts_with("kustomize.config.k8s.io/"),
        _ => false,
    };
    if is_kustomization {
        let message = "this kustomization is not applied: what stands beside it is played as it is written";
        let diagnostic = Diagnostic::warning("manifest::not_built", message).at(location(), "has no effect here");
        return Some(diagnostic.help("play what `kubectl kustomize DIRECTORY > app.yaml` writes"));
    }
    let is_template = kind == "Template" && (version == "v1" || version.as_str().starts_with("template.openshift.io/"));
    is_template.then(|| {
        let message = "the objects of this Template are not read";
        let diagnostic = Diagnostic::warning("manifest::not_built", message).at(location(), "has no effect here");
        diagnostic.help("play what `oc process -f TEMPLATE -o yaml > app.yaml` writes")
    })
}

/// What to say of pods that Helm makes at certain moments, and that are played like others; nothing if they are no hook.
pub(super) fn hook(object: &Object, label: &str, location: impl FnOnce() -> Location) -> Option<Diagnostic> {
    let makes_pods = matches!(object, Object::Pod(_) | Object::Job(_)) || object.kind().is_workload();
    let moments = object.metadata().annotations.get(&Symbol::new(HOOK)).filter(|_| makes_pods)?;
    let message = format!("{label} is a hook of Helm, which makes it at certain moments alone: {moments}");
    let diagnostic =
        Diagnostic::warning("manifest::hook", message).at(location(), "it is there from the beginning here");
    Some(diagnostic.help("`helm template --no-hooks` leaves hooks out"))
}

#[cfg(test)]
mod tests {
    use crate::model::manifest::load_text;

    /// Codes of what is said of a file of that name.
    fn said(name: &str, text: &str) -> Vec<&'static str> {
        load_text(name, text).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn what_is_not_built_is_said() {
        let kustomization = "namespace: a\nresources: [app.yaml]\n";
        assert_eq!(said("app/kustomization.yaml", kustomization), ["manifest::not_built"]);
        assert_eq!(said("app/values.yaml", kustomization), ["manifest::not_an_object"]);
        let named = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: a\n";
        assert_eq!(said("k.yaml", named), ["manifest::not_built"]);
        let of_flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n";
        assert!(said("k.yaml", of_flux).is_empty());
        let template = "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: a}\nobjects: []\n";
        assert_eq!(said("t.yaml", template), ["manifest::not_built"]);
    }

    #[test]
    fn hooks_are_said_where_they_make_pods() {
        let of = |kind: &str, spec: &str| {
            let metadata = "metadata: {name: a, namespace: b, annotations: {helm.sh/hook: test}}";
            said("app.yaml", &format!("apiVersion: v1\nkind: {kind}\n{metadata}\n{spec}\n"))
        };
        assert_eq!(of("Pod", "spec: {containers: [{name: c, image: i}]}"), ["manifest::hook"]);
        assert!(of("ConfigMap", "data: {}").is_empty());
    }
}
