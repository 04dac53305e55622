use super::*;
use crate::senses::{KindSet, Sound, SoundKind, SoundSet};
use glam::Vec2;

fn id(number: u32) -> EntityId {
    EntityId::new(number).unwrap()
}

fn candidate(number: u32, x: f32) -> Candidate {
    Candidate { who: id(number), kind: KindId(2), has_fallen: false, position: Vec3::new(x, 0.0, 0.0) }
}

fn eyes(target: Option<u32>) -> Onlooker {
    let target = target.map(id);
    Onlooker { me: id(99), position: Vec3::ZERO, facing: Vec2::X, interest: KindSet::ALL, target }
}

struct Watcher {
    perception: Perception,
    counts: PerceptionCounts,
}

impl Watcher {
    fn new() -> Self {
        Self { perception: Perception::new(WorldTime(0)), counts: PerceptionCounts::default() }
    }

    /// Looks; a wall hides everything beyond `wall_m` metres.
    fn look(&mut self, now: u64, target: Option<u32>, candidates: &[Candidate], wall_m: f32) {
        let mut is_clear = |from: Vec3, to: Vec3| {
            assert_eq!(from, Vec3::Z * Acuity::default().eyes_m);
            to.x < wall_m
        };
        let (eyes, sight) = (eyes(target), Acuity::default());
        self.perception.list_targets(
            &eyes,
            &sight,
            candidates,
            WorldTime(now),
            &mut is_clear,
            &mut self.counts,
        );
    }

    /// (entity, in view), by entity.
    fn seen(&self) -> Vec<(u32, bool)> {
        let mut seen: Vec<(u32, bool)> =
            self.perception.seen().iter().map(|sighting| (sighting.who.get(), sighting.is_fresh)).collect();
        seen.sort_unstable();
        seen
    }
}

#[test]
fn walls_hide_and_memory_keeps_the_last_place_for_a_while() {
    let mut watcher = Watcher::new();
    watcher.look(0, None, &[candidate(1, 5.0), candidate(2, 15.0)], 10.0);
    assert_eq!(watcher.seen(), [(1, true)]);
    watcher.look(1_000, None, &[candidate(1, 12.0), candidate(2, 15.0)], 10.0);
    assert_eq!(watcher.seen(), [(1, false)]);
    assert_eq!(watcher.perception.seen()[0].place.x, 5.0);
    watcher.look(10_000, None, &[], 10.0);
    assert_eq!(watcher.seen(), [(1, false)]);
    watcher.look(10_001, None, &[], 10.0);
    assert_eq!(watcher.seen(), []);
    assert_eq!((watcher.counts.looks, watcher.counts.rays, watcher.counts.clear), (4, 4, 1));
}

#[test]
fn in_a_crowd_few_lines_of_sight_are_asked_for_and_the_target_s_is_one() {
    let crowd: Vec<Candidate> = (1..=60).map(|n| candidate(n, n as f32 / 2.0)).collect();
    let mut watcher = Watcher::new();
    watcher.look(0, Some(60), &crowd, 100.0);
    assert_eq!(watcher.seen(), [(1, true), (2, true), (3, true), (60, true)]);
    assert_eq!(watcher.counts.rays, SEEN_MAX as u64);
    // Remembered entities make room for those in view, the target last.
    watcher.look(500, Some(60), &crowd[10..14], 100.0);
    assert_eq!(watcher.seen(), [(11, true), (12, true), (13, true), (14, true)]);
    let mut watcher = Watcher::new();
    watcher.look(0, Some(60), &crowd[59..], 100.0);
    watcher.look(500, Some(60), &crowd[..3], 100.0);
    watcher.look(1_000, Some(60), &crowd[10..12], 100.0);
    assert!(watcher.seen().contains(&(60, false)), "{:?}", watcher.seen());
}

#[test]
fn of_many_sounds_each_kind_s_last_is_remembered() {
    let mut watcher = Watcher::new();
    let mut sounds = Sounds::new();
    let mut add = |now: u64, kind: SoundKind, by: u32, x: f32| {
        let place = Vec3::new(x, 0.0, 0.0);
        let (by, by_kind) = (EntityId::new(by), KindId(1));
        sounds.add(Sound { kind, place, reach_m: 50.0, by, by_kind, about: None }, WorldTime(now));
    };
    add(100, SoundKind::ALARM, 1, 40.0);
    for by in 2..20 {
        add(100 + u64::from(by), SoundKind::STEPS, by, by as f32);
    }
    let listen = |now: u64, watcher: &mut Watcher| {
        let interest = SoundSet(0b1011);
        let ears = Listener { me: id(99), position: Vec3::ZERO, keenness: 1.0, interest };
        watcher.perception.listen(ears, &sounds, WorldTime(now), &mut watcher.counts);
        let mut heard: Vec<(u8, u32)> = watcher
            .perception
            .heard()
            .iter()
            .map(|heard| (heard.sound.0, heard.by.map_or(0, EntityId::get)))
            .collect();
        heard.sort_unstable();
        heard
    };
    // The nearest runner is the loudest.
    assert_eq!(listen(200, &mut watcher), [(1, 2), (3, 1)]);
    assert_eq!(listen(20_100, &mut watcher), [(1, 2), (3, 1)]);
    assert_eq!(listen(20_101, &mut watcher), [(1, 2)]);
    assert_eq!(listen(30_000, &mut watcher), []);
}

#[test]
fn a_blow_is_remembered_for_a_minute() {
    let mut watcher = Watcher::new();
    watcher.perception.record_blow(Some(id(5)), KindId::PLAYER, Vec3::X, WorldTime(1_000));
    watcher.look(61_000, None, &[], 1.0);
    assert_eq!(watcher.perception.hurt().and_then(|hurt| hurt.by), Some(id(5)));
    watcher.look(61_001, None, &[], 1.0);
    assert_eq!(watcher.perception.hurt(), None);
}

#[test]
fn a_damaged_snapshot_does_no_harm() {
    let mut watcher = Watcher::new();
    (watcher.perception.n_seen, watcher.perception.n_heard) = (200, 77);
    assert_eq!((watcher.perception.seen().len(), watcher.perception.heard().len()), (SEEN_MAX, HEARD_MAX));
    watcher.look(100, None, &[candidate(1, 1.0)], 10.0);
    assert!(watcher.seen().len() <= SEEN_MAX);
}
