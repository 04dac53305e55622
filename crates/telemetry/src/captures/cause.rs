//! Cause of a capture, and its trigger.

use crate::recorder::{Overrun, ScopeKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Category of causes. Each trigger has a disk quota and a minimum interval of its own, so that a trigger that fires at
/// every tick takes nothing from one with an event a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// A world's step exceeded its tick.
    Frame,
    /// A phase of a world's step exceeded its limit.
    System,
    /// Another scope exceeded its limit.
    Scope,
    /// The operator requested it.
    Operator,
    /// The process, or a part of it, crashed.
    Crash,
}

impl Trigger {
    /// All triggers with captures in the directory of captures. A crash's last seconds lie beside its dump instead, within
    /// the quota of dumps.
    pub const ALL: [Self; 4] = [Self::Frame, Self::System, Self::Scope, Self::Operator];

    /// Its name in file names and metrics: `frame`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::System => "system",
            Self::Scope => "scope",
            Self::Operator => "operator",
            Self::Crash => "crash",
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is no trigger's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a trigger (frame, system, scope, operator)")]
pub struct NotATrigger(String);

impl FromStr for Trigger {
    type Err = NotATrigger;

    fn from_str(text: &str) -> Result<Self, NotATrigger> {
        let found = Self::ALL.into_iter().find(|trigger| trigger.name() == text);
        found.ok_or_else(|| NotATrigger(text.to_owned()))
    }
}

impl From<ScopeKind> for Trigger {
    fn from(kind: ScopeKind) -> Self {
        match kind {
            ScopeKind::Frame => Self::Frame,
            ScopeKind::System => Self::System,
            ScopeKind::Scope => Self::Scope,
        }
    }
}

/// The event that a capture is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureCause {
    /// A scope exceeded its limit.
    Overrun(Overrun),
    /// The operator's request.
    Operator,
    /// A crash, with the id of the crashed thread if known.
    Crash(Option<u32>),
}

impl CaptureCause {
    /// Its category.
    #[must_use]
    pub fn trigger(self) -> Trigger {
        match self {
            Self::Overrun(overrun) => overrun.kind.into(),
            Self::Operator => Trigger::Operator,
            Self::Crash(_) => Trigger::Crash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_parse_and_print_alike() {
        for trigger in Trigger::ALL {
            assert_eq!(trigger.name().parse(), Ok(trigger));
            assert_eq!(serde_json::to_value(trigger).unwrap(), trigger.name());
        }
        assert!("noise".parse::<Trigger>().is_err());
    }
}
