//! Looks, hearing and thoughts of the NPCs that are due.

use super::{HALF_HEIGHT_M, NpcCast, NpcCondition, Npcs, OBSERVE_MS, OBSERVE_SHARES, Scratch};
use crate::{cast::ground_of, game::GameState, periods::Span, roster::Roster, setting::WorldSetting};
use behavior::{
    Intent,
    senses::{
        Candidate, EntityId, KindId, Listener, Onlooker, PerceptionCounts, Senses, Sound, SoundKind,
        WorldTime,
    },
};
use glam::Vec3;
use link::{ChatKind, Event, Frame};
use state_hash::mix;

/// Milliseconds between two checks for running visitors.
const STEPS_MS: u64 = 500;
/// Speed above which a visitor is heard running, metres per second.
const RUNNING_M_PER_S: f32 = 4.0;
/// Reach of the sound of steps, metres.
const STEPS_REACH_M: f32 = 12.0;

fn visitor_sound(kind: SoundKind, place: Vec3, reach_m: f32, by: Option<EntityId>) -> Sound {
    Sound { kind, place, reach_m, by, by_kind: KindId::PLAYER, about: None }
}

/// A look is late if it runs more than this after it was due, milliseconds.
const LATE_LOOK_MS: u32 = 200;

/// Minutes of a day.
const DAY_MIN: u64 = 24 * 60;

impl Npcs {
    /// Lists all noticeable avatars: NPCs by number (at infinity when not in the world), then visitors.
    pub(super) fn list_candidates(
        &self,
        cast: &NpcCast,
        roster: &Roster,
        game: &dyn GameState,
        scratch: &mut Scratch,
    ) {
        scratch.candidates.clear();
        let npc = |(legs, role): (&super::Legs, &super::SpawnRole)| Candidate {
            who: legs.entity().unwrap_or(NO_ENTITY),
            kind: role.kind,
            has_fallen: legs.condition != NpcCondition::Up,
            position: if legs.id.is_some() { legs.position() } else { Vec3::INFINITY },
        };
        scratch.candidates.extend(self.legs.iter().zip(&cast.roles).map(npc));
        let has_fallen_visitors = game.has_fallen_visitors();
        let visitor = |(_, presence): (u32, &crate::presence::Presence)| {
            Some(Candidate {
                who: EntityId::new(presence.id.0)?,
                kind: KindId::PLAYER,
                has_fallen: has_fallen_visitors && game.has_fallen(presence.identity.agent),
                position: presence.motion.position,
            })
        };
        scratch.candidates.extend(roster.iter().filter_map(visitor));
    }

    /// Turns visitors' chat and running into sounds.
    pub(super) fn overhear(&mut self, span: Span, roster: &Roster, out: &Frame) {
        for event in &out.events {
            let Event::Chat(chat) = event else { continue };
            let is_said = matches!(chat.kind, ChatKind::Whisper | ChatKind::Say | ChatKind::Shout);
            if is_said && chat.channel == 0 {
                let speaker = roster.slot_of(chat.session).and_then(|slot| roster.get(slot));
                let by = speaker.and_then(|presence| EntityId::new(presence.id.0));
                self.sound(visitor_sound(SoundKind::CHAT, chat.position, chat.radius_m, by));
            }
        }
        if !span.is_due(STEPS_MS, 0) {
            return;
        }
        let runs = |presence: &&crate::presence::Presence| {
            let speed = presence.motion.velocity.truncate().length_squared();
            presence.stance.is_grounded() && speed > RUNNING_M_PER_S * RUNNING_M_PER_S
        };
        for presence in roster.iter().map(|(_, presence)| presence).filter(runs) {
            let by = EntityId::new(presence.id.0);
            self.sound(visitor_sound(SoundKind::STEPS, presence.motion.position, STEPS_REACH_M, by));
        }
    }

    /// Updates the distance to the nearest visitor of the NPCs whose turn it is: distant NPCs think less often.
    pub(super) fn observe(&mut self, cast: &NpcCast, scratch: &Scratch, span: Span) {
        let now = self.now();
        let visitors = &scratch.candidates[self.len()..];
        let is_turn = |share: &u64| span.is_due(OBSERVE_MS, share * OBSERVE_MS / OBSERVE_SHARES);
        for share in (0..OBSERVE_SHARES).filter(is_turn) {
            for legs in self.legs.iter_mut().skip(share as usize).step_by(OBSERVE_SHARES as usize) {
                let at = legs.position();
                let squares = visitors.iter().map(|visitor| visitor.position.distance_squared(at));
                let nearest = squares.min_by(f32::total_cmp).map(libm::sqrtf);
                legs.attention.observe(&cast.policy, nearest, true, now);
            }
        }
    }

    /// Due looks and thoughts, with their intents.
    pub(super) fn think(
        &mut self,
        cast: &NpcCast,
        setting: &WorldSetting,
        scratch: &mut Scratch,
        out: &mut Frame,
    ) {
        let now = self.now();
        let ground = ground_of(&setting.ground.terrain);
        for number in 0..self.len() {
            let legs = &mut self.legs[number];
            if legs.condition != NpcCondition::Up {
                continue;
            }
            let (looks, thinks) = (legs.attention.is_look_due(now), legs.attention.is_think_due(now));
            if looks {
                let is_late = now.stamp().since(legs.attention.look_due_at()) > LATE_LOOK_MS;
                self.counts.late_looks += u64::from(is_late);
                legs.attention.looked(&cast.policy, now);
                self.look_around(cast, number, &scratch.candidates, now, |from, to| {
                    cast.view.is_clear(ground, from, to)
                });
            }
            if thinks {
                self.legs[number].attention.thought(&cast.policy, now);
                let intent = self.thought(cast, number, &scratch.candidates, now, setting.seed);
                self.begin_intent(cast, setting, number, &intent, scratch, out);
            }
        }
    }
}

/// Candidate number of an NPC that is not in the world: never within reach.
const NO_ENTITY: EntityId = EntityId(std::num::NonZeroU32::MAX);

impl Npcs {
    fn look_around(
        &mut self,
        cast: &NpcCast,
        number: usize,
        candidates: &[Candidate],
        now: WorldTime,
        mut is_clear: impl FnMut(Vec3, Vec3) -> bool,
    ) {
        let (legs, head, role) = (&mut self.legs[number], &mut self.heads[number], &cast.roles[number]);
        let Some(me) = legs.entity() else { return };
        let behavior = head.mind.behavior();
        let eyes = Onlooker {
            me,
            position: legs.position(),
            facing: legs.facing,
            interest: cast.behaviors.interest(behavior, role.kind),
            target: head.mind.target(),
        };
        let mut counts = PerceptionCounts::default();
        legs.head_changed = true;
        let sight = &cast.actor(role.kind).sight;
        head.perception.list_targets(&eyes, sight, candidates, now, &mut is_clear, &mut counts);
        self.counts.looks += counts.looks;
        self.counts.rays += counts.rays;
    }

    fn thought(
        &mut self,
        cast: &NpcCast,
        number: usize,
        candidates: &[Candidate],
        now: WorldTime,
        seed: u64,
    ) -> Intent {
        let (legs, head, role) = (&mut self.legs[number], &mut self.heads[number], &cast.roles[number]);
        let mut intent = Intent::default();
        let Some(me) = legs.entity() else { return intent };
        legs.head_changed = true;
        let actor = cast.actor(role.kind);
        let ears = Listener {
            me,
            position: legs.position(),
            keenness: actor.sight.hearing,
            interest: cast.behaviors.hearing(head.mind.behavior()),
        };
        head.perception.listen(ears, &self.sounds, now, &mut PerceptionCounts::default());
        let is_here = |who: EntityId| candidates.iter().any(|candidate| candidate.who == who);
        let senses = Senses {
            position: legs.position() - Vec3::Z * HALF_HEIGHT_M,
            kind: role.kind,
            health: f32::from(head.health) / f32::from(actor.health.max(1)),
            minute: minute_of(now, cast.day_s),
            journey: head.journey,
            target_is_gone: head.mind.target().is_some_and(|target| !is_here(target)),
            is_refused: false,
            seen: head.perception.seen(),
            heard: head.perception.heard(),
            hurt: head.perception.hurt(),
        };
        let mut random = seed ^ mix((number as u64) << 40 ^ now.0);
        let mut draw = || {
            random = mix(random);
            (random >> 32) as u32
        };
        head.mind.think(&cast.behaviors, &senses, now, &mut draw, &mut intent);
        self.counts.thoughts += 1;
        intent
    }
}

/// Time of day, minutes since midnight. A world begins at eight in the morning.
fn minute_of(now: WorldTime, day_s: u32) -> u16 {
    const DAWN_MIN: u64 = 8 * 60;
    let passed = now.0 * DAY_MIN / (u64::from(day_s) * 1_000);
    ((passed + DAWN_MIN) % DAY_MIN) as u16
}
