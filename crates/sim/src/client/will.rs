//! Intents of a client: free in the storm, ordered afterwards.

use super::{Client, ClientState, WALKERS_OF_10, Word};
use crate::faults::Faults;
use crate::setting::Setting;
use crate::streams::duration;
use bots::agent::{Agent, Loudness};
use bots::behavior::Behavior;
use glam::Vec3;
use ids::{Instant, RegionHandle};
use std::time::Duration;

/// Time between two things that a client does of its own accord, at least and at most.
const WHIM: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(4));
/// A crowd gives every client more to hear.
const CROWD_WHIM: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(9));
/// Period of checks of the healing phase's task.
pub(super) const DUTY: Duration = Duration::from_millis(200);
/// Margin at a region's border without teleports, metres.
const MARGIN_M: f32 = 10.0;

/// Current task of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// As they like: walk, talk, travel, leave, crash.
    Roam,
    /// Come back and stand still.
    Gather,
    /// Show that everything works: some travel once more, every client speaks and is heard.
    Prove,
}

/// Progress of a client in [`Mood::Prove`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    Travel,
    Arrive,
    Say,
    Hear(String),
    Done,
}

impl Client {
    pub(crate) fn set_mood(&mut self, now: Instant, mood: Mood) {
        self.mood = mood;
        self.next_whim_at = now;
        if let ClientState::Away { until } = &mut self.state {
            *until = now.min(*until);
        }
        if let ClientState::In(session) = &mut self.state
            && mood == Mood::Gather
            && (self.index % 10 < WALKERS_OF_10 || self.setting.builds(self.index))
        {
            // The others keep still as they are: nothing that they do hides a stop that a client missed in the storm.
            session.bot.behave(Behavior::Stand);
        }
    }

    pub(super) fn act(&mut self, now: Instant, faults: &Faults) {
        match self.mood {
            Mood::Roam => {
                self.plan_whim(now);
                self.follow_whim(now, faults);
            }
            Mood::Gather => self.next_whim_at = now + DUTY,
            Mood::Prove => {
                self.next_whim_at = now + DUTY;
                self.prove();
            }
        }
    }

    pub(super) fn plan_whim(&mut self, now: Instant) {
        let (least, most) = match self.setting {
            Setting::Travel | Setting::Village | Setting::Site => WHIM,
            Setting::Crowd => CROWD_WHIM,
        };
        self.next_whim_at = now + duration(&mut self.will, least, most);
    }

    fn follow_whim(&mut self, now: Instant, faults: &Faults) {
        if !self.is_settled() {
            return;
        }
        match self.will.next() % 100 {
            0..65 => {
                let loudness = match self.will.next() % 10 {
                    0 => Loudness::Whisper,
                    1..9 => Loudness::Say,
                    _ => Loudness::Shout,
                };
                self.say_next_line(loudness);
            }
            65..75 => {
                if let Some(other) = self.other_region() {
                    self.travel(other);
                }
            }
            // The event that ends such a teleport would get lost with its frame, and the client wait for it.
            75..78 if faults.frame_loss == 0.0 => self.travel(self.region()),
            80..82 => {
                if let ClientState::In(session) = &mut self.state {
                    session.bot.log_out(now);
                }
            }
            // A crash: the process is gone, and the server hears nothing of it.
            82..84 => self.go_away(now),
            _ => {}
        }
    }

    fn prove(&mut self) {
        let ClientState::In(session) = &self.state else { return };
        if !self.is_settled() {
            return;
        }
        let next = match session.proof {
            Proof::Travel => {
                self.travel(self.other_region().unwrap_or_else(|| self.region()));
                Proof::Arrive
            }
            // Settled means that the journey has ended.
            Proof::Arrive | Proof::Say => Proof::Hear(self.say_next_line(Loudness::Whisper)),
            Proof::Hear(_) | Proof::Done => return,
        };
        if let ClientState::In(session) = &mut self.state {
            session.proof = next;
        }
    }

    fn say_next_line(&mut self, loudness: Loudness) -> String {
        let text = format!("{}.{}", self.index, self.n_said);
        self.n_said += 1;
        if let ClientState::In(session) = &mut self.state {
            session.bot.send_chat(loudness, &text);
            let visit = self.visits.len() - 1;
            self.words.push(Word::Said { visit, text: text.clone() });
        }
        text
    }

    fn travel(&mut self, to: RegionHandle) {
        let edge_m = self.setting.region_m() as f32;
        let mut coordinate = || MARGIN_M + (edge_m - 2.0 * MARGIN_M) * self.will.unit() as f32;
        let position = Vec3::new(coordinate(), coordinate(), 0.0);
        if let ClientState::In(session) = &mut self.state {
            session.bot.teleport_to(to, position);
            session.travels_to = Some(to);
        }
    }

    fn region(&self) -> RegionHandle {
        self.bot().map_or(self.places[0], Agent::region)
    }

    /// Destination of travellers; a crowd stays.
    fn other_region(&self) -> Option<RegionHandle> {
        let other = if self.region() == self.places[0] { self.places[1] } else { self.places[0] };
        (self.setting != Setting::Crowd).then_some(other)
    }
}
