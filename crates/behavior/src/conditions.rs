//! Evaluation of conditions, with the entity or place that they found.

use super::{
    node::{Dm, People, Predicate, Tenths},
    think::{ConditionMatch, Thought},
};
use crate::senses::{KindSet, Sighting};

impl<R: FnMut() -> u32> Thought<'_, R> {
    pub(super) fn evaluate(&self, condition: Predicate) -> (bool, Option<ConditionMatch>) {
        let senses = self.senses;
        let holds = match condition {
            Predicate::Sees { whom, within, last } => return found(self.nearest_seen(whom, within, last)),
            Predicate::Hears { sound, from, within, last } => {
                return found(self.heard(sound, from, within, last));
            }
            Predicate::Hurt { last } => return self.hurt(last),
            Predicate::HealthBelow { percent } => senses.health * 100.0 < f32::from(percent),
            Predicate::HealthAbove { percent } => senses.health * 100.0 > f32::from(percent),
            Predicate::Time { from, to } if from <= to => (from..to).contains(&senses.minute),
            Predicate::Time { from, to } => senses.minute >= from || senses.minute < to,
            Predicate::Within { spot, far } => {
                self.place(spot).is_some_and(|place| is_within(place.distance_squared(senses.position), far))
            }
            // A missing position is not far away either.
            Predicate::Beyond { spot, far } => {
                self.place(spot).is_some_and(|place| !is_within(place.distance_squared(senses.position), far))
            }
            Predicate::HasTarget => self.mind.target.is_some(),
            Predicate::TargetIs { whom } => {
                self.mind.target.is_some() && self.kinds(whom).has(self.mind.target_kind)
            }
            Predicate::Carries { resource, at_least } => {
                self.mind.amount >= at_least && self.mind.amount > 0 && self.mind.carried == resource
            }
            Predicate::CarriesNothing => self.mind.amount == 0,
        };
        (holds, None)
    }

    /// The kinds that are meant. Of `target`, all: the id is compared as well.
    fn kinds(&self, whom: People) -> KindSet {
        match whom {
            People::Anyone | People::Target => KindSet::ALL,
            People::Enemy => self.set.enemies(self.senses.kind),
            People::Friend => self.set.friends(self.senses.kind),
            People::Kinds(number) => self.set.mask(number),
        }
    }

    /// The nearest of the entities seen lately; the target if it is among several, so that no NPC leaves its target for a passer-by.
    pub(super) fn nearest_seen(&self, whom: People, within: Dm, last: Tenths) -> Option<ConditionMatch> {
        let kinds = self.kinds(whom);
        let mut nearest: Option<(f32, &Sighting)> = None;
        for sighting in self.senses.seen {
            let is_target = self.mind.target == Some(sighting.who);
            let is_late = !sighting.is_fresh && self.now.since(sighting.seen_at) > last.ms();
            if is_late
                || sighting.has_fallen
                || !kinds.has(sighting.kind)
                || whom == People::Target && !is_target
            {
                continue;
            }
            let square = sighting.place.distance_squared(self.senses.position);
            if !is_within(square, within) {
                continue;
            }
            let rank = if is_target { -1.0 } else { square };
            if nearest.is_none_or(|(other, _)| rank < other) {
                nearest = Some((rank, sighting));
            }
        }
        nearest.map(|(_, &Sighting { who, kind, place, seen_at, .. })| ConditionMatch {
            who: Some(who),
            kind,
            place,
            at: seen_at,
        })
    }

    fn heard(&self, sound: u8, from: People, within: Dm, last: Tenths) -> Option<ConditionMatch> {
        let kinds = self.kinds(from);
        let heard = self.senses.heard.iter().find(|heard| {
            heard.sound.0 == sound
                && kinds.has(heard.by_kind)
                && self.now.since(heard.heard_at) <= last.ms()
                && (within.0 == 0 || is_within(heard.place.distance_squared(self.senses.position), within))
                && (from != People::Target || heard.by.is_some() && heard.by == self.mind.target)
        })?;
        // An NPC that is called to a target deals with the target, not with the caller.
        Some(match heard.about {
            Some(about) => ConditionMatch {
                who: Some(about.who),
                kind: about.kind,
                place: about.place,
                at: heard.heard_at,
            },
            None => {
                ConditionMatch { who: heard.by, kind: heard.by_kind, place: heard.place, at: heard.heard_at }
            }
        })
    }

    fn hurt(&self, last: Tenths) -> (bool, Option<ConditionMatch>) {
        match self.senses.hurt {
            Some(hurt) if self.now.since(hurt.at) <= last.ms() => {
                // A fall hurts without an attacker.
                let found = hurt.by.map(|by| ConditionMatch {
                    who: Some(by),
                    kind: hurt.kind,
                    place: hurt.place,
                    at: hurt.at,
                });
                (true, found)
            }
            _ => (false, None),
        }
    }
}

fn found(found: Option<ConditionMatch>) -> (bool, Option<ConditionMatch>) {
    (found.is_some(), found)
}

fn is_within(square: f32, far: Dm) -> bool {
    square <= far.metres() * far.metres()
}
