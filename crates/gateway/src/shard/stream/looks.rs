//! Animations and appearances of avatars.

use super::Turn;
use circuit::Reliability;
use replicate::Place as At;
use std::time::Duration;
use wire::fanout;

/// Periods of the searches for near avatars with other animations, and with other appearances: a walk through cold memory each.
const ANIMATIONS_PERIOD: Duration = Duration::from_millis(200);
const LOOKS_PERIOD: Duration = Duration::from_millis(400);
/// World ticks after which a shown avatar counts as here to stay, and its looks are worth a kilobyte: a second at 20 Hz.
const SETTLED_TICKS: u32 = 20;
/// Appearances in one send: about a kilobyte each.
const APPEARANCES_PER_SEND: usize = 8;
/// Animations of near avatars in one send.
const NEAR_ANIMATIONS_PER_SEND: usize = 24;
/// Animations of others in a second, unreliable.
const FAR_ANIMATIONS_PER_S: usize = 1;
/// Unreliable animations are repeated this often.
const FAR_ANIMATION_REPEATS: u8 = 1;

impl Turn<'_> {
    /// Sends animations of the own avatar and the nearest, reliable; those of the nearest within a budget.
    pub(super) fn animations(&mut self) {
        if self.now < self.client.next_animations {
            return;
        }
        self.client.next_animations = self.now + ANIMATIONS_PERIOD;
        let near = self.near();
        for at in 0..near.start as At {
            if self.is_due_animation(at) {
                self.send_animation(at, Reliability::Reliable);
            }
        }
        let mut due = std::mem::take(self.by_distance);
        due.clear();
        let due_at = (near.start as At..near.end as At).filter(|&at| self.is_due_animation(at));
        due.extend(due_at.map(|at| (self.client.viewer.shown()[at as usize].distance, at)));
        due.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, at) in due.iter().take(NEAR_ANIMATIONS_PER_SEND) {
            // The state at its turn is sent; earlier ones are skipped.
            if !self.client.animations.try_spend(self.now) {
                break;
            }
            self.send_animation(at, Reliability::Reliable);
        }
        *self.by_distance = due;
    }

    /// Sends [`FAR_ANIMATIONS_PER_S`] animations of the others each second, in turn: with two in every send, animations were a third of all datagrams that
    /// 1,000 walking bots received (1.73 of 5.3 million, 2-core VM).
    pub(super) fn far_animations(&mut self) {
        let (first, behind) = (self.near().end, self.client.viewer.shown().len());
        let mut left = FAR_ANIMATIONS_PER_S;
        for _ in first..behind {
            let at = self.client.animation_cursor;
            let at = if (first..behind).contains(&(at as usize)) { at } else { first as At };
            if self.is_due_animation(at) {
                if left == 0 {
                    return;
                }
                left -= 1;
                self.send_animation(at, Reliability::Unreliable);
            }
            self.client.animation_cursor = at + 1;
        }
    }

    fn is_due_animation(&self, at: At) -> bool {
        let viewer = &self.client.viewer;
        let (shown, history) = (&viewer.shown()[at as usize], &viewer.histories()[at as usize]);
        let hot = &self.replica.hot()[shown.slot as usize];
        shown.is_sent() && (history.animation_serial != hot.animation_serial || history.animation_repeats > 0)
    }

    fn send_animation(&mut self, at: At, reliability: Reliability) {
        let index = self.slot(at);
        let serial = self.replica.hot()[index as usize].animation_serial;
        let Some(slot) = self.replica.slot(index) else { return };
        if self.client.circuit.send(reliability, &slot.animation, false).is_err() {
            self.counters.messages_refused += 1;
            return;
        }
        self.counters.animations_sent += 1;
        let history = self.client.viewer.history_mut(at);
        history.animation_repeats = match reliability {
            Reliability::Reliable => 0,
            Reliability::Unreliable if history.animation_serial != serial => FAR_ANIMATION_REPEATS,
            Reliability::Unreliable => history.animation_repeats.saturating_sub(1),
        };
        history.animation_serial = serial;
    }

    /// Sends appearances of the nearest, without the own avatar, whose appearance comes from its client.
    pub(super) fn appearances(&mut self) {
        if self.now < self.client.next_looks {
            return;
        }
        self.client.next_looks = self.now + LOOKS_PERIOD;
        let tick = self.replica.tick.0 as u32;
        let mut left = APPEARANCES_PER_SEND;
        for at in self.near() {
            if left == 0 || self.client.circuit.budget_bytes(self.now) == 0 {
                return;
            }
            let (shown, history) = (self.client.viewer.shown()[at], self.client.viewer.histories()[at]);
            let hot = &self.replica.hot()[shown.slot as usize];
            let settled = tick.wrapping_sub(history.since) >= SETTLED_TICKS;
            if !shown.is_sent() || !settled || history.appearance_serial == hot.appearance_serial {
                continue;
            }
            let slot = self.replica.slot(shown.slot);
            let Some((agent, look)) = slot.and_then(|slot| Some((slot.agent, slot.appearance.as_ref()?)))
            else {
                continue;
            };
            if !self.client.looks.try_spend(self.now) {
                return;
            }
            let (entry, params) = (&look.texture_entry, &look.visual_params);
            self.body.clear();
            fanout::write_appearance(agent, entry, params, look.cof_version, self.body);
            if self.client.circuit.send(Reliability::Reliable, self.body, true).is_err() {
                self.counters.messages_refused += 1;
                return;
            }
            left -= 1;
            self.counters.appearances_sent += 1;
            self.client.viewer.history_mut(at as At).appearance_serial = hot.appearance_serial;
        }
    }
}
