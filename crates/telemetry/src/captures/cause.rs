//! Why a capture is taken.

use crate::recorder::{Overrun, ScopeKind};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What pulls the trigger. Each has its own share of the disk and its own pace, so that one that fires all the time
/// takes nothing from one that fires once a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// A world's step took longer than its tick.
    Frame,
    /// A phase of a world's step took longer than it may.
    System,
    /// Another scope took longer than it may.
    Scope,
    /// The operator asked.
    Operator,
    /// The process, or a part of it, crashed.
    Crash,
}

impl Trigger {
    /// All whose captures are kept in the directory of captures. A crash's last seconds lie beside its dump, within the
    /// limits of dumps.
    pub const ALL: [Self; 4] = [Self::Frame, Self::System, Self::Scope, Self::Operator];

    /// As it stands in file names and metrics: `frame`.
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

/// Text is not the name of a trigger.
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

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A scope took longer than it may.
    Overrun(Overrun),
    /// The operator wants to see.
    Operator,
    /// A crash, on the thread with this number if that is known.
    Crash(Option<u32>),
}

impl Cause {
    /// Which trigger it pulls.
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
