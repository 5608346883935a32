//! What faults change of a machine for as long as they last, besides what they stop.

use crate::units::SimDuration;

/// Declares the effects, one line each: what reads it, of which type it is, what it is without faults, and the variant of [`Effect`]
/// by which chaos says that it changed. One that nobody reads does not compile, nor does one of which the kubelet does not say what
/// it does at once.
macro_rules! effects {
    ($($(#[doc = $doc:literal])* $field:ident: $type:ty = $usual:expr, $variant:ident;)*) => {
        /// One effect as it is from now on.
        #[derive(Copy, Clone, Debug, PartialEq)]
        pub enum Effect {
            $($(#[doc = $doc])* $variant($type),)*
        }

        /// All effects on a machine.
        #[derive(Copy, Clone, Debug, PartialEq, Eq)]
        pub struct Effects {
            $($field: $type,)*
        }

        impl Default for Effects {
            fn default() -> Self {
                Self { $($field: $usual,)* }
            }
        }

        #[deny(dead_code)]
        impl Effects {
            $(
                $(#[doc = $doc])*
                #[must_use]
                pub(crate) fn $field(&self) -> $type {
                    self.$field
                }
            )*

            pub(super) fn put(&mut self, effect: Effect) {
                match effect {
                    $(Effect::$variant(value) => self.$field = value,)*
                }
            }
        }
    };
}

effects! {
    /// What others than pods use of it.
    burden: Usage = Usage::NOTHING, Burdened;
    /// How much longer than always what its disk has to do takes, if it begins now; what is under way goes on as it began.
    disk_slowdown: Slowdown = Slowdown::NONE, DiskSlowed;
}

/// What something uses of a machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Usage {
    /// Bytes of memory that cannot be taken back.
    pub memory: i64,
    /// Bytes of disk.
    pub ephemeral_storage: i64,
    /// Processes.
    pub pids: i64,
}

impl Usage {
    /// Nothing.
    pub const NOTHING: Self = Self { memory: 0, ephemeral_storage: 0, pids: 0 };

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            memory: self.memory.saturating_add(other.memory),
            ephemeral_storage: self.ephemeral_storage.saturating_add(other.ephemeral_storage),
            pids: self.pids.saturating_add(other.pids),
        }
    }
}

/// How many times as long something takes as it would otherwise: from one up, in thousandths.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Slowdown {
    thousandths: u32,
}

impl Slowdown {
    /// As long as always.
    pub const NONE: Self = Self { thousandths: 1000 };

    /// By a factor, rounded to thousandths; what is less than one or no number counts as one, what is too much as 4 million.
    #[must_use]
    pub fn by(factor: f64) -> Self {
        // Such a cast stops at the ends of its range.
        Self { thousandths: ((factor * 1000.0).round() as u32).max(Self::NONE.thousandths) }
    }

    /// How long something takes that would take this long.
    #[must_use]
    pub fn stretch(self, length: SimDuration) -> SimDuration {
        if self == Self::NONE {
            return length;
        }
        let nanos = u128::from(length.as_nanos()) * u128::from(self.thousandths) / 1000;
        u64::try_from(nanos).map_or(SimDuration::MAX, SimDuration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slowdown_stretches_exactly_and_never_shortens() {
        let check = |factor: f64, nanos: u64, expected: u64| {
            assert_eq!(Slowdown::by(factor).stretch(SimDuration::from_nanos(nanos)).as_nanos(), expected, "{factor}");
        };
        check(1.0, 7, 7);
        check(0.5, 7, 7);
        check(f64::NAN, 7, 7);
        check(2.5, 2_000_000_000, 5_000_000_000);
        check(1.0005, 1_000_000, 1_001_000);
        check(f64::INFINITY, u64::MAX / 2, u64::MAX);
    }
}
