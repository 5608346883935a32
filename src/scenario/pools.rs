//! Node pools: nodes that are made from one template.

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::component::{NodeRegistration, PoolPlan};
use crate::diagnostics::Location;
use crate::model::{ManifestObject, Node, Object};

/// Nodes that are made from one template: `<pool>-0`, `<pool>-1`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePool {
    /// Its name.
    pub name: Symbol,
    /// How many there are at t=0.
    pub count: u32,
    /// Zones, handed out in turn; may be empty.
    #[serde(default)]
    pub zones: Vec<Symbol>,
    /// What each of them looks like.
    #[serde(default)]
    pub template: Node,
}

impl NodePool {
    /// Its nodes at t=0, as objects that are written there.
    pub(crate) fn objects(&self, source: Location) -> impl Iterator<Item = ManifestObject> {
        (0..self.count).map(move |index| ManifestObject {
            object: Object::from(self.node(index)),
            source: source.clone(),
            names_namespace: true,
            unknown_fields: Vec::new(),
            api_version: Symbol::empty(),
        })
    }

    /// The name of a node.
    #[must_use]
    pub fn node_name(&self, index: u32) -> Symbol {
        Symbol::from(format!("{}-{index}", self.name))
    }

    /// The position of a node of that name, were it of this pool.
    #[must_use]
    pub fn index_of(&self, node_name: &str) -> Option<u32> {
        let digits = node_name.strip_prefix(self.name.as_str())?.strip_prefix('-')?;
        let is_canonical = digits == "0" || !digits.starts_with('0');
        digits.parse().ok().filter(|_| is_canonical && digits.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The region of all zones, if their names tell the same one.
    fn region(&self) -> Option<&str> {
        let first = region_of(self.zones.first()?.as_str())?;
        self.zones.iter().all(|zone| region_of(zone.as_str()) == Some(first)).then_some(first)
    }

    /// What the plan of the physical world needs to know of it.
    pub(super) fn plan(&self) -> PoolPlan {
        let mut like = self.node(0);
        // A name and a zone are given to each machine when it joins.
        let labels = like.metadata.labels.without(Symbol::new("kubernetes.io/hostname"));
        like.metadata.labels =
            if self.zones.is_empty() { labels } else { labels.without(Symbol::new("topology.kubernetes.io/zone")) };
        PoolPlan { name: self.name, registration: NodeRegistration::from(&like), zones: self.zones.clone() }
    }

    /// The Node object that a kubelet of this pool registers: the template with its name, the well-known labels that are
    /// not given, and its zone.
    #[must_use]
    pub fn node(&self, index: u32) -> Node {
        let mut node = self.template.clone();
        let name = self.node_name(index);
        let mut labels = node.metadata.labels.clone();
        let mut default = |key: &str, value: Symbol| {
            if !labels.contains(Symbol::new(key)) {
                labels = labels.with(Symbol::new(key), value);
            }
        };
        default("kubernetes.io/hostname", name);
        default("kubernetes.io/os", Symbol::new("linux"));
        default("kubernetes.io/arch", Symbol::new("amd64"));
        if !self.zones.is_empty() {
            default("topology.kubernetes.io/zone", self.zones[index as usize % self.zones.len()]);
        }
        if let Some(region) = self.region() {
            default("topology.kubernetes.io/region", Symbol::from(region));
        }
        for (stable, beta) in
            [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")]
        {
            if let Some(value) = labels.get(Symbol::new(stable)) {
                labels = labels.with(Symbol::new(beta), value);
            }
        }
        node.metadata.name = name;
        node.metadata.labels = labels;
        if node.status.allocatable.is_empty() {
            node.status.allocatable = node.status.capacity.clone();
        }
        if node.status.capacity.is_empty() {
            node.status.capacity = node.status.allocatable.clone();
        }
        node
    }
}

/// The region that the name of a cloud's zone tells: `eu-west-1` of `eu-west-1b`, `europe-west1` of `europe-west1-b`.
fn region_of(zone: &str) -> Option<&str> {
    let before_letter = zone.strip_suffix(|last: char| last.is_ascii_lowercase())?;
    let region = before_letter.strip_suffix('-').unwrap_or(before_letter);
    (region.contains('-') && region.ends_with(|last: char| last.is_ascii_digit())).then_some(region)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(zones: &[&str]) -> NodePool {
        let zones = zones.iter().map(|zone| Symbol::from(*zone)).collect();
        NodePool { name: Symbol::from("worker"), count: 3, zones, template: Node::default() }
    }

    #[test]
    fn nodes_belong_to_the_pool_that_their_name_continues() {
        let check = |name: &str, expected: Option<u32>| assert_eq!(pool(&[]).index_of(name), expected, "{name}");
        check("worker-0", Some(0));
        check("worker-12", Some(12));
        check("worker-gpu-1", None);
        check("worker-01", None);
        check("worker-", None);
        check("db-0", None);
    }

    #[test]
    fn zones_are_handed_out_in_turn_and_given_labels_stay() {
        let mut pool = pool(&["eu-1a", "eu-1b"]);
        pool.template.metadata.labels =
            [(Symbol::from("kubernetes.io/arch"), Symbol::from("arm64"))].into_iter().collect();
        let label = |index, key: &str| pool.node(index).metadata.labels.get(Symbol::from(key)).unwrap();
        assert_eq!([0, 1, 2].map(|i| label(i, "topology.kubernetes.io/zone").as_str()), ["eu-1a", "eu-1b", "eu-1a"]);
        assert_eq!(label(0, "topology.kubernetes.io/region"), "eu-1");
        assert_eq!(label(2, "kubernetes.io/hostname"), "worker-2");
        assert_eq!(label(2, "kubernetes.io/os"), "linux");
        assert_eq!(label(2, "kubernetes.io/arch"), "arm64");
    }

    #[test]
    fn regions_are_read_off_zones_of_clouds() {
        let check = |zone: &str, expected: Option<&str>| assert_eq!(region_of(zone), expected, "{zone}");
        check("eu-west-1b", Some("eu-west-1"));
        check("europe-west1-b", Some("europe-west1"));
        check("b", None);
        check("rack-b", None);
        check("eastus-1", None);
    }
}
