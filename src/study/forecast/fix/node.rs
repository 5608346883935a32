//! A node more.

use std::collections::BTreeSet;

use super::objects::{free_name, node_like, room_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::{Object, ObjectKind};
use crate::scenario::ResolvedScenario;
use crate::study::forecast::finding::Price;

/// One more of the nodes that take ordinary pods, like the one with the most room.
pub(super) struct Node;

impl Change for Node {
    fn file(&self) -> &'static str {
        "node"
    }

    fn words(&self) -> &'static str {
        "add a node"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["finds no room when nodes are lost", "find no room when nodes are lost"]
    }

    fn fits(&self, _object: &Object, _scenario: &ResolvedScenario, around: &Circumstances<'_>) -> bool {
        around.lacks_room
    }

    fn apply(&self, scenario: &mut ResolvedScenario, _workloads: &BTreeSet<String>) {
        let found = scenario.objects.iter().filter_map(|object| Some((room_of(&object.object)?, object)));
        let Some((_, like)) = found.max_by_key(|(room, _)| *room) else { return };
        let metadata = like.object.metadata();
        let name = format!("{}-more", metadata.name);
        let name = free_name(&scenario.objects, ObjectKind::Node, metadata.namespace, &name, "-more");
        scenario.objects.push(node_like(like, Symbol::from(name)));
    }

    fn price(&self, _: &ResolvedScenario, _: &BTreeSet<String>) -> Price {
        Price { nodes: 1, ..Price::default() }
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some("Add a node like the largest that takes ordinary pods: raise the size of its pool, or join a machine.")
    }
}
