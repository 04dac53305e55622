//! Events that scripts handle, with the kinds of their parameters.
//!
//! The numbers are part of the formats of programs and states: new events are appended.

use crate::kind::{Kind, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use Kind::{Integer, Key, List, Rotation, Text, Vector};

/// A kind of events, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventKind(u8);

/// An event that waits for its handler, or has one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The kind of the event.
    pub kind: EventKind,
    /// Arguments of the handler.
    pub arguments: Vec<Value>,
    /// Data of the world beside the arguments, such as detected agents. The machine keeps it, and passes it to the host with each call.
    pub context: Arc<[u8]>,
}

impl Event {
    /// An event without anything beside its arguments.
    #[must_use]
    pub fn new(kind: EventKind, arguments: Vec<Value>) -> Self {
        Self { kind, arguments, context: Arc::default() }
    }

    /// True if its arguments have the kinds of its parameters.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.arguments.iter().map(Value::kind).eq(self.kind.parameters().iter().copied())
    }
}

impl EventKind {
    /// A script or a state begins.
    pub const STATE_ENTRY: Self = Self(0);
    /// A state ends.
    pub const STATE_EXIT: Self = Self(1);
    /// The period of the timer has passed.
    pub const TIMER: Self = Self(2);

    /// The number of kinds.
    pub const COUNT: usize = TABLE.len();

    /// The kind of a name. `linkset_data` has one for each dialect; this is that of `sl`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The kind of a name and of parameters.
    #[must_use]
    pub fn of(name: &str, parameters: &[Kind]) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name && kind.parameters() == parameters)
    }

    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..TABLE.len() as u8).map(Self)
    }

    /// Its number, less than [`Self::COUNT`] unless it was read from bytes and not checked.
    #[must_use]
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// True if there is such a kind: bytes may have any number.
    #[must_use]
    pub const fn exists(self) -> bool {
        self.number() < Self::COUNT
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        TABLE[self.0 as usize].0
    }

    /// The kinds of its parameters.
    #[must_use]
    pub const fn parameters(self) -> &'static [Kind] {
        TABLE[self.0 as usize].1
    }
}

const TABLE: [(&str, &[Kind]); 44] = [
    ("state_entry", &[]),
    ("state_exit", &[]),
    ("timer", &[]),
    ("at_rot_target", &[Integer, Rotation, Rotation]),
    ("at_target", &[Integer, Vector, Vector]),
    ("attach", &[Key]),
    ("changed", &[Integer]),
    ("collision", &[Integer]),
    ("collision_end", &[Integer]),
    ("collision_start", &[Integer]),
    ("control", &[Key, Integer, Integer]),
    ("dataserver", &[Key, Text]),
    ("email", &[Text, Text, Text, Text, Integer]),
    ("experience_permissions", &[Key]),
    ("experience_permissions_denied", &[Key, Integer]),
    ("final_damage", &[Integer]),
    ("game_control", &[Key, Integer, List]),
    ("http_request", &[Key, Text, Text]),
    ("http_response", &[Key, Integer, List, Text]),
    ("land_collision", &[Vector]),
    ("land_collision_end", &[Vector]),
    ("land_collision_start", &[Vector]),
    ("link_message", &[Integer, Integer, Text, Key]),
    ("linkset_data", &[Integer, Text, Text]),
    ("linkset_data", &[Integer, Text, Text, Key]),
    ("listen", &[Integer, Text, Key, Text]),
    ("money", &[Key, Integer]),
    ("moving_end", &[]),
    ("moving_start", &[]),
    ("no_sensor", &[]),
    ("not_at_rot_target", &[]),
    ("not_at_target", &[]),
    ("object_rez", &[Key]),
    ("on_damage", &[Integer]),
    ("on_death", &[]),
    ("on_rez", &[Integer]),
    ("path_update", &[Integer, List]),
    ("remote_data", &[Integer, Key, Key, Text, Integer, Text]),
    ("run_time_permissions", &[Integer]),
    ("sensor", &[Integer]),
    ("touch", &[Integer]),
    ("touch_end", &[Integer]),
    ("touch_start", &[Integer]),
    ("transaction_result", &[Key, Integer, Text]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_names_and_parameters() {
        assert_eq!(EventKind::named("state_entry"), Some(EventKind::STATE_ENTRY));
        assert_eq!(EventKind::named("state_exit"), Some(EventKind::STATE_EXIT));
        assert_eq!(EventKind::named("timer"), Some(EventKind::TIMER));
        assert_eq!(EventKind::named("tick"), None);
        let both: Vec<usize> = [3, 4]
            .map(|n| {
                EventKind::of("linkset_data", &[Integer, Text, Text, Key][..n]).expect("a kind").number()
            })
            .to_vec();
        assert_eq!(both, [23, 24]);
        for kind in EventKind::all() {
            assert!(kind.exists());
            let zeros = kind.parameters().iter().map(|&kind| Value::zero(kind)).collect();
            assert!(Event::new(kind, zeros).is_valid(), "{}", kind.name());
            assert!(!Event::new(kind, vec![Value::zero(Text); 7]).is_valid());
        }
        assert!(!EventKind(EventKind::COUNT as u8).exists());
    }
}
