//! Resources by name, as the arguments of plugins have them.

use crate::arena::Symbol;
use crate::model::Resources;

/// How much of a resource there is: `cpu` in thousandths, `memory` and storage in bytes, others in pieces.
pub(super) fn amount(of: &Resources, name: Symbol) -> i64 {
    match name.as_str() {
        "cpu" => of.cpu_milli,
        "memory" => of.memory,
        "ephemeral-storage" => of.ephemeral_storage,
        _ => of.scalar(name),
    }
}
