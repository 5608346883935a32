//! What we say about the user's text: places in it, problems with hints, and how both are drawn. And how what is said of results is meant.
//!
//! A diagnostic is data until it is drawn. Nothing here prints, reads files or knows what the text means.

mod active;
mod diagnostic;
mod remark;
mod render;
mod source;
pub mod suggest;
mod table_lines;

pub use active::is_active;
pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use remark::{Remark, Tone};
pub use render::Style;
pub use source::{Location, Source, Sources};
pub use suggest::{by_nearness, nearest, nearest_or, slip, unknown_name};
pub use table_lines::TableLines;
