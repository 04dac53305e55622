//! Avatars of a world, each in a fixed slot until it leaves.
//!
//! Phases walk the slots in order, and that order decides which avatar yields: so the slot of a newcomer is the lowest free one, which
//! follows from the state alone and survives a snapshot.

use crate::presence::Presence;
use ids::SessionKey;
use record::Part;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

/// Presences by slot and by session.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    /// Sum of all presences' hashes, as of when each was last hashed.
    hash: u64,
    slots: Vec<Option<Presence>>,
    free: BinaryHeap<Reverse<u32>>,
    by_session: BTreeMap<SessionKey, u32>,
}

impl Roster {
    /// The record of its slots in snapshots.
    pub(crate) const PART: Part = Part::new(*b"AVAT", "avatars");

    /// Takes slots as [`Roster::slots`] gave them; `None` when a session is there twice.
    pub(crate) fn from_slots(slots: Vec<Option<Presence>>) -> Option<Self> {
        let mut roster = Self::default();
        for (slot, presence) in (0u32..).zip(&slots) {
            match presence {
                None => roster.free.push(Reverse(slot)),
                Some(presence) => {
                    if roster.by_session.insert(presence.identity.session, slot).is_some() {
                        return None;
                    }
                }
            }
        }
        roster.slots = slots;
        Some(roster)
    }

    /// Hash of all that decides the visitors' future, as of the last [`Roster::rehash`] of each.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// Adds differences between former and new hashes of presences.
    pub(crate) const fn rehash(&mut self, difference: u64) {
        self.hash = self.hash.wrapping_add(difference);
    }

    pub(crate) fn len(&self) -> usize {
        self.by_session.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_session.is_empty()
    }

    /// All slots, the free ones too.
    pub(crate) fn slots(&self) -> &[Option<Presence>] {
        &self.slots
    }

    pub(crate) fn slot_of(&self, session: SessionKey) -> Option<u32> {
        self.by_session.get(&session).copied()
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&Presence> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Presence> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn of_session_mut(&mut self, session: SessionKey) -> Option<&mut Presence> {
        let slot = self.slot_of(session)?;
        self.get_mut(slot)
    }

    /// In slot order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Presence)> {
        (0u32..).zip(&self.slots).filter_map(|(slot, presence)| Some((slot, presence.as_ref()?)))
    }

    /// In slot order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Presence)> {
        (0u32..).zip(&mut self.slots).filter_map(|(slot, presence)| Some((slot, presence.as_mut()?)))
    }

    /// Adds a presence that is not in the roster yet.
    pub(crate) fn insert(&mut self, presence: Presence) -> u32 {
        let session = presence.identity.session;
        let slot = match self.free.pop() {
            Some(Reverse(slot)) => {
                self.slots[slot as usize] = Some(presence);
                slot
            }
            None => {
                self.slots.push(Some(presence));
                u32::try_from(self.slots.len() - 1).expect("there are fewer slots than local ids")
            }
        };
        let former = self.by_session.insert(session, slot);
        assert!(former.is_none(), "{session:?} was already in slot {former:?}");
        slot
    }

    pub(crate) fn remove(&mut self, session: SessionKey) -> Option<Presence> {
        let slot = self.by_session.remove(&session)?;
        self.free.push(Reverse(slot));
        let presence = self.slots[slot as usize].take();
        assert!(presence.is_some(), "{session:?} is listed in slot {slot}, which is empty");
        self.hash = self.hash.wrapping_sub(presence.as_ref().map_or(0, |presence| presence.hashes.whole));
        if self.by_session.is_empty() {
            // Newcomers get the lowest slots either way; the memory of a crowd that has left is not kept for them.
            (self.slots, self.free) = (Vec::new(), BinaryHeap::new());
        }
        presence
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;
    use ids::{AgentId, LocalId, Uuid};
    use link::Enter;

    fn presence(session: u64, id: u32) -> Presence {
        let enter = Enter {
            agent: AgentId(Uuid::from_u128(1)),
            first_name: "Ada".into(),
            last_name: "Resident".into(),
            position: Vec3::splat(50.0),
            look_at: Vec3::X,
            flying: false,
            appearance: None,
        };
        Presence::new(SessionKey(session), LocalId(id), enter)
    }

    #[test]
    #[should_panic(expected = "was already in slot Some(0)")]
    fn a_session_has_one_avatar_in_a_world() {
        let mut roster = Roster::default();
        roster.insert(presence(7, 1));
        roster.insert(presence(7, 2));
    }
}
