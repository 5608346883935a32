//! ImageLocality: prefers nodes that have the pod's images.

use crate::arena::Symbol;
use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::framework::{AnyPlugin, LocalPlugin, Plugin, Point, Register, Spec};
use crate::scheduler::images::ImageStates;
use crate::scheduler::node_info::NodeInfo;

pub(in crate::scheduler) struct ImageLocality {
    version: KubernetesVersion,
}

const MIB: i64 = 1024 * 1024;
const THRESHOLD_MIN: i64 = 23 * MIB;
const THRESHOLD_PER_CONTAINER: i64 = 1000 * MIB;

/// The name under which a node lists an image: with a tag.
fn tagged(image: &str) -> String {
    let after_slash = image.rfind('/').map_or(0, |at| at + 1);
    if image[after_slash..].contains(':') { image.to_owned() } else { format!("{image}:latest") }
}

impl Register for ImageLocality {
    const NAME: &'static str = "ImageLocality";
    const POINTS: &'static [Point] = &[Point::Score];
    const WEIGHT: i64 = 1;
    const SUMMARY: &'static str =
        "images that are there, the more nodes have them the more they count; images of volumes since 1.36";
    type Arguments = NoArguments;

    fn make(_: NoArguments, version: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::local(Self { version })
    }
}

impl Plugin for ImageLocality {}

impl LocalPlugin for ImageLocality {
    fn score(&self, spec: Spec<'_>, node: &NodeInfo, images: &ImageStates) -> i64 {
        let Some(object) = &node.object else { return 0 };
        if object.images.is_empty() {
            return 0;
        }
        let containers = spec.init_containers.iter().chain(&spec.containers);
        let of_volumes = spec.volumes.iter().filter_map(|volume| Some(volume.image.as_ref()?.reference));
        let counts_volumes = self.version.at_least(36);
        let names = containers.clone().map(|container| container.image);
        let mut sum: i64 = 0;
        for image in names.chain(of_volumes.filter(|_| counts_volumes)) {
            let name = Symbol::from(tagged(image.as_str()));
            let is_here = object.images.iter().any(|(names, _)| names.contains(&name));
            if let Some(image) = images.of(name).filter(|_| is_here) {
                // An image that is everywhere counts in full, so that a node that alone has it is not flooded.
                let spread = image.node_count as f64 / images.node_count() as f64;
                sum = sum.saturating_add((image.size as f64 * spread) as i64);
            }
        }
        let max = THRESHOLD_PER_CONTAINER * containers.count() as i64;
        100 * (sum.clamp(THRESHOLD_MIN, max) - THRESHOLD_MIN) / (max - THRESHOLD_MIN)
    }
}
