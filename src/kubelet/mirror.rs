//! Static pods: the file on the node stays, so the kubelet makes the mirror anew when it is deleted.

use super::Kubelets;
use crate::arena::Symbol;
use crate::component::{Ctx, Request};
use crate::model::{self, ObjectMeta};
use crate::state::Pod;

/// Marks a mirror pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

impl Kubelets {
    /// # Source
    /// kubelet, mirror client: a mirror that is gone is created again while the pod's file is there.
    pub(super) fn recreate_mirror(&self, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        let Some(node) = last.node.filter(|_| last.is_mirror) else { return };
        if !self.hears(node, ctx) || ctx.store.node(node).is_none() {
            return;
        }
        let name = ctx.store.node_name(node);
        let mut annotations = std::collections::BTreeMap::clone(&last.spec.annotations);
        annotations.insert(Symbol::new(MIRROR), Symbol::new(&format!("{name}-{}", last.name)));
        let metadata = ObjectMeta {
            name: Symbol::new(&last.name),
            namespace: last.namespace,
            labels: last.labels.clone(),
            annotations,
            ..ObjectMeta::default()
        };
        let spec = model::PodSpec { node_name: Some(name), ..last.spec.spec.clone() };
        let pod = model::Pod { metadata, spec, ..model::Pod::default() };
        ctx.tell(Request::Create(Box::new(model::Object::Pod(Box::new(pod)))));
    }
}
