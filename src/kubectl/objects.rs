//! Objects and patches for who types no command line: the same cells, fields and merges that commands print and send.

#[cfg(feature = "serve")]
pub(crate) use super::columns::{mark, of as columns_of};
#[cfg(feature = "serve")]
pub(crate) use super::get::{cells_of, human};
pub(crate) use super::json_patch::{apply as apply_json_patch, fill as fill_for_json_patch};
#[cfg(feature = "serve")]
pub(crate) use super::json_path::{Missing, Template};
pub(crate) use super::resource::{Found, all, find_one, has_namespace};
pub(crate) use super::scale::has_scale;
pub(crate) use super::strategic::{merge, merge_strategically};
pub(crate) use super::three_way::{apply_over, export};
pub(crate) use super::view::{Clock, object};
