//! Single words, with senses made by hand.

use super::*;
use crate::senses::{
    EntityId, Heard, Hurt, Journey, KindId, MoveProgress, Senses, Sighting, SoundKind, SoundSubject,
    WorldTime,
};
use glam::Vec3;

mod actions;
mod composites;
mod loading;
mod properties;

pub(crate) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// A template with one or two of everything.
pub(crate) fn vocabulary() -> Vocabulary {
    let kind =
        |name: &str, enemies: &[&str]| Kind { name: name.into(), enemies: names(enemies), friends: vec![] };
    let at = |x: f32, y: f32| Vec3::new(x, y, 0.0);
    Vocabulary {
        kinds: vec![kind("guard", &["thief"]), kind("thief", &["guard", "player"])],
        groups: vec![KindGroup { name: "all".into(), members: names(&["guard", "thief", "player"]) }],
        places: vec![
            NamedPlace { name: "inn".into(), position: at(100.0, 0.0), radius_m: 0.0 },
            NamedPlace { name: "square".into(), position: at(0.0, 100.0), radius_m: 5.0 },
        ],
        routes: vec![Route {
            name: "round".into(),
            points: vec![at(10.0, 0.0), at(20.0, 0.0), at(20.0, 10.0)],
        }],
        resources: vec![
            Resource { name: "ore".into(), spots: vec![at(50.0, 0.0), at(0.0, 30.0)] },
            Resource { name: "wood".into(), spots: vec![at(5.0, 0.0)] },
        ],
        animations: names(&["bow", "dig"]),
        sounds: names(&["horn"]),
        entries: vec![],
    }
}

pub(crate) fn load(text: &str) -> Result<BehaviorSet, Problems> {
    let source = Source { file: "f", bytes: text.as_bytes() };
    BehaviorSet::load(&[source], &vocabulary()).map(|loaded| loaded.set)
}

pub(crate) fn id(number: u32) -> EntityId {
    EntityId::new(number).unwrap()
}

/// One NPC of kind guard, at home in the corner, and what it senses.
struct Npc {
    set: BehaviorSet,
    mind: Mind,
    intent: Intent,
    now: u64,
    position: Vec3,
    health: f32,
    minute: u16,
    progress: MoveProgress,
    is_refused: bool,
    seen: Vec<Sighting>,
    heard: Vec<Heard>,
    hurt: Option<Hurt>,
    /// Every number that chance draws.
    drawn: u32,
}

impl Npc {
    /// With the behaviour whose lines these are, indented by four.
    fn new(body: &str) -> Self {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let set = load(&format!("behaviour b:\n{body}")).unwrap_or_else(|problems| panic!("{problems}"));
        Self::of(set)
    }

    fn of(set: BehaviorSet) -> Self {
        Self {
            mind: Mind::new(BehaviorId(0), Vec3::ZERO),
            set,
            intent: Intent::default(),
            now: 1_000_000,
            position: Vec3::ZERO,
            health: 1.0,
            minute: 12 * 60,
            progress: MoveProgress::Going,
            is_refused: false,
            seen: Vec::new(),
            heard: Vec::new(),
            hurt: None,
            drawn: 0,
        }
    }

    /// Thinks after this time; returns the running action.
    fn think(&mut self, after_ms: u64) -> &'static str {
        self.now += after_ms;
        let senses = Senses {
            position: self.position,
            kind: KindId(1),
            health: self.health,
            minute: self.minute,
            journey: Journey { leg: self.intent.leg, progress: self.progress },
            target_is_gone: false,
            is_refused: self.is_refused,
            seen: &self.seen,
            heard: &self.heard,
            hurt: self.hurt,
        };
        let drawn = self.drawn;
        let n_nodes = self.set.n_nodes() as u32;
        let visits =
            self.mind.think(&self.set, &senses, WorldTime(self.now), &mut || drawn, &mut self.intent);
        assert!(visits <= 2 * n_nodes);
        (self.progress, self.is_refused) = (MoveProgress::Going, false);
        self.mind.doing(&self.set).unwrap_or("nothing")
    }

    /// A sighting at `x` metres.
    fn see(&mut self, number: u32, kind: u8, x: f32) {
        self.seen.retain(|sighting| sighting.who != id(number));
        self.seen.push(Sighting {
            who: id(number),
            kind: KindId(kind),
            is_fresh: true,
            has_fallen: false,
            seen_at: WorldTime(self.now).stamp(),
            place: Vec3::new(x, 0.0, 0.0),
        });
    }

    /// Removes all sightings.
    fn lose_sight(&mut self) {
        for sighting in &mut self.seen {
            sighting.is_fresh = false;
        }
    }

    fn hear(&mut self, sound: SoundKind, by: u32, x: f32) {
        self.heard = vec![Heard {
            sound,
            strength: 100,
            by_kind: KindId(2),
            by: EntityId::new(by),
            about: None,
            place: Vec3::new(x, 0.0, 0.0),
            heard_at: WorldTime(self.now).stamp(),
        }];
    }

    fn said(&self) -> Option<&str> {
        self.set.line(self.intent.say?)
    }

    fn goal(&self) -> Vec3 {
        match self.intent.go {
            Go::To(goal) => goal,
            other => panic!("goes nowhere: {other:?}"),
        }
    }

    /// Thinks four times per second for `ms`, and reaches each destination at once. Returns speech, blows and other deeds.
    fn live(&mut self, ms: u64) -> Vec<String> {
        let mut log = Vec::new();
        for _ in 0..ms / 250 {
            self.think(250);
            if let Go::To(goal) = self.intent.go {
                self.position = goal;
            }
            log.extend(self.said().map(str::to_owned));
            log.extend(self.intent.attack.map(|attack| format!("{} x {}", attack.blows, attack.damage)));
            log.extend(self.intent.deed.map(|deed| format!("{deed:?}")));
        }
        log
    }
}
