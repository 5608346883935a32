//! Interim engine.
#![allow(missing_docs)]
mod clock;
mod queue;
mod random;
pub use clock::Clock;
pub use queue::{EventQueue, Occurrence, Ticket};
pub use random::{Stream, Streams};
use crate::units::*;
#[derive(Clone,Debug,PartialEq,serde::Serialize,serde::Deserialize)] #[serde(rename_all="camelCase")] pub enum Distribution{Constant(SimDuration),Uniform{min:SimDuration,max:SimDuration},Exponential{mean:SimDuration},Lognormal{median:SimDuration,p99:SimDuration}}
impl Distribution{ pub fn sample(&self,s:&mut Stream)->SimDuration{ match self { Self::Constant(d)=>*d, Self::Uniform{min,max}=>*min+SimDuration::from_secs_f64((max.as_secs_f64()-min.as_secs_f64())*s.unit()), Self::Exponential{mean}=>SimDuration::from_secs_f64(-mean.as_secs_f64()*libm::log(1.0-s.unit())), Self::Lognormal{median,..}=>*median } } }
