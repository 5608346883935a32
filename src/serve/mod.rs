//! An API server that real clients talk to, over a simulated cluster whose time can be stopped, sped up and turned back.
//!
//! One thread owns the run; those that speak HTTP hand it tasks over a bounded channel. The wall clock decides only how far the run is
//! played, never what happens in it: what clients want done takes place at instants that a record keeps, and the record plays the
//! same again.

mod audience;
mod discovery;
mod documents;
mod events;
mod guard;
mod http;
mod kubeconfig;
mod lists;
mod metrics;
mod openapi;
mod owner;
mod past;
mod posted;
mod protobuf;
mod reads;
mod session;
mod stage;
mod table;
mod time;
mod versions;
mod watching;

pub use guard::{Access, Unsafe};
pub use http::{Options, Serving, serve};
pub use kubeconfig::{is_ours as is_our_kubeconfig, kubeconfig};
pub use owner::Save;
pub use session::{Session, Standing};
pub use time::Speed;
