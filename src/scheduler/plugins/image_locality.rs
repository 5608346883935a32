//! ImageLocality: prefers nodes that have the pod's images.

use crate::arena::Symbol;
use crate::scheduler::cache::Cache;
use crate::scheduler::framework::{Cycle, Plugin};
use crate::scheduler::node_info::NodeInfo;

pub(in crate::scheduler) struct ImageLocality;

const MIB: i64 = 1024 * 1024;
const THRESHOLD_MIN: i64 = 23 * MIB;
const THRESHOLD_PER_CONTAINER: i64 = 1000 * MIB;

/// The name under which a node lists an image: with a tag.
fn tagged(image: &str) -> String {
    let after_slash = image.rfind('/').map_or(0, |at| at + 1);
    if image[after_slash..].contains(':') { image.to_owned() } else { format!("{image}:latest") }
}

impl Plugin for ImageLocality {
    fn name(&self) -> &'static str {
        "ImageLocality"
    }

    fn is_local(&self) -> bool {
        true
    }

    fn score(&self, cycle: &Cycle<'_>, cache: &Cache, node: &NodeInfo) -> i64 {
        let Some(object) = &node.object else { return 0 };
        if object.images.is_empty() {
            return 0;
        }
        let containers = cycle.spec.init_containers.iter().chain(&cycle.spec.containers);
        let of_volumes = cycle.spec.volumes.iter().filter_map(|volume| Some(volume.image.as_ref()?.reference));
        let counts_volumes = cycle.version.at_least(36);
        let images = containers.clone().map(|container| container.image);
        let mut sum: i64 = 0;
        for image in images.chain(of_volumes.filter(|_| counts_volumes)) {
            let name = Symbol::from(tagged(image.as_str()));
            let is_here = object.images.iter().any(|(names, _)| names.contains(&name));
            if let Some((size, count)) = cache.image(name).filter(|_| is_here) {
                // An image that is everywhere counts in full, so that a node that alone has it is not flooded.
                let spread = count as f64 / cycle.node_count as f64;
                sum = sum.saturating_add((size as f64 * spread) as i64);
            }
        }
        let max = THRESHOLD_PER_CONTAINER * containers.count() as i64;
        100 * (sum.clamp(THRESHOLD_MIN, max) - THRESHOLD_MIN) / (max - THRESHOLD_MIN)
    }
}
