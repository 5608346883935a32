//! Eviction thresholds as a kubelet's configuration names them.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::kubelet::Kubelet;
use crate::arena::Symbol;
use crate::units::{Quantity, QuantityFormat, SimDuration};

/// What a kubelet measures to see whether its node runs short.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EvictionSignal {
    /// Memory of the machine.
    MemoryAvailable,
    /// Memory that is left to pods; its threshold follows from the hard one of `memory.available`.
    AllocatableMemoryAvailable,
    /// The disk of pods' logs and volumes.
    NodefsAvailable,
    /// The disk of images and of containers' writable layers.
    ImagefsAvailable,
    /// Process numbers.
    PidAvailable,
}

impl EvictionSignal {
    /// The signal of that name in a configuration; none for one that a kubelet knows and this model does not measure.
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "memory.available" => Self::MemoryAvailable,
            "nodefs.available" => Self::NodefsAvailable,
            "imagefs.available" => Self::ImagefsAvailable,
            "pid.available" => Self::PidAvailable,
            _ => return None,
        })
    }

    /// What runs short, as messages name it.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::MemoryAvailable | Self::AllocatableMemoryAvailable => "memory",
            Self::NodefsAvailable | Self::ImagefsAvailable => "ephemeral-storage",
            Self::PidAvailable => "pids",
        }
    }
}

/// An amount as written: absolute, or a share of what there is.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum EvictionAmount {
    /// So much.
    Quantity(Quantity),
    /// Such a share of the capacity.
    Share(f32),
}

impl EvictionAmount {
    fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix('%') {
            Some(percentage) => {
                let share = f32::from_str(percentage).ok()? / 100.0;
                (0.0..=1.0).contains(&share).then_some(Self::Share(share))
            }
            None => Quantity::from_str(text).ok().filter(|amount| !amount.is_negative()).map(Self::Quantity),
        }
    }

    /// The amount for a capacity.
    #[must_use]
    pub fn of(self, capacity: i64) -> Quantity {
        match self {
            Self::Quantity(quantity) => quantity,
            Self::Share(share) => {
                Quantity::from_value((capacity as f64 * f64::from(share)) as i64).with_format(QuantityFormat::BinarySi)
            }
        }
    }

    /// Whether it turns its threshold off.
    fn is_off(self) -> bool {
        matches!(self, Self::Share(share) if share <= 0.0 || share >= 1.0)
    }
}

/// A limit below which a node is short of something.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct EvictionThreshold {
    /// What is measured.
    pub signal: EvictionSignal,
    /// Less than this is too little.
    pub amount: EvictionAmount,
    /// How long it must be so before pods go; zero makes the threshold a hard one.
    pub grace_period: SimDuration,
    /// How much more than the threshold must be there afterwards.
    pub minimum_reclaim: Option<EvictionAmount>,
}

impl EvictionThreshold {
    /// Whether pods go at once.
    #[must_use]
    pub fn is_hard(&self) -> bool {
        self.grace_period.is_zero()
    }
}

/// Whether a map names signals that a kubelet knows, with amounts that it takes.
pub(super) fn are_thresholds(map: &BTreeMap<Symbol, Symbol>) -> bool {
    const OTHERS: [&str; 5] = [
        "allocatableMemory.available",
        "containerfs.available",
        "containerfs.inodesFree",
        "imagefs.inodesFree",
        "nodefs.inodesFree",
    ];
    map.iter().all(|(signal, amount)| {
        let is_known = EvictionSignal::parse(signal.as_str()).is_some() || OTHERS.contains(&signal.as_str());
        is_known && EvictionAmount::parse(amount.as_str()).is_some()
    })
}

impl Kubelet {
    /// All thresholds in the order in which they are dealt with: memory before everything else.
    ///
    /// # Source
    /// kubelet, `ParseThresholdConfig` and `byEvictionPriority`; the hard threshold of memory also holds for what pods may
    /// use together.
    ///
    /// # Differs
    /// Inodes are not counted; images, containers and volumes are on one disk.
    #[must_use]
    pub fn eviction_thresholds(&self) -> Vec<EvictionThreshold> {
        let parse = |map: &BTreeMap<Symbol, Symbol>, is_soft: bool| {
            let threshold = |(name, amount): (&Symbol, &Symbol)| {
                let amount = EvictionAmount::parse(amount.as_str()).filter(|amount| !amount.is_off())?;
                let grace = self.eviction_soft_grace_period.get(name).copied().filter(|_| is_soft);
                let reclaim = self.eviction_minimum_reclaim.get(name);
                Some(EvictionThreshold {
                    signal: EvictionSignal::parse(name.as_str())?,
                    amount,
                    grace_period: grace.unwrap_or(SimDuration::ZERO),
                    minimum_reclaim: reclaim.and_then(|amount| EvictionAmount::parse(amount.as_str())),
                })
            };
            map.iter().filter_map(threshold).collect::<Vec<_>>()
        };
        let mut thresholds = parse(&self.eviction_hard, false);
        let of_pods = thresholds.iter().find(|threshold| threshold.signal == EvictionSignal::MemoryAvailable).copied();
        thresholds.extend(parse(&self.eviction_soft, true));
        let signal = EvictionSignal::AllocatableMemoryAvailable;
        thresholds.extend(of_pods.map(|threshold| EvictionThreshold { signal, ..threshold }));
        thresholds.sort_by_key(|threshold| match threshold.signal {
            EvictionSignal::MemoryAvailable => 0,
            EvictionSignal::AllocatableMemoryAvailable => 1,
            EvictionSignal::NodefsAvailable => 2,
            EvictionSignal::ImagefsAvailable => 3,
            EvictionSignal::PidAvailable => 4,
        });
        thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KubeletConfiguration, KubernetesVersion};
    use super::*;

    fn thresholds(json: &str) -> Vec<EvictionThreshold> {
        let configuration: KubeletConfiguration = serde_json::from_str(json).expect("a configuration");
        configuration.resolve(KubernetesVersion::NEWEST).eviction_thresholds()
    }

    #[test]
    fn the_hard_threshold_of_memory_holds_for_all_pods_together_too() {
        let signals: Vec<_> = thresholds("{}").iter().map(|threshold| threshold.signal).collect();
        let expected = [
            EvictionSignal::MemoryAvailable,
            EvictionSignal::AllocatableMemoryAvailable,
            EvictionSignal::NodefsAvailable,
            EvictionSignal::ImagefsAvailable,
        ];
        assert_eq!(signals, expected);
    }

    #[test]
    fn a_soft_threshold_has_its_grace_and_percentages_are_of_the_capacity() {
        let found = thresholds(
            r#"{"evictionHard":{"nodefs.available":"10%","imagefs.available":"0%"},
                "evictionSoft":{"memory.available":"2Gi"},"evictionSoftGracePeriod":{"memory.available":"2m"},
                "evictionMinimumReclaim":{"nodefs.available":"5%"}}"#,
        );
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].is_hard(), found[0].grace_period), (false, SimDuration::from_secs(120)));
        assert_eq!(found[1].amount.of(1000).value(), 100);
        assert_eq!(found[1].minimum_reclaim.map(|amount| amount.of(1000).value()), Some(50));
    }
}
