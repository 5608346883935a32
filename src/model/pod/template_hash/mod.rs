//! The hashes that name the revisions of a template: ReplicaSets and their pods bear them, and what is listed by name comes in their order.

mod defaults;
mod go_value;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Value, json};

use super::PodTemplateSpec;
use crate::model::config::KubernetesVersion;
use crate::model::replica_set::safe_encoded;

/// The hash of a template as Deployments and DaemonSets write it into names and labels. `collisions` is the owner's `collisionCount`,
/// of which 0 means that there is none.
///
/// # Source
/// kube-controller-manager, `controller.ComputeHash`: 32-bit FNV-1a over the template as Go prints it, with its types and all that
/// the API server defaults. So a field that a version of the API adds changes the hashes of all templates.
///
/// # Differs
/// Fields that are not kept here (`not-modelled.csv` names them) are taken for absent.
#[must_use]
pub fn pod_template_hash(template: &PodTemplateSpec, collisions: i32, version: KubernetesVersion) -> String {
    let mut hash = Fnv32a(FNV_OFFSET);
    go_value::print("v1.PodTemplateSpec", &defaults::written_out(template), version, &mut hash);
    if collisions != 0 {
        hash.write(&u64::from(collisions as u32).to_le_bytes());
    }
    encoded(hash.0)
}

/// The hash of a template as StatefulSets write it into the names of their revisions.
///
/// # Source
/// kube-controller-manager, `history.HashControllerRevision`: 32-bit FNV-1 over the patch that a ControllerRevision holds, as JSON, and over
/// `collisionCount` in digits, whether it is 0 or not.
#[must_use]
pub fn revision_patch_hash(template: &PodTemplateSpec, collisions: i32, version: KubernetesVersion) -> String {
    let mut template = go_value::json("v1.PodTemplateSpec", &defaults::written_out(template), version);
    template["$patch"] = json!("replace");
    let patch = go_json(&json!({"spec": {"template": template}})) + &collisions.to_string();
    encoded(fnv32(patch.into_bytes()))
}

/// A value as Go's `encoding/json` writes maps: keys in order, nothing that HTML would take for its own.
fn go_json(value: &Value) -> String {
    let mut out = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", letter as u32)),
            _ => out.push(letter),
        }
    }
    out
}

/// What both forms of 32-bit FNV begin with, and what they multiply by.
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// 32-bit FNV-1: what FNV-1a does, in the other order.
fn fnv32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(FNV_OFFSET, |hash, byte| hash.wrapping_mul(FNV_PRIME) ^ u32::from(byte))
}

/// 32-bit FNV-1a of what is written into it.
struct Fnv32a(u32);

impl Fnv32a {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME));
    }
}

impl fmt::Write for Fnv32a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// A hash as it stands in names.
fn encoded(hash: u32) -> String {
    safe_encoded(hash.to_string().as_bytes())
}
