//! The file by which kubectl finds the server.

use std::net::SocketAddr;

use serde_json::json;

use super::guard::host_of;
use crate::model::yaml_text;

/// The first line of such a file, by which it is told from anybody else's.
pub(super) const FIRST_LINE: &str = "# Written by `kubesquall serve`: a cluster that is not there.\n";

/// A kubeconfig for a server at that address.
#[must_use]
pub fn kubeconfig(address: SocketAddr, token: Option<&str>) -> String {
    let host = if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { host_of(address) };
    let server = format!("http://{host}:{}", address.port());
    let user = token.map_or_else(|| json!({}), |token| json!({"token": token}));
    let value = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "kubesquall",
        "clusters": [{"name": "kubesquall", "cluster": {"server": server}}],
        "contexts": [{"name": "kubesquall", "context": {"cluster": "kubesquall", "user": "kubesquall"}}],
        "users": [{"name": "kubesquall", "user": user}],
    });
    format!("{FIRST_LINE}{}", yaml_text::document(&value))
}

/// Whether a text is a file of ours, which may be written anew.
#[must_use]
pub fn is_ours(text: &str) -> bool {
    text.starts_with(FIRST_LINE)
}
