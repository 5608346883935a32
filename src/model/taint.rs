//! Taints and tolerations.

use std::fmt;

use super::api_type::{api_enums, api_structs};
use super::selector::{is_label_value, is_qualified_name};
use crate::arena::Symbol;

api_structs! {
    /// A taint of a node; unique there by key and effect.
    #[derive(Eq, Hash)]
    pub struct Taint {
        pub key: Symbol,
        pub value: Symbol,
        pub effect: TaintEffect,
        pub time_added: Option<Symbol>,
    }

    /// A pod's toleration. An empty key stands for every key, no effect for every effect.
    #[derive(Eq, Hash)]
    pub struct Toleration {
        pub key: Symbol,
        /// Absent it means `Equal`; see [`Toleration::operator`].
        pub operator: Option<TolerationOperator> = "crate::model::api_type::empty_is_none",
        pub value: Symbol,
        pub effect: Option<TaintEffect> = "crate::model::api_type::empty_is_none",
        pub toleration_seconds: Option<i64>,
    }
}

api_enums! {
    /// What a taint does to pods that do not tolerate it.
    pub enum TaintEffect or NoSchedule {
        NoSchedule = "NoSchedule",
        PreferNoSchedule = "PreferNoSchedule",
        NoExecute = "NoExecute",
    }

    /// How a toleration compares values. `Gt` and `Lt` are alpha from 1.35 and off by default.
    pub enum TolerationOperator {
        Equal = "Equal",
        Exists = "Exists",
        Lt = "Lt",
        Gt = "Gt",
    }
}

impl Taint {
    /// A taint without `timeAdded`.
    #[must_use]
    pub fn new(key: Symbol, value: Symbol, effect: TaintEffect) -> Self {
        Self { key, value, effect, time_added: None }
    }

    /// Whether two taints are the same one: a node has at most one per key and effect.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }
}

impl fmt::Display for Taint {
    /// `key=value:Effect`, or `key:Effect` without a value, as kubectl writes taints.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.as_str().is_empty() { "" } else { "=" };
        write!(formatter, "{}{equals}{}:{}", self.key.as_str(), self.value.as_str(), self.effect)
    }
}

impl Toleration {
    /// How key and value are compared. The API server leaves the field as empty as it was, and tells a template that
    /// says `Equal` from one that says nothing.
    #[must_use]
    pub fn operator(&self) -> TolerationOperator {
        self.operator.unwrap_or(TolerationOperator::Equal)
    }

    /// Whether this toleration matches a taint. `Gt` and `Lt` match nothing: their feature gate is off by default.
    ///
    /// # Source
    ///
    /// API helper used by scheduler, taint eviction and daemon set controllers.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_none() || self.effect == Some(taint.effect))
            && (self.key == taint.key || self.key.as_str().is_empty())
            && match self.operator() {
                TolerationOperator::Exists => true,
                TolerationOperator::Equal => self.value == taint.value,
                TolerationOperator::Gt | TolerationOperator::Lt => false,
            }
    }
}

/// The first taint with one of the effects that no toleration matches.
#[must_use]
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    effects: &[TaintEffect],
) -> Option<&'a Taint> {
    let mut taints = taints.iter().filter(|taint| effects.contains(&taint.effect));
    taints.find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

/// How long a pod may stay on a node with `NoExecute` taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoExecuteStay {
    /// Some taint is not tolerated: evict now, whatever timer is pending.
    Untolerated,
    /// Tolerated for this many seconds, at least 0.
    Seconds(i64),
    /// Tolerated without an end.
    Forever,
}

/// How long the tolerations let a pod stay. For each `NoExecute` taint the *first* matching toleration counts, and of
/// those the shortest time; a toleration without seconds sets no bound.
///
/// # Source
///
/// Taint eviction controller, 1.27+.
#[must_use]
pub fn no_execute_stay(taints: &[Taint], tolerations: &[Toleration]) -> NoExecuteStay {
    let mut seconds_min: Option<i64> = None;
    for taint in taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute) {
        let Some(toleration) = tolerations.iter().find(|toleration| toleration.tolerates(taint)) else {
            return NoExecuteStay::Untolerated;
        };
        if let Some(seconds) = toleration.toleration_seconds {
            let seconds = seconds.max(0);
            seconds_min = Some(seconds_min.map_or(seconds, |least| least.min(seconds)));
        }
    }
    seconds_min.map_or(NoExecuteStay::Forever, NoExecuteStay::Seconds)
}

/// One argument of `kubectl taint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaintArgument {
    /// `key=value:Effect` or `key:Effect`.
    Add(Taint),
    /// `key:Effect-`, or `key-` for every effect. A value before the `-` is read and has no meaning.
    Remove {
        /// Key of the taints to remove.
        key: Symbol,
        /// Effect of the taint to remove; every effect if absent.
        effect: Option<TaintEffect>,
    },
}

impl TaintArgument {
    /// Reads one argument.
    ///
    /// # Errors
    ///
    /// kubectl's words on what is wrong.
    pub fn parse(text: &str) -> Result<Self, TaintError> {
        let (taint, is_removal) = match text.strip_suffix('-') {
            Some(taint) => (taint, true),
            None => (text, false),
        };
        let (pair, effect) = match taint.split_once(':') {
            Some((pair, effect)) => (pair, Some(effect)),
            None => (taint, None),
        };
        let fail = || TaintError { text: format!("invalid taint spec: {text}") };
        let effect = match effect {
            Some(word) if word.contains(':') => return Err(fail()),
            Some(word) => Some(<TaintEffect as super::ApiEnum>::parse(word).ok_or_else(|| TaintError {
                text: format!("invalid taint effect: {word}, unsupported taint effect"),
            })?),
            None => None,
        };
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if !is_qualified_name(key) || !is_label_value(value) || (effect.is_none() && pair.contains('=')) {
            return Err(fail());
        }
        match (is_removal, effect) {
            (true, effect) => Ok(Self::Remove { key: Symbol::from(key), effect }),
            (false, Some(effect)) => Ok(Self::Add(Taint::new(Symbol::from(key), Symbol::from(value), effect))),
            (false, None) => Err(fail()),
        }
    }
}

/// A taint argument that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TaintError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(text: &str) -> Taint {
        match TaintArgument::parse(text) {
            Ok(TaintArgument::Add(taint)) => taint,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn toleration(json: &str) -> Toleration {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn toleration_matches_by_effect_key_and_operator() {
        #[track_caller]
        fn check(json: &str, on: &str, expected: bool) {
            assert_eq!(toleration(json).tolerates(&taint(on)), expected, "{json} on {on}");
        }
        check(r#"{"key":"a","operator":"Exists"}"#, "a=b:NoSchedule", true);
        check(r#"{"key":"a","operator":"Equal","value":"b"}"#, "a=b:NoSchedule", true);
        check(r#"{"key":"a","value":"b"}"#, "a=b:NoSchedule", true);
        check(r#"{"key":"a","operator":"","value":"c","effect":""}"#, "a=b:NoSchedule", false);
        check(r#"{"operator":"Exists"}"#, "a=b:NoExecute", true);
        check(r#"{"operator":"Exists","effect":"NoExecute"}"#, "a=b:NoSchedule", false);
        check(r#"{"key":"b","operator":"Exists"}"#, "a=b:NoExecute", false);
        check(r#"{"key":"a","operator":"Gt","value":"1"}"#, "a=2:NoExecute", false);
        check(r#"{"key":"a","operator":"Equal","value":"x"}"#, "a:NoExecute", false);
    }

    #[test]
    fn the_first_matching_toleration_of_each_taint_bounds_the_stay() {
        #[track_caller]
        fn check(taints: &[&str], tolerations: &[&str], expected: NoExecuteStay) {
            let taints: Vec<Taint> = taints.iter().map(|text| taint(text)).collect();
            let tolerations: Vec<Toleration> = tolerations.iter().map(|json| toleration(json)).collect();
            assert_eq!(no_execute_stay(&taints, &tolerations), expected);
        }
        let forever = r#"{"operator":"Exists"}"#;
        let a_300 = r#"{"key":"a","operator":"Exists","tolerationSeconds":300}"#;
        let b_60 = r#"{"key":"b","operator":"Exists","tolerationSeconds":60}"#;
        let a_past = r#"{"key":"a","operator":"Exists","tolerationSeconds":-5}"#;
        check(&[], &[], NoExecuteStay::Forever);
        check(&["a:NoSchedule"], &[], NoExecuteStay::Forever);
        check(&["a:NoExecute"], &[], NoExecuteStay::Untolerated);
        check(&["a:NoExecute"], &[a_300], NoExecuteStay::Seconds(300));
        check(&["a:NoExecute", "b:NoExecute"], &[a_300, b_60], NoExecuteStay::Seconds(60));
        check(&["a:NoExecute", "c:NoExecute"], &[a_300, b_60], NoExecuteStay::Untolerated);
        check(&["a:NoExecute"], &[forever, a_300], NoExecuteStay::Forever);
        check(&["a:NoExecute"], &[a_300, forever], NoExecuteStay::Seconds(300));
        check(&["a:NoExecute"], &[a_past], NoExecuteStay::Seconds(0));
    }

    #[test]
    fn taint_arguments_are_read_as_kubectl_reads_them() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let read = match TaintArgument::parse(text) {
                Ok(TaintArgument::Add(taint)) => format!("add {taint}"),
                Ok(TaintArgument::Remove { key, effect: Some(effect) }) => format!("remove {}:{effect}", key.as_str()),
                Ok(TaintArgument::Remove { key, effect: None }) => format!("remove {}", key.as_str()),
                Err(error) => error.to_string(),
            };
            assert_eq!(read, expected);
        }
        check("gpu=true:NoSchedule", "add gpu=true:NoSchedule");
        check("gpu:NoExecute", "add gpu:NoExecute");
        check("gpu=:NoExecute", "add gpu:NoExecute");
        check("gpu-", "remove gpu");
        check("gpu:NoSchedule-", "remove gpu:NoSchedule");
        check("gpu=true:NoSchedule-", "remove gpu:NoSchedule");
        check("gpu=true", "invalid taint spec: gpu=true");
        check("gpu", "invalid taint spec: gpu");
        check("gpu=a=b:NoSchedule", "invalid taint spec: gpu=a=b:NoSchedule");
        check("gpu:Never", "invalid taint effect: Never, unsupported taint effect");
        check("gpu:NoSchedule:x", "invalid taint spec: gpu:NoSchedule:x");
    }
}
