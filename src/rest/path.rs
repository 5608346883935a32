//! What a path means.

use std::borrow::Cow;

use super::answer::Status;
use super::resources::{self, Resource};
use crate::arena::Symbol;
use crate::diagnostics::nearest;
use crate::kubectl::objects::{Found, find_one};
use crate::state::Store;

/// Characters of a path with its query.
const LENGTH_MAX: usize = 8 * 1024;

/// A path under `/api` or `/apis` with its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// `apps`; empty for the core's.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// What stands behind.
    pub rest: Vec<String>,
    /// Names and values of the query.
    pub query: Vec<(String, String)>,
}

/// A path without its query.
#[must_use]
pub fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// What a path names.
#[derive(Clone, Debug)]
pub struct Target {
    /// The resource.
    pub resource: Resource,
    /// Its namespace; empty for all, or for none.
    pub namespace: String,
    /// Its name; empty for a collection.
    pub name: String,
    /// `status`, `scale` and the like; empty for the object itself.
    pub subresource: String,
}

impl Target {
    /// The object.
    pub(crate) fn find(&self, store: &Store) -> Option<Found> {
        find_one(self.resource.kind, Symbol::new(&self.namespace), &self.name, store)
    }

    /// 404 of the object.
    #[must_use]
    pub fn missing(&self) -> Status {
        Status::not_found(&self.resource.plural, &self.resource.group, &self.name)
    }
}

fn decoded(text: &str) -> Result<String, Status> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| Status::bad_request("the path is not UTF-8"))?;
    if text.contains(|c: char| c.is_control()) {
        return Err(Status::bad_request("the path has a control character"));
    }
    Ok(text.into_owned())
}

impl Path {
    /// Reads a path with its query.
    ///
    /// # Errors
    /// 404 of one that is no path of the API, 400 of one that cannot be read.
    pub fn parse(text: &str) -> Result<Self, Status> {
        if text.len() > LENGTH_MAX {
            return Err(Status::new(414, "RequestURITooLong", "the path is too long"));
        }
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let parts = path.split('/').filter(|part| !part.is_empty()).map(decoded);
        let mut parts = parts.collect::<Result<Vec<String>, Status>>()?.into_iter();
        let next = |parts: &mut std::vec::IntoIter<String>| parts.next().ok_or_else(Status::no_such_path);
        let (group, version) = match next(&mut parts)?.as_str() {
            "api" => (String::new(), next(&mut parts)?),
            "apis" => (next(&mut parts)?, next(&mut parts)?),
            _ => return Err(Status::no_such_path()),
        };
        let query = form_urlencoded::parse(query.as_bytes());
        let query = query.map(|(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned()));
        Ok(Self { group, version, rest: parts.collect(), query: query.collect() })
    }

    /// A value of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// All values of one name.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.query.iter().filter(|(own, _)| own == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Whether a switch of the query is on.
    ///
    /// # Source
    /// apimachinery, `Convert_Slice_string_To_bool`: it is off without a value, and with `0` and `false`.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Whether it names nothing, as far as the kinds tell that the API server itself has: then the nearest of them, if one is near.
    pub(crate) fn slip(&self) -> Option<Option<String>> {
        if !resources::is_built_in_group(&self.group) || self.target(&Store::default()).is_ok() {
            return None;
        }
        let named =
            if self.rest.len() > 2 && self.rest[0] == "namespaces" { &self.rest[2] } else { self.rest.first()? };
        let plurals = resources::plurals(&self.group, &self.version);
        let near = nearest(named, plurals.iter().map(String::as_str));
        Some(near.filter(|near| near != named).map(str::to_owned))
    }

    /// What it names.
    ///
    /// # Errors
    /// 404, if the server has no such resource.
    pub fn target(&self, store: &Store) -> Result<Target, Status> {
        let mut rest: Vec<&str> = self.rest.iter().map(String::as_str).collect();
        let mut namespace = "";
        // A namespace's own subresources stand where the resources of others do.
        let is_of_namespace = matches!(rest.get(2), Some(&"status" | &"finalize")) && rest.len() == 3;
        if rest.first() == Some(&"namespaces") && rest.len() > 2 && !is_of_namespace {
            namespace = rest[1];
            rest.drain(..2);
        }
        let plural = *rest.first().ok_or_else(Status::no_such_path)?;
        let resource = resources::find(store, &self.group, &self.version, plural).ok_or_else(Status::no_such_path)?;
        if rest.len() > 3 || (!namespace.is_empty() && !resource.is_namespaced) {
            return Err(Status::no_such_path());
        }
        let name = rest.get(1).copied().unwrap_or_default();
        if resource.is_namespaced && namespace.is_empty() && !name.is_empty() {
            return Err(Status::no_such_path());
        }
        Ok(Target {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: rest.get(2).copied().unwrap_or_default().to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_objects_collections_and_subresources() {
        let store = Store::default();
        let check = |path: &str, expected: (&str, &str, &str, &str)| {
            let target = Path::parse(path).and_then(|path| path.target(&store)).expect(path);
            let found = (target.resource.plural.as_str(), &*target.namespace, &*target.name, &*target.subresource);
            assert_eq!(found, expected, "{path}");
        };
        check("/api/v1/nodes", ("nodes", "", "", ""));
        check("/api/v1/nodes/a", ("nodes", "", "a", ""));
        check("/api/v1/namespaces/shop", ("namespaces", "", "shop", ""));
        check("/api/v1/namespaces/shop/finalize", ("namespaces", "", "shop", "finalize"));
        check("/api/v1/namespaces/shop/pods", ("pods", "shop", "", ""));
        check("/api/v1/pods?limit=500", ("pods", "", "", ""));
        check("/apis/apps/v1/namespaces/shop/deployments/web/scale", ("deployments", "shop", "web", "scale"));
        check("/api/v1/namespaces/shop/pods/web-1/eviction", ("pods", "shop", "web-1", "eviction"));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let store = Store::default();
        for path in
            ["", "/", "/api", "/api/v1", "/apis/apps/v9/deployments", "/api/v1/nodes/a/b/c", "/x", "/api/v1/pods/a"]
        {
            let refused = Path::parse(path).and_then(|path| path.target(&store)).expect_err(path);
            assert_eq!(refused.code, 404, "{path}");
        }
        assert_eq!(Path::parse("/api/v1/nodes/%ff").expect_err("bytes").code, 400);
        assert_eq!(Path::parse(&"/a".repeat(9000)).expect_err("length").code, 414);
    }
}
