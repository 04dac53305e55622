//! A world that is just enough for behaviours to show themselves: a plane with a few walls to hide behind.
//!
//! Actors go straight to where they intend to be and pass through each other. Time passes in ticks of 50 ms; [`Attention`]
//! decides when an actor looks and thinks, as in a real world.

use behavior::{
    BehaviorSet, Deed, Facing, Go, Intent, Mind, Pace,
    senses::{
        Acuity, Attention, Candidate, DetailPolicy, EntityId, Journey, KindId, Listener, MoveProgress,
        Onlooker, Perception, PerceptionCounts, Senses, Sound, SoundKind, Sounds, WorldTime,
    },
};
use glam::{Vec2, Vec3};

pub(crate) const TICK_MS: u64 = 50;
const GROUND_M: f32 = 20.0;

/// An avatar on the plane: a player when it has no mind.
pub(crate) struct Actor {
    pub(crate) id: EntityId,
    pub(crate) kind: KindId,
    pub(crate) position: Vec3,
    pub(crate) facing: Vec2,
    pub(crate) health: f32,
    pub(crate) speed: f32,
    /// Of a player: where it is going.
    pub(crate) goal: Option<Vec3>,
    pub(crate) mind: Option<Mind>,
    pub(crate) intent: Intent,
    perception: Perception,
    attention: Attention,
    journey: Journey,
}

pub(crate) struct Plane {
    pub(crate) set: BehaviorSet,
    pub(crate) actors: Vec<Actor>,
    pub(crate) now: WorldTime,
    /// World time of one day.
    pub(crate) day_ms: u64,
    /// The two ends of each; a wall hides actors behind it.
    pub(crate) walls: Vec<(Vec2, Vec2)>,
    /// (minute of the day, actor, deed): everything that was said, struck and done.
    pub(crate) log: Vec<(u16, u32, String)>,
    pub(crate) counts: PerceptionCounts,
    pub(crate) thoughts: u64,
    sounds: Sounds,
    random: u32,
}

impl Plane {
    /// An empty plane at midnight, with days of `day_min` minutes.
    pub(crate) fn new(set: BehaviorSet, day_min: u64) -> Self {
        Self {
            set,
            actors: Vec::new(),
            now: WorldTime(0),
            day_ms: day_min * 60_000,
            walls: Vec::new(),
            log: Vec::new(),
            counts: PerceptionCounts::default(),
            thoughts: 0,
            sounds: Sounds::new(),
            random: 1,
        }
    }

    /// Adds an NPC with a behaviour, or a player without. Its index.
    pub(crate) fn add(&mut self, kind: u8, behavior: Option<&str>, x: f32, y: f32) -> usize {
        let position = Vec3::new(x, y, GROUND_M);
        let number = self.actors.len() as u32 + 1;
        let behavior = behavior.map(|name| self.set.behavior(name).expect("is in the set"));
        self.actors.push(Actor {
            id: EntityId::new(number).expect("not zero"),
            kind: KindId(kind),
            position,
            facing: Vec2::X,
            health: 1.0,
            speed: 0.0,
            goal: None,
            mind: behavior.map(|behavior| Mind::new(behavior, position)),
            intent: Intent::default(),
            perception: Perception::new(self.now),
            attention: Attention::new(number, &DetailPolicy::default(), self.now),
            journey: Journey::default(),
        });
        self.actors.len() - 1
    }

    pub(crate) fn minute(&self) -> u16 {
        ((self.now.0 % self.day_ms) * 1_440 / self.day_ms) as u16
    }

    /// Runs until a time of the day.
    pub(crate) fn run_until(&mut self, hour: u16, minute: u16) {
        while self.minute() != hour * 60 + minute {
            self.tick();
        }
    }

    pub(crate) fn run_s(&mut self, seconds: f32) {
        let ticks = (seconds * 1e3) as u64 / TICK_MS;
        (0..ticks).for_each(|_| self.tick());
    }

    /// Runs until `holds`, for `seconds` at most. Returns whether it came to hold.
    pub(crate) fn run_until_that(&mut self, seconds: f32, holds: impl Fn(&Self) -> bool) -> bool {
        let ticks = (seconds * 1e3) as u64 / TICK_MS;
        (0..ticks).any(|_| {
            self.tick();
            holds(self)
        })
    }

    /// Words, blows and deeds of an actor, without times.
    pub(crate) fn log_of(&self, index: usize) -> Vec<&str> {
        let who = self.actors[index].id.get();
        self.log.iter().filter(|entry| entry.1 == who).map(|entry| entry.2.as_str()).collect()
    }

    pub(crate) fn distance(&self, a: usize, b: usize) -> f32 {
        self.actors[a].position.distance(self.actors[b].position)
    }

    pub(crate) fn doing(&self, index: usize) -> &'static str {
        self.actors[index].mind.as_ref().and_then(|mind| mind.doing(&self.set)).unwrap_or("nothing")
    }

    /// One actor strikes another.
    pub(crate) fn strike(&mut self, by: usize, whom: usize, damage: f32) {
        let (id, kind, place) = (self.actors[by].id, self.actors[by].kind, self.actors[by].position);
        let actor = &mut self.actors[whom];
        actor.health = (actor.health - damage).max(0.0);
        actor.perception.record_blow(Some(id), kind, place, self.now);
        actor.attention.request_thought(self.now);
        let sound =
            Sound { kind: SoundKind::FIGHT, place, reach_m: 30.0, by: Some(id), by_kind: kind, about: None };
        self.sounds.add(sound, self.now);
    }

    /// All states in one number.
    pub(crate) fn hash(&self) -> u64 {
        let minds = self.actors.iter().filter_map(|actor| actor.mind.as_ref()).map(Mind::state_hash);
        minds.fold(self.now.0, |all, hash| all.rotate_left(7) ^ hash)
    }

    pub(crate) fn tick(&mut self) {
        self.now.0 += TICK_MS;
        let candidates: Vec<Candidate> = self
            .actors
            .iter()
            .map(|actor| Candidate {
                who: actor.id,
                kind: actor.kind,
                has_fallen: actor.health <= 0.0,
                position: actor.position,
            })
            .collect();
        for index in 0..self.actors.len() {
            if self.actors[index].mind.is_some() && self.actors[index].health > 0.0 {
                self.sense(index, &candidates);
                self.think(index, &candidates);
            }
        }
        for index in 0..self.actors.len() {
            if self.actors[index].health > 0.0 {
                self.carry_on(index, &candidates);
            }
        }
    }

    fn sense(&mut self, index: usize, candidates: &[Candidate]) {
        let players = candidates.iter().filter(|other| other.kind == KindId::PLAYER);
        let here = self.actors[index].position;
        let nearest = players.map(|player| player.position.distance(here)).min_by(f32::total_cmp);
        let policy = DetailPolicy::default();
        let actor = &mut self.actors[index];
        actor.attention.observe(&policy, nearest, true, self.now);
        if !actor.attention.is_look_due(self.now) {
            return;
        }
        actor.attention.looked(&policy, self.now);
        let mind = actor.mind.as_ref().expect("asked before");
        let eyes = Onlooker {
            me: actor.id,
            position: here,
            facing: actor.facing,
            interest: self.set.interest(mind.behavior(), actor.kind),
            target: mind.target(),
        };
        let walls = &self.walls;
        let mut is_clear =
            |from: Vec3, to: Vec3| !walls.iter().any(|&wall| crosses(wall, from.truncate(), to.truncate()));
        let sight = Acuity::default();
        actor.perception.list_targets(&eyes, &sight, candidates, self.now, &mut is_clear, &mut self.counts);
        let interest = self.set.hearing(mind.behavior());
        let ears = Listener { me: actor.id, position: here, keenness: sight.hearing, interest };
        actor.perception.listen(ears, &self.sounds, self.now, &mut self.counts);
    }

    fn think(&mut self, index: usize, candidates: &[Candidate]) {
        let minute = self.minute();
        let actor = &mut self.actors[index];
        if !actor.attention.is_think_due(self.now) {
            return;
        }
        actor.attention.thought(&DetailPolicy::default(), self.now);
        self.thoughts += 1;
        let mind = actor.mind.as_mut().expect("asked before");
        let is_here = |who| candidates.iter().any(|candidate| candidate.who == who);
        let senses = Senses {
            position: actor.position,
            kind: actor.kind,
            health: actor.health,
            minute,
            journey: actor.journey,
            target_is_gone: mind.target().is_some_and(|who| !is_here(who)),
            is_refused: false,
            seen: actor.perception.seen(),
            heard: actor.perception.heard(),
            hurt: actor.perception.hurt(),
        };
        let state = &mut self.random;
        let mut random = || {
            *state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (*state ^ (*state >> 15)).wrapping_mul(2_246_822_519)
        };
        mind.think(&self.set, &senses, self.now, &mut random, &mut actor.intent);
        if actor.intent.leg != actor.journey.leg {
            actor.journey = Journey { leg: actor.intent.leg, progress: MoveProgress::Going };
        }
        self.happen(index);
    }

    /// Carries out the deeds of a thought that happen once.
    fn happen(&mut self, index: usize) {
        let Actor { id, kind, position, intent, mind, .. } = &self.actors[index];
        let (id, kind, position, intent) = (*id, *kind, *position, *intent);
        let about = mind.as_ref().and_then(Mind::about);
        let minute = self.minute();
        let mut note = |what: String| self.log.push((minute, id.get(), what));
        let mut sound = |kind_of_sound: SoundKind, reach_m: f32, about| {
            let sound =
                Sound { kind: kind_of_sound, place: position, reach_m, by: Some(id), by_kind: kind, about };
            self.sounds.add(sound, self.now);
        };
        if let Some(line) = intent.say {
            note(format!("says {}", self.set.line(line).expect("is in the set")));
            sound(SoundKind::CHAT, 20.0, None);
        }
        if let Some(made) = intent.sound {
            note(format!("sounds {}", made.kind.0));
            sound(made.kind, f32::from(made.reach_dm) / 10.0, about);
        }
        match intent.deed {
            Some(Deed::Gathered { amount, .. }) => note(format!("gathers {amount}")),
            Some(Deed::Delivered { amount, .. }) => note(format!("delivers {amount}")),
            None => {}
        }
        if let Some(attack) = intent.attack {
            note(format!("strikes {}", attack.who.get()));
            let whom = self.actors.iter().position(|actor| actor.id == attack.who).expect("is here");
            self.strike(index, whom, f32::from(attack.damage) * f32::from(attack.blows) / 100.0);
        }
    }

    /// Carries out the deeds that last between thoughts.
    fn carry_on(&mut self, index: usize, candidates: &[Candidate]) {
        let actor = &mut self.actors[index];
        if actor.mind.is_none() {
            if let Some(goal) = actor.goal {
                step(actor, goal, actor.speed, 0.0);
            }
            return;
        }
        let speed = match actor.intent.pace {
            Pace::Creep => 1.6,
            Pace::Walk => 3.2,
            Pace::Run => 5.1,
            Pace::Speed(speed) => f32::from(speed) / 10.0,
        };
        let is_there = match actor.intent.go {
            Go::Stay => false,
            Go::To(goal) => step(actor, goal, speed, 0.3),
            Go::Toward { who, within_m } => candidates
                .iter()
                .find(|candidate| candidate.who == who)
                .is_some_and(|candidate| step(actor, candidate.position, speed, within_m)),
            Go::Away { from } => {
                let away = (actor.position - from).with_z(0.0).normalize_or(Vec3::X);
                step(actor, actor.position + away * 10.0, speed, 0.0)
            }
        };
        if is_there && actor.journey.progress == MoveProgress::Going {
            actor.journey.progress = MoveProgress::Arrived;
            actor.attention.request_thought(self.now);
        }
        let look_at = match actor.intent.face {
            Facing::Ahead => None,
            Facing::Toward(who) => {
                candidates.iter().find(|candidate| candidate.who == who).map(|other| other.position)
            }
            Facing::At(place) => Some(place),
            Facing::Heading(angle) => Some(actor.position + Vec2::from_angle(angle).extend(0.0)),
        };
        if let Some(place) = look_at
            && let Some(facing) = (place - actor.position).truncate().try_normalize()
        {
            actor.facing = facing;
        }
    }
}

/// Goes one tick's way, until so near. Whether it is there.
fn step(actor: &mut Actor, goal: Vec3, speed: f32, within_m: f32) -> bool {
    let way = (goal - actor.position).with_z(0.0);
    let left = way.length() - within_m;
    if left <= 0.0 {
        return true;
    }
    let direction = way.normalize();
    actor.facing = direction.truncate();
    actor.position += direction * (speed * TICK_MS as f32 / 1e3).min(left);
    false
}

/// True if a line crosses a wall.
fn crosses((a, b): (Vec2, Vec2), from: Vec2, to: Vec2) -> bool {
    let side = |p: Vec2, q: Vec2, r: Vec2| (q - p).perp_dot(r - p) > 0.0;
    side(a, b, from) != side(a, b, to) && side(from, to, a) != side(from, to, b)
}
