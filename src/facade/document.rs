//! A document of any kind, read and checked.

use std::path::Path;

use super::cluster::{Cluster, ClusterOptions};
use super::error::Error;
use super::load::{self, LoadOptions, Written, loaders};
use super::plan::Plan;
use super::scenario::Scenario;
use super::study::Study;
use crate::diagnostics::Diagnostics;
use crate::scenario::{DocumentKind, read_text, recognize};

/// A document of the kind that it says it is.
///
/// # Examples
///
/// ```
/// use kubesquall::Document;
///
/// let text = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: web}]}}";
/// assert_eq!(Document::parse(text, [("", ""); 0])?.kind(), "manifest");
///
/// let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Study, metadata: {name: long}, spec: {}}";
/// assert!(Document::parse(text, [("", ""); 0]).is_err());
/// # Ok::<(), kubesquall::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "a program holds a few of them, and moves them seldom")]
pub enum Document {
    /// A scenario.
    Scenario(Scenario),
    /// A study.
    Study(Study),
    /// A plan.
    Plan(Plan),
    /// Kubernetes manifests, whose nodes may come from elsewhere.
    Manifests(Cluster),
}

loaders!(Document, "document.yaml", names "manifests and others", values "it says", wrong with "it");

impl Document {
    fn read(written: Written<'_>, options: &LoadOptions) -> Result<Self, Error> {
        let kind = match &written {
            Written::File(path) => recognize(&path.to_string_lossy(), &read_text(path)?)?,
            Written::Text { name, text, .. } => recognize(name, text)?,
        };
        Ok(match kind {
            DocumentKind::Scenario => Self::Scenario(Scenario::read(written, options)?),
            DocumentKind::Study => Self::Study(Study::read(written, options)?),
            DocumentKind::Plan => Self::Plan(Plan::read(written, options)?),
            DocumentKind::Manifest => {
                let reading = ClusterOptions::new().allow_partial(options.allows_partial()).manifests_alone();
                Self::Manifests(match written {
                    Written::File(path) => Cluster::load_with([path], &reading)?,
                    Written::Text { name, text, .. } => Cluster::parse_with([(name, text)], &reading)?,
                })
            }
        })
    }

    /// The word for what it is: `Scenario`, `Study`, `Plan` or `manifest`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        let kind = match self {
            Self::Scenario(_) => DocumentKind::Scenario,
            Self::Study(_) => DocumentKind::Study,
            Self::Plan(_) => DocumentKind::Plan,
            Self::Manifests(_) => DocumentKind::Manifest,
        };
        kind.as_str()
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        match self {
            Self::Scenario(scenario) => scenario.warnings(),
            Self::Study(study) => study.warnings(),
            Self::Plan(plan) => plan.warnings(),
            Self::Manifests(cluster) => cluster.warnings(),
        }
    }
}
