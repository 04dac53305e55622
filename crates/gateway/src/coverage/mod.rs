//! Coverage of the protocol: the outcome of every message and capability.
//!
//! Two tables, `messages` and `capabilities`, are the only source of outcomes: the shards' dispatch and the seed capability are made
//! from them, and [`markdown`] prints them as `docs/protocol-coverage.md`. No message that a client may send is absent, so that each
//! request ends in an answer, a refusal or a stated reason for silence.

mod capabilities;
mod messages;
mod page;

pub use capabilities::{CAPABILITIES, Capability, is_granted};
pub use page::markdown;

pub(crate) use messages::message_table;

use std::fmt;
use wire::messages::MessageName;

/// Outcomes of messages and calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageOutcome {
    /// Carried out, and answered where the protocol has an answer.
    Done,
    /// Answered within a second: by the protocol's negative reply, or by an AlertMessage that names the missing feature.
    Refused,
    /// Nothing happens, and no client waits for anything.
    Ignored,
    /// Malformed, forged, out of place, or too much; `throng_dropped_total` has the reason.
    Dropped,
}

impl MessageOutcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Done, Self::Refused, Self::Ignored, Self::Dropped];

    /// Metric label, and the word in the documentation.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Ignored => "ignored",
            Self::Dropped => "dropped",
        }
    }
}

/// A row of the table of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageCoverage {
    /// Part of the protocol that it belongs to.
    pub area: &'static str,
    /// The message.
    pub name: MessageName,
    /// Outcome of a valid one.
    pub outcome: MessageOutcome,
    /// The feature that the AlertMessage names, where the protocol has no negative reply.
    pub feature: Option<Feature>,
    /// The answer, or the reason.
    pub text: &'static str,
}

macro_rules! rows {
    (() $($area:literal { $($Message:ident: $kind:ident $($handler:ident)? $text:literal;)* })*) => {
        /// Every message that the protocol does not reserve for simulators, by area.
        pub const MESSAGES: &[MessageCoverage] = &[$($(
            MessageCoverage {
                area: $area,
                name: MessageName::$Message,
                outcome: rows!(@outcome $kind),
                feature: rows!(@feature $kind $($handler)?),
                text: $text,
            },
        )*)*];
    };
    (@outcome refused) => { MessageOutcome::Refused };
    (@outcome missing) => { MessageOutcome::Refused };
    (@outcome edit) => { MessageOutcome::Refused };
    (@outcome edit_by_local_id) => { MessageOutcome::Refused };
    (@outcome ignored) => { MessageOutcome::Ignored };
    (@outcome simulator) => { MessageOutcome::Dropped };
    // `done`, and the messages with a way of their own.
    (@outcome $kind:ident) => { MessageOutcome::Done };
    (@feature missing $feature:ident) => { Some(Feature::$feature) };
    (@feature edit $feature:ident) => { Some(Feature::$feature) };
    (@feature edit_by_local_id $feature:ident) => { Some(Feature::$feature) };
    (@feature $kind:ident $($handler:ident)?) => { None };
}

messages::message_table!(rows!());

/// A missing part of the protocol, or a thing that does not exist. Refusals name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A list of blocked users that outlives the client.
    MuteList,
    /// Profiles with texts, picks and settings.
    Profiles,
    /// Friends.
    Friends,
    /// The directory.
    Search,
    /// Changes of objects, in a world that is not built on.
    Building,
    /// Objects that are spun by the pointer.
    Spin,
    /// Scripts.
    Scripts,
    /// Objects of the inventory that are worn, in a world that is not built on.
    InventoryObjects,
    /// Changes of land and parcels, in a world that is not built on.
    Land,
    /// Estate tools beside those of land.
    Estate,
    /// Commands of administrators in a viewer.
    Administration,
    /// Abuse reports and postcards.
    Reports,
    /// Payments.
    Money,
    /// Groups.
    Groups,
    /// A method of a generic request that the server does not have.
    Method,
    /// An object that is not in the region.
    UnknownObject,
    /// An object to sit on that is out of reach.
    FarObject,
    /// A parcel that no region has.
    UnknownParcel,
    /// An item or folder that is not in the user's inventory.
    UnknownItem,
    /// An item that is not in the object that is named with it.
    UnknownContent,
}

/// The text of the AlertMessage.
impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MuteList => "This server does not keep a block list: your viewer forgets it at logout.",
            Self::Profiles => "Profiles cannot be changed on this server.",
            Self::Friends => "Friends are not available on this server.",
            Self::Search => "This server has no directory to search.",
            Self::Building => "Objects cannot be built or changed here.",
            Self::Spin => "Objects cannot be spun on this server.",
            Self::Scripts => "Scripts are not available on this server.",
            Self::InventoryObjects => {
                "Objects of your inventory cannot be put on here. What you wear comes back when you leave."
            }
            Self::Land => "Land cannot be changed here.",
            Self::Estate => "This estate tool is not available on this server.",
            Self::Administration => "Administration from a viewer is not possible on this server.",
            Self::Reports => "This server takes no reports and sends no postcards.",
            Self::Money => "There is no money on this server.",
            Self::Groups => "Groups are not available on this server.",
            Self::Method => "This server does not have what your viewer has just asked for.",
            Self::UnknownObject => "There is no such object in this region.",
            Self::FarObject => "That object is too far away to sit on.",
            Self::UnknownParcel => "There is no such parcel on this server.",
            Self::UnknownItem => "There is no such item or folder in your inventory.",
            Self::UnknownContent => "That item is not in the object any more.",
        })
    }
}

/// Counts of messages by outcome.
#[derive(Clone, Debug)]
pub struct MessageOutcomes {
    /// By [`MessageName`]; the last row is for numbers that the protocol does not have.
    counts: Box<[[u64; MessageOutcome::ALL.len()]]>,
}

/// Label of messages whose number the protocol does not have.
const UNKNOWN: &str = "unknown";

impl Default for MessageOutcomes {
    fn default() -> Self {
        Self { counts: vec![[0; MessageOutcome::ALL.len()]; MessageName::ALL.len() + 1].into() }
    }
}

impl MessageOutcomes {
    /// Counts a message; `None` stands for a number that the protocol does not have.
    pub fn count(&mut self, name: Option<MessageName>, outcome: MessageOutcome) {
        let row = name.map_or(MessageName::ALL.len(), |name| name as usize);
        self.counts[row][outcome as usize] += 1;
    }

    /// Takes over another one's counts without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.counts.copy_from_slice(&other.counts);
    }

    /// Adds another one's counts.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.as_flattened_mut().iter_mut().zip(other.counts.as_flattened()) {
            *mine += theirs;
        }
    }

    /// Counts above 0: message, outcome and number. At most as many labels as the protocol has messages, independent of clients' input.
    pub fn nonzero_counts(&self) -> impl Iterator<Item = (&'static str, MessageOutcome, u64)> {
        let names = MessageName::ALL.iter().map(|name| name.as_str()).chain([UNKNOWN]);
        names.zip(&self.counts).flat_map(|(name, counts)| {
            let counted = MessageOutcome::ALL.into_iter().zip(*counts);
            counted.filter(|(_, n)| *n > 0).map(move |(outcome, n)| (name, outcome, n))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_every_message_that_is_not_reserved_for_simulators_once() {
        let listed: Vec<MessageName> = MESSAGES.iter().map(|row| row.name).collect();
        let unique: BTreeSet<MessageName> = listed.iter().copied().collect();
        assert_eq!(unique.len(), listed.len(), "a message is listed twice");
        let expected = MessageName::ALL.iter().copied().filter(|name| !name.is_trusted()).collect();
        assert_eq!(unique, expected);
    }

    #[test]
    fn counts_add_up_by_name_and_unknown_numbers_share_one() {
        let mut one = MessageOutcomes::default();
        one.count(Some(MessageName::ChatFromViewer), MessageOutcome::Done);
        one.count(None, MessageOutcome::Dropped);
        let mut both = MessageOutcomes::default();
        both.copy_from(&one);
        both.add(&one);
        let occurred: Vec<_> = both.nonzero_counts().collect();
        assert_eq!(
            occurred,
            [("ChatFromViewer", MessageOutcome::Done, 2), ("unknown", MessageOutcome::Dropped, 2)]
        );
    }

    #[test]
    fn the_page_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol-coverage.md");
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == markdown(),
            "docs/protocol-coverage.md is stale: \
             cargo run -p gateway --example protocol_coverage > docs/protocol-coverage.md"
        );
    }
}
