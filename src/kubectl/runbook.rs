//! What is typed: lines with the objects of their files.

use std::sync::Arc;

use super::command_line::FieldValidation;
use super::failure::Failure;
use super::process::CommandPlan;
use super::{Command, Place, Printing, ShellId, Stage};
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};
use crate::model::config::KubernetesVersion;
use crate::model::{AnyKind, ManifestObject, Object, ObjectKind, is_served};

/// An object of a file.
#[derive(Clone, Debug)]
pub struct Written {
    /// The file, as the line names it.
    pub file: Arc<str>,
    /// The object.
    pub object: Object,
    /// Whether the file names its namespace; else a command may give it one.
    pub names_namespace: bool,
    /// What the file says that is no field of the API.
    pub unknown_fields: Vec<String>,
    /// `apiVersion` as the file has it; empty if it has none.
    pub api_version: Symbol,
}

impl Written {
    /// Whether the API server takes it with what is no field of the API: else that is told as its refusal, or as warnings.
    ///
    /// # Source
    /// kube-apiserver, field validation (strict, if kubectl does not say otherwise); kubectl, `AddSourceToErr`.
    pub(super) fn is_taken(&self, doing: &str, validation: FieldValidation, plan: &mut CommandPlan) -> bool {
        let said = || self.unknown_fields.iter().map(|path| format!("unknown field {path:?}"));
        match validation {
            _ if self.unknown_fields.is_empty() => true,
            FieldValidation::Ignore => true,
            FieldValidation::Warn => {
                plan.warnings.extend(said().map(|text| format!("Warning: {text}")));
                true
            }
            FieldValidation::Strict => {
                let kind = self.object.kind().as_str();
                let value = self.object.to_manifest();
                let version = value["apiVersion"].as_str().unwrap_or_default();
                let version = version.rsplit_once('/').map_or(version, |(_, version)| version);
                let said: Vec<String> = said().collect();
                let message = format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
                    said.join(", ")
                );
                let error = ApiError::new(ErrorReason::BadRequest, message);
                plan.fail(Failure::refusal(&error, Some((doing, &self.file))));
                false
            }
        }
    }

    /// An object of a file.
    #[must_use]
    pub fn new(file: &Arc<str>, loaded: ManifestObject) -> Self {
        let ManifestObject { object, names_namespace, unknown_fields, api_version, .. } = loaded;
        Self { file: Arc::clone(file), object, names_namespace, unknown_fields, api_version }
    }

    /// Whether a server of that version has such a kind.
    pub(super) fn is_served(&self, version: KubernetesVersion) -> bool {
        let (kind, of_today) = match &self.object {
            Object::Stored(object) => (object.kind.as_str(), object.api_version.as_str()),
            modelled => (modelled.kind().as_str(), modelled.kind().api_version()),
        };
        let api_version = if self.api_version.is_empty() { of_today } else { self.api_version.as_str() };
        is_served(api_version, kind, version)
    }

    /// What kubectl says of an object whose kind its server does not have.
    ///
    /// # Source
    /// cli-runtime, `mapper.infoForData`.
    pub(super) fn no_match(&self) -> Failure {
        let metadata = self.object.metadata();
        let kind = match &self.object {
            Object::Stored(object) => object.kind.as_str(),
            modelled => modelled.kind().as_str(),
        };
        let namespace = if self.names_namespace { metadata.namespace } else { Symbol::empty() };
        Failure::own(format!(
            "resource mapping not found for name: {:?} namespace: {:?} from {:?}: no matches for kind {kind:?} in version \
             {:?}\nensure CRDs are installed first",
            metadata.name.as_str(),
            namespace.as_str(),
            &*self.file,
            self.api_version.as_str(),
        ))
    }
}

/// A line of the runbook, parsed, with the objects of its files.
#[derive(Clone, Debug)]
pub struct RunbookLine {
    /// The line as it was written, without `kubectl`.
    pub text: Arc<str>,
    /// What it means.
    pub command: Command,
    /// How it is carried out and printed.
    pub printing: Printing,
    /// The objects of `-f`, in file order.
    pub objects: Vec<Written>,
    /// Into which shell it is typed, if into one.
    pub shell: Option<ShellId>,
    /// Whether the shell waits for its end.
    pub place: Place,
    /// What its output goes through.
    pub rest: Vec<Stage>,
}

impl RunbookLine {
    /// Whether it makes an autoscaler for that workload: by `autoscale`, or by an object of a file.
    #[must_use]
    pub fn autoscales(&self, kind: ObjectKind, namespace: Symbol, name: Symbol) -> bool {
        let is_object = |object: &Object| {
            matches!(object, Object::HorizontalPodAutoscaler(autoscaler) if autoscaler.metadata.namespace == namespace
                && autoscaler.spec.scale_target_ref.kind == kind.as_str() && autoscaler.spec.scale_target_ref.name == name)
        };
        match &self.command {
            Command::Autoscale(args) => args.selection.targets.iter().any(|target| {
                let place = target.namespace.unwrap_or_else(|| Symbol::new(&args.selection.namespace));
                target.kind.any() == AnyKind::Modelled(kind) && target.name == name.as_str() && place == namespace
            }),
            Command::Delete(_) => false,
            _ => self.objects.iter().any(|written| is_object(&written.object)),
        }
    }
}

/// All lines of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Runbook {
    /// In file order.
    pub lines: Vec<Arc<RunbookLine>>,
    /// Unix time of t=0 in nanoseconds, as time stamps show it.
    pub epoch_unix_nanos: i64,
}
