//! kubesquall for Python: a thin layer over the library's front door. `kubesquall/__init__.py` is its other side, which turns scenarios
//! of any form into texts and results into objects.

mod errors;
mod inputs;
mod plugins;
mod pool;
mod reports;
mod results;
mod tables;
mod verbs;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _kubesquall {
    #[pymodule_export]
    use crate::plugins::{Cluster, Node, Pod};
    #[pymodule_export]
    use crate::reports::Report;
    #[pymodule_export]
    use crate::results::Results;
    #[pymodule_export]
    use crate::tables::Table;
    #[pymodule_export]
    use crate::verbs::{
        check, check_study, forecast, import_cluster, import_faults, import_latencies, import_outage, merge, plan, run,
        schedule, sensitivity, study,
    };

    /// The version of kubesquall.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
