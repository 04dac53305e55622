//! Additional traffic of a hostile bot.

use super::Agent;
use super::requests::Loudness;
use crate::behavior::{Behavior, BodyPose, BotPosition};
use crate::hostile::{AttackKind, BURST_MAX, Garbage, Hostile, SHOUT_EVERY, TURN_RAD};
use circuit::Reliability;
use glam::Quat;
use ids::Instant;

/// Line of a flood, followed by a number.
const FLOOD_WORDS: &str = "Everything must go, come and buy! No";

impl Agent {
    /// Takes part in an attack, or does not, as it behaves.
    pub(super) fn arm(&mut self) {
        let is_hostile = self.config.behavior == Behavior::Hostile;
        self.hostile = is_hostile.then(|| Hostile::new(AttackKind::of(self.config.number)));
    }

    /// Due time of the next part of an attack. Attacks begin after a normal login and end at the logout.
    pub(super) fn next_attack_at(&self) -> Option<Instant> {
        self.hostile.as_ref().filter(|_| self.is_present())?.poll_timeout()
    }

    /// Sends the due part of an attack.
    pub(super) fn attack(&mut self, now: Instant) {
        if !self.is_present() {
            return;
        }
        let Some(mut hostile) = self.hostile.take() else { return };
        for _ in 0..hostile.take_due(now) {
            let turn = hostile.take_turn();
            match hostile.kind() {
                AttackKind::Garbage => self.send_garbage(turn),
                AttackKind::Updates => self.send_turned(now, turn),
                AttackKind::Chat => {
                    let loudness =
                        if turn.is_multiple_of(SHOUT_EVERY) { Loudness::Shout } else { Loudness::Say };
                    self.send_chat(loudness, &format!("{FLOOD_WORDS} {turn}"));
                }
            }
        }
        self.hostile = Some(hostile);
    }

    fn send_garbage(&mut self, turn: u64) {
        match Garbage::new(turn, &self.identity, &mut self.rng) {
            Garbage::Datagram(datagram) if self.garbage.len() < BURST_MAX as usize => {
                self.garbage.push_back(datagram);
            }
            // The caller has not taken the ones before it.
            Garbage::Datagram(_) => self.stats.unsent += 1,
            Garbage::Message(message) => {
                self.send(Reliability::Unreliable, false, |out| out.extend_from_slice(&message));
            }
        }
    }

    /// An agent update that turns the body to one side or the other.
    fn send_turned(&mut self, now: Instant, turn: u64) {
        let position = self.whereabouts.position(now);
        let spot =
            BotPosition { position: position.truncate(), region_size_m: self.whereabouts.region_size_m() };
        let pose = self.actor.act(now, spot, &mut self.rng);
        let aside = if turn.is_multiple_of(2) { TURN_RAD } else { -TURN_RAD };
        let rotation = pose.rotation * Quat::from_rotation_z(aside);
        self.say_pose(&BodyPose { rotation, ..pose }, position);
    }
}
