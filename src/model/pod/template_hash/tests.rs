use super::*;

fn template(json: &str) -> PodTemplateSpec {
    let mut template: PodTemplateSpec = serde_json::from_str(json).unwrap();
    template.spec.apply_defaults();
    template
}

/// A line a template: what Kubernetes 1.36.2 works out of it, as `pod-template-hash` and as a StatefulSet's revision, and the template.
const VECTORS: &str = include_str!("vectors.txt");

#[test]
fn hashes_are_those_of_the_real_controllers() {
    let mut wrong = Vec::new();
    for line in VECTORS.lines() {
        let mut parts = line.splitn(3, ' ');
        let [real, of_patch, text] = [(); 3].map(|()| parts.next().unwrap());
        let template = template(text);
        let ours = pod_template_hash(&template, 0, KubernetesVersion::NEWEST);
        if ours != real {
            wrong.push(format!("{ours} instead of {real}: {text}"));
        }
        let ours = revision_patch_hash(&template, 0, KubernetesVersion::NEWEST);
        if ours != of_patch {
            wrong.push(format!("as a revision {ours} instead of {of_patch}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_field_that_a_version_adds_and_a_collision_change_the_hash() {
    let template =
        template(r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}"#);
    let versions = ["1.33", "1.34", "1.35", "1.36"].map(|version| version.parse().unwrap());
    let mut hashes: Vec<String> = versions.iter().map(|version| pod_template_hash(&template, 0, *version)).collect();
    hashes.push(pod_template_hash(&template, 1, KubernetesVersion::NEWEST));
    let [oldest, rest @ ..] = versions.map(|version| revision_patch_hash(&template, 0, version));
    assert!(rest.iter().all(|other| *other == rest[0] && *other != oldest), "{oldest} {rest:?}");
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}
