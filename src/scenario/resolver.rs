//! What reading a scenario finds on its way.

use std::path::Path;
use std::sync::Arc;

use super::assumption::Assumption;
use super::files::Kept;
use super::input::Input;
use super::limits::Limits;
use super::overrides::Caller;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostics, Location, Source, Sources};
use crate::model::manifest::{Folder, Loaded};
use crate::model::{ManifestObject, NotModelled};

/// A scenario on its way from the tree.
pub(super) struct Resolver<'a> {
    pub(super) file: Arc<str>,
    pub(super) folder: &'a Folder,
    pub(super) kept: Option<&'a Kept>,
    pub(super) caller: Caller,
    pub(super) limits: Limits,
    pub(super) diagnostics: Diagnostics,
    pub(super) sources: Sources,
    /// What was read of manifests and dumps.
    pub(super) input: Input,
    /// What was taken for granted in reading them.
    pub(super) assumed: Vec<Assumption>,
}

impl Resolver<'_> {
    /// How rows name a file. Rows must not depend on the directory in which the program was started.
    pub(super) fn file_of_row(&self, file: &Arc<str>) -> Symbol {
        if *file == self.file {
            let name =
                Path::new(&**file).file_name().map_or_else(|| file.to_string(), |name| name.to_string_lossy().into());
            Symbol::from(name)
        } else {
            Symbol::from(&**file)
        }
    }

    /// Takes what was loaded, with what is said about it.
    pub(super) fn take(&mut self, loaded: Loaded, not_modelled: &mut Vec<NotModelled>) -> Vec<ManifestObject> {
        for diagnostic in &loaded.diagnostics {
            for label in &diagnostic.labels {
                let file = &label.location.file;
                if let Some(text) = loaded.sources.text(file) {
                    self.sources.insert(Source::new(Arc::clone(file), Arc::clone(text)));
                }
            }
        }
        self.diagnostics.extend(loaded.diagnostics);
        not_modelled.extend(loaded.not_modelled.into_iter().map(|row| {
            let file: Arc<str> = row.file.as_str().into();
            NotModelled { file: self.file_of_row(&file), ..row }
        }));
        loaded.objects
    }
}

/// Problems with files that could not be read have no place of their own.
pub(super) fn with_place(diagnostics: Diagnostics, place: &Location) -> Diagnostics {
    let placed = diagnostics.into_iter().map(|diagnostic| match diagnostic.labels.as_slice() {
        [] => diagnostic.at(place.clone(), "named here"),
        _ => diagnostic,
    });
    placed.collect()
}
