//! Messages of a client that has no avatar yet: chat, instant messages, teleports, changes of objects and land, and other requests that act through the
//! avatar.
//!
//! A client may send them as soon as its circuit is open, and its avatar arrives some ticks later; and a world that has restarted lacks
//! the avatar for some ticks, too. They wait here in the order of arrival and are dispatched once the client has its avatar's position.
//! The bound is [`HELD_MAX`] messages and [`HELD_BYTES_MAX`] bytes; further ones are refused, and a notice states their number
//! (`notices.rs`). Effects and the ways of touches are at most [`HELD_EFFECTS_MAX`] of them, and further ones are left out without a notice, as those above
//! the share of a client that has arrived: nothing depends on them.
//!
//! On a circuit that the avatar has left for another one, all messages but those about the circuit itself go through the hub to its
//! current circuit, where they are answered. Those about objects and land are meant in the region of the circuit that they came on, and are refused there.
//! Start with [`Shard::dispatch_later`].

use super::counters::Refused;
use super::incoming::Incoming;
use super::notices::NoticeKind;
use super::outbox::Outbox;
use super::progress::Stage;
use super::{ClientIndex, Shard};
use crate::coverage::MessageOutcome;
use crate::mail::{Closed, FromShard, RawMessage, Request};
use circuit::Received;
use ids::Instant;
use link::CircuitKey;
use std::collections::VecDeque;
use wire::messages::*;

/// Messages held for one client.
pub(super) const HELD_MAX: usize = 64;
/// Bytes of their bodies.
pub(super) const HELD_BYTES_MAX: usize = 32 * 1024;
/// Effects and ways of touches among them, so that they leave room for requests: a client's share of effects is about as many.
pub(super) const HELD_EFFECTS_MAX: usize = 16;

/// Messages that wait for a client's avatar, oldest first.
#[derive(Debug, Default)]
pub(super) struct HeldMessages {
    messages: VecDeque<RawMessage>,
    bytes: usize,
    n_effects: usize,
}

/// Outcome of keeping a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    Kept,
    /// There is no room for it.
    Full,
    /// There is no room for an effect, which no client misses.
    LeftOut,
}

impl HeldMessages {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Keeps a message, if there is room.
    fn push(&mut self, number: MessageNumber, body: &[u8]) -> Keeping {
        let is_effect = is_effect(number);
        let has_room = self.messages.len() < HELD_MAX && self.bytes + body.len() <= HELD_BYTES_MAX;
        if is_effect && (!has_room || self.n_effects >= HELD_EFFECTS_MAX) {
            return Keeping::LeftOut;
        }
        if !has_room {
            return Keeping::Full;
        }
        self.bytes += body.len();
        self.n_effects += usize::from(is_effect);
        self.messages.push_back(RawMessage { number, body: body.into() });
        Keeping::Kept
    }
}

/// True if a message waits for the client's avatar.
const fn needs_avatar(number: MessageNumber) -> bool {
    acts_as_avatar(number) || changes_objects(number) || changes_land(number) || is_effect(number)
}

/// True if a message acts through the client's avatar, or on its behalf among other users, wherever the avatar is.
const fn acts_as_avatar(number: MessageNumber) -> bool {
    matches!(
        number,
        AgentAnimation::NUMBER
            | AgentRequestSit::NUMBER
            | AgentSetAppearance::NUMBER
            | SetAlwaysRun::NUMBER
            | ChatFromViewer::NUMBER
            | ImprovedInstantMessage::NUMBER
            | StartLure::NUMBER
            | TeleportLocationRequest::NUMBER
            | TeleportRequest::NUMBER
            | TeleportLandmarkRequest::NUMBER
            | TeleportLureRequest::NUMBER
            | TeleportCancel::NUMBER
            | SetStartLocationRequest::NUMBER
            | RezSingleAttachmentFromInv::NUMBER
            | RezMultipleAttachmentsFromInv::NUMBER
            | DetachAttachmentIntoInv::NUMBER
            | RemoveAttachment::NUMBER
    )
}

/// True if a message makes, changes, touches or takes objects of the region, or puts some there.
const fn changes_objects(number: MessageNumber) -> bool {
    matches!(
        number,
        DeRezObject::NUMBER
            | MoveTaskInventory::NUMBER
            | MultipleObjectUpdate::NUMBER
            | ObjectAdd::NUMBER
            | ObjectAttach::NUMBER
            | ObjectBuy::NUMBER
            | ObjectClickAction::NUMBER
            | ObjectDeGrab::NUMBER
            | ObjectDelete::NUMBER
            | ObjectDelink::NUMBER
            | ObjectDescription::NUMBER
            | ObjectDetach::NUMBER
            | ObjectDrop::NUMBER
            | ObjectDuplicate::NUMBER
            | ObjectDuplicateOnRay::NUMBER
            | ObjectExtraParams::NUMBER
            | ObjectFlagUpdate::NUMBER
            | ObjectGrab::NUMBER
            | ObjectGroup::NUMBER
            | ObjectImage::NUMBER
            | ObjectIncludeInSearch::NUMBER
            | ObjectLink::NUMBER
            | ObjectMaterial::NUMBER
            | ObjectName::NUMBER
            | ObjectOwner::NUMBER
            | ObjectPermissions::NUMBER
            | ObjectPosition::NUMBER
            | ObjectRotation::NUMBER
            | ObjectSaleInfo::NUMBER
            | ObjectScale::NUMBER
            | ObjectShape::NUMBER
            | Redo::NUMBER
            | RemoveTaskInventory::NUMBER
            | RezObject::NUMBER
            | RezObjectFromNotecard::NUMBER
            | RezRestoreToWorld::NUMBER
            | RezScript::NUMBER
            | Undo::NUMBER
            | UpdateTaskInventory::NUMBER
    )
}

/// True if a message changes the land of the region, or its estate.
const fn changes_land(number: MessageNumber) -> bool {
    matches!(
        number,
        EstateOwnerMessage::NUMBER
            | GodUpdateRegionInfo::NUMBER
            | ModifyLand::NUMBER
            | ParcelAccessListUpdate::NUMBER
            | ParcelBuy::NUMBER
            | ParcelDivide::NUMBER
            | ParcelGodForceOwner::NUMBER
            | ParcelJoin::NUMBER
            | ParcelPropertiesUpdate::NUMBER
            | ParcelReclaim::NUMBER
            | ParcelRelease::NUMBER
            | ParcelReturnObjects::NUMBER
            | ParcelSetOtherCleanTime::NUMBER
            | UndoLand::NUMBER
    )
}

/// True if nothing depends on a message, and the client sends the like again.
const fn is_effect(number: MessageNumber) -> bool {
    matches!(number, ObjectGrabUpdate::NUMBER | SoundTrigger::NUMBER | ViewerEffect::NUMBER)
}

/// True if a message is about the circuit that it comes on, or an arrival there.
const fn is_about_circuit(number: MessageNumber) -> bool {
    matches!(
        number,
        AgentUpdate::NUMBER
            | AgentPause::NUMBER
            | AgentResume::NUMBER
            | AgentThrottle::NUMBER
            | CloseCircuit::NUMBER
            | CompleteAgentMovement::NUMBER
            | OpenCircuit::NUMBER
            | RegionHandshakeReply::NUMBER
            | RequestRegionInfo::NUMBER
            | UseCircuitCode::NUMBER
    )
}

impl Shard {
    /// Keeps a message that needs an avatar while there is none, and hands it on when the avatar is behind another circuit. True when
    /// nothing else is to be done with it.
    pub(super) fn dispatch_later(&mut self, at: &mut Incoming<'_>, received: &Received<'_>) -> bool {
        let number = received.number;
        let client = self.client(at.index);
        if let Stage::Leaving(_, why) = client.stage {
            // A position is meant in the region of the circuit that it came on.
            let is_of_circuit = number == SetStartLocationRequest::NUMBER && why == Closed::Asked;
            if !is_of_circuit && why == Closed::Asked {
                self.hand_on_late(at, received);
            }
            return !is_of_circuit;
        }
        // None is dispatched before an earlier one.
        let waits = client.is_arriving() || !client.held.is_empty();
        if !needs_avatar(number) || !waits {
            return false;
        }
        match client.held.push(number, received.body) {
            Keeping::Kept => {}
            Keeping::LeftOut => self.outcomes.count(MessageName::of(number), MessageOutcome::Ignored),
            Keeping::Full => {
                self.refuse_flood(number);
                self.notify(at.now, at.index, NoticeKind::Unkept, at.out);
            }
        }
        true
    }

    /// Refuses a change while the client has no avatar to make it. Messages wait for the avatar, requests over HTTP do not.
    pub(super) fn refuse_without_avatar(&mut self, at: &mut Incoming<'_>) -> MessageOutcome {
        self.notify(at.now, at.index, NoticeKind::NoAvatar, at.out);
        MessageOutcome::Refused
    }

    /// The avatar is in the world: held messages are dispatched.
    pub(super) fn dispatch_held(&mut self, now: Instant, index: ClientIndex, out: &mut Outbox) {
        let held = std::mem::take(&mut self.client(index).held);
        for message in &held.messages {
            self.dispatch_raw(now, index, message, out);
        }
    }

    /// A message that came on an earlier circuit of the session.
    pub(super) fn on_handed_on(
        &mut self,
        now: Instant,
        circuit: CircuitKey,
        message: &RawMessage,
        out: &mut Outbox,
    ) {
        let Some(&index) = self.by_circuit.get(&circuit) else { return };
        let number = message.number;
        if changes_objects(number) || changes_land(number) {
            self.outcomes.count(MessageName::of(number), MessageOutcome::Refused);
            self.notify(now, index, NoticeKind::Elsewhere, out);
        } else if is_effect(number) {
            self.outcomes.count(MessageName::of(number), MessageOutcome::Ignored);
        } else {
            self.dispatch_raw(now, index, message, out);
        }
    }

    /// Messages held for an avatar follow it when the circuit ends.
    pub(super) fn hand_on_held(&mut self, index: ClientIndex) {
        let client = self.client(index);
        let (key, held) = (client.key(), std::mem::take(&mut client.held));
        let requests = held.messages.into_iter().map(|raw| FromShard::Request(key, Request::HandOn(raw)));
        self.mail.extend(requests);
    }

    /// A message on a circuit that the server has ended. Clients send on the old circuit until they hear that the avatar has arrived
    /// behind the new one.
    fn hand_on_late(&mut self, at: &mut Incoming<'_>, received: &Received<'_>) {
        let number = received.number;
        if is_about_circuit(number) {
            return;
        }
        let client = self.client(at.index);
        if !client.asks.try_spend(at.now) {
            self.refuse_flood(number);
            self.notify(at.now, at.index, NoticeKind::Flood, at.out);
            return;
        }
        let raw = RawMessage { number, body: received.body.into() };
        let request = FromShard::Request(client.key(), Request::HandOn(raw));
        self.mail.push(request);
    }

    fn dispatch_raw(&mut self, now: Instant, index: ClientIndex, message: &RawMessage, out: &mut Outbox) {
        // The sequence number matters to AgentUpdate alone, which is never held.
        assert!(message.number != AgentUpdate::NUMBER, "agent updates are not held");
        let received = Received { sequence: 0, reliable: true, number: message.number, body: &message.body };
        self.dispatch(now, index, &received, out);
    }

    /// Counts a message above a bound.
    fn refuse_flood(&mut self, number: MessageNumber) {
        self.counters.refuse(Refused::Flood);
        self.outcomes.count(MessageName::of(number), MessageOutcome::Dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_bytes_are_bounded() {
        let mut held = HeldMessages::default();
        let is_kept = |keeping: &Keeping| *keeping == Keeping::Kept;
        let taken = (0..100).map(|_| held.push(ChatFromViewer::NUMBER, b"hello")).filter(is_kept).count();
        assert_eq!((taken, held.push(ObjectAdd::NUMBER, b"box")), (HELD_MAX, Keeping::Full));
        let mut held = HeldMessages::default();
        let taken =
            (0..100).map(|_| held.push(AgentSetAppearance::NUMBER, &[0; 4_096])).filter(is_kept).count();
        assert_eq!(taken, HELD_BYTES_MAX / 4_096);
    }

    #[test]
    fn effects_leave_room_for_requests() {
        let mut held = HeldMessages::default();
        let effects: Vec<Keeping> = (0..100).map(|_| held.push(ViewerEffect::NUMBER, b"beam")).collect();
        assert!(effects[..HELD_EFFECTS_MAX].iter().all(|keeping| *keeping == Keeping::Kept));
        assert!(effects[HELD_EFFECTS_MAX..].iter().all(|keeping| *keeping == Keeping::LeftOut));
        let n_left = HELD_MAX - HELD_EFFECTS_MAX;
        assert!((0..n_left).all(|_| held.push(ObjectAdd::NUMBER, b"box") == Keeping::Kept));
        assert_eq!(held.push(ObjectAdd::NUMBER, b"box"), Keeping::Full);
    }
}
