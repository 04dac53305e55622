//! Movers that a client has: which of them are due in one send.
//!
//! A movement is due when it is significant in the client's band of distance, and again after 2 s. A rest is sent at once, repeated, and
//! has to be acked the last time, as the rest of an avatar: a viewer extrapolates without limit. A mover that is settled before the client has acked its rest
//! is sent in full.

use super::movers::Mover;
use super::replica::ObjectReplica;
use super::sent::SentSet;
use crate::dead_reckoning::{BANDS, angle};
use glam::Vec3;
use ids::LocalId;
use wire::terse::SentMotion;

/// Outer radius of each band, in metres; the last band has none.
const BAND_REACH_M: [f32; BANDS - 1] = [24.0, 96.0];
/// Period of repeated updates of moving prims, ticks: 2 s at 20 Hz.
const REFRESH_TICKS: u32 = 40;
/// Ticks from a rest to its last repetition: it arrives after late updates from before the rest.
const LAST_REST_TICKS: u32 = 10;
/// Metres that are added to a mover's distance: a user's camera is as far from the avatar.
const NEAR_M: f32 = 3.0;
/// Metres of error for each radian of it: half the size of a usual prim.
const M_PER_RAD: f32 = 0.25;
/// Error of a mover that the client has in another state than that of a movement, metres.
const UNKNOWN_ERROR_M: f32 = 1.0;
/// Metres that each send without it adds to a mover's error, so that all are sent at last.
const WAIT_M: f32 = 0.02;
/// Urgency from which on an error is seen at once: a degree.
const URGENT: f32 = 0.02;

/// Movers of one client.
#[derive(Debug, Default)]
pub struct SeenMovers {
    /// In the order of their ids.
    list: Vec<SeenMover>,
    /// Beginnings of movements that it takes account of.
    cursor: u64,
    /// At the last choice a mover was in motion within the first band.
    is_near: bool,
}

#[derive(Clone, Copy, Debug)]
struct SeenMover {
    id: LocalId,
    /// Low 32 bits of the tick of the last motion that was sent.
    sent: u32,
    /// That motion. None for the state from before a movement.
    motion: Option<SentMotion>,
    /// Sends of a rest that remain.
    repeats: u8,
    /// Sends for which it was due and held back.
    held: u8,
    /// Its rest was acked.
    is_confirmed: bool,
}

/// Time and place of a send to a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoverSend {
    /// Low 32 bits of the replica's tick.
    pub tick: u32,
    /// World time between two ticks, seconds.
    pub tick_s: f32,
    /// Camera of the client, metres.
    pub eye: Vec3,
}

/// A mover to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DueMover {
    /// The first to send has the greatest: `(error + 0.02 m × sends without it) / (distance + 3 m)`, about the angle by which the client displays it
    /// wrongly.
    pub urgency: f32,
    /// Index into [`ObjectReplica::movers`].
    pub mover: u32,
    /// Index into the client's list.
    seen: u32,
    /// The last repetition of a rest, which has to be acked.
    pub is_last_rest: bool,
}

impl SeenMovers {
    /// Takes account of prims that began to move since the last call.
    pub fn follow(&mut self, objects: &ObjectReplica, sent: &SentSet) {
        let from = std::mem::replace(&mut self.cursor, objects.n_arrivals());
        if from == objects.n_arrivals() {
            return;
        }
        match objects.arrived_since(from) {
            Some(arrived) => {
                for mover in arrived.filter_map(|id| objects.mover(id)) {
                    self.add(mover, sent);
                }
            }
            None => objects.movers().iter().for_each(|mover| self.add(mover, sent)),
        }
    }

    /// Adds a mover that the client has in the state from before its movement.
    fn add(&mut self, mover: &Mover, sent: &SentSet) {
        if sent.knows(mover.id) {
            self.put(mover.id, mover.since.wrapping_sub(1), None, 0);
        }
    }

    /// The client was sent a prim in full; in its state of this tick if it is a mover.
    pub fn note_full(&mut self, objects: &ObjectReplica, id: LocalId, tick: u32) {
        if let Some(mover) = objects.mover(id) {
            // Updates from before the rest may still be under way.
            self.put(id, tick, Some(SentMotion::of(&mover.terse)), u8::from(mover.at_rest));
        }
    }

    fn put(&mut self, id: LocalId, sent: u32, motion: Option<SentMotion>, repeats: u8) {
        let seen = SeenMover { id, sent, motion, repeats, held: 0, is_confirmed: false };
        match self.find(id) {
            Ok(at) => self.list[at] = seen,
            Err(at) => self.list.insert(at, seen),
        }
    }

    /// True without movers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// True if a mover was in motion within 24 m of the camera at the last choice.
    #[must_use]
    pub const fn is_near(&self) -> bool {
        self.is_near
    }

    /// Fills `due` with the movers to be sent in this tick. Those that are settled, or gone, are forgotten.
    pub fn choose(
        &mut self,
        objects: &ObjectReplica,
        sent: &mut SentSet,
        send: MoverSend,
        due: &mut Vec<DueMover>,
    ) {
        due.clear();
        let movers = objects.movers();
        let (mut at, mut n, mut is_near) = (0, 0, false);
        for from in 0..self.list.len() {
            let seen = self.list[from];
            while movers.get(at).is_some_and(|mover| mover.id < seen.id) {
                at += 1;
            }
            let Some(mover) = movers.get(at).filter(|mover| mover.id == seen.id) else {
                if sent.knows(seen.id) && !(seen.is_confirmed && seen.held == 0) {
                    sent.mark_doubtful(seen.id);
                }
                continue;
            };
            let distance = mover.place.distance(send.eye);
            is_near |= !mover.at_rest && distance < BAND_REACH_M[0];
            let is_last_rest = seen.is_last_rest(mover, distance);
            if seen.is_due(mover, send.tick, distance) {
                let waited = f32::from(seen.held) + 1.0;
                let urgency = (seen.error_m(mover, send) + WAIT_M * waited) / (distance + NEAR_M);
                due.push(DueMover { urgency, mover: at as u32, seen: n as u32, is_last_rest });
            }
            self.list[n] = seen;
            n += 1;
        }
        self.list.truncate(n);
        self.is_near = is_near;
    }

    /// A due mover was sent.
    pub fn note_sent(
        &mut self,
        objects: &ObjectReplica,
        due: DueMover,
        send: MoverSend,
        is_path_lossy: bool,
    ) {
        let mover = &objects.movers()[due.mover as usize];
        let seen = &mut self.list[due.seen as usize];
        let band = band_of(mover.place.distance(send.eye));
        seen.repeats = if !mover.at_rest {
            0
        } else if seen.is_behind(mover, band) {
            rest_repeats(band, is_path_lossy)
        } else {
            seen.repeats.saturating_sub(1)
        };
        (seen.sent, seen.motion) = (send.tick, Some(SentMotion::of(&mover.terse)));
        (seen.held, seen.is_confirmed) = (0, false);
    }

    /// A due mover was held back.
    pub fn note_held(&mut self, due: DueMover) {
        let seen = &mut self.list[due.seen as usize];
        seen.held = seen.held.saturating_add(1);
    }

    /// The last repetition of a rest was acked, or was not in time.
    pub fn settle_rest(&mut self, id: LocalId, is_lost: bool) {
        let Ok(at) = self.find(id) else { return };
        let seen = &mut self.list[at];
        if is_lost {
            seen.repeats = seen.repeats.max(1);
        } else {
            // Without repetitions the last motion that was sent is that rest.
            seen.is_confirmed = seen.repeats == 0;
        }
    }

    /// Gives back the memory of a busy time.
    pub fn free_spare(&mut self) {
        self.list.shrink_to_fit();
    }

    fn find(&self, id: LocalId) -> Result<usize, usize> {
        self.list.binary_search_by_key(&id, |seen| seen.id)
    }
}

impl DueMover {
    /// True for an error that users see.
    #[must_use]
    pub fn is_urgent(&self) -> bool {
        self.urgency > URGENT
    }
}

impl SeenMover {
    /// True if the mover has changed since it was sent, by the rules of this band.
    const fn is_behind(&self, mover: &Mover, band: usize) -> bool {
        // A wrapping difference: a world may run for years.
        self.sent.wrapping_sub(mover.changed[band]) >= 1 << 31
    }

    /// Metres by which the client displays it wrongly.
    fn error_m(&self, mover: &Mover, send: MoverSend) -> f32 {
        let Some(motion) = self.motion else { return UNKNOWN_ERROR_M };
        let (shown_at, shown_turned) = motion.after(send.tick.wrapping_sub(self.sent) as f32 * send.tick_s);
        let (is_at, is_turned) = SentMotion::of(&mover.terse).after(0.0);
        shown_at.distance(is_at) + M_PER_RAD * angle(shown_turned, is_turned)
    }

    fn is_last_rest(&self, mover: &Mover, distance: f32) -> bool {
        mover.at_rest && self.repeats == 1 && !self.is_behind(mover, band_of(distance))
    }

    fn is_due(&self, mover: &Mover, tick: u32, distance: f32) -> bool {
        let band = band_of(distance);
        if self.is_behind(mover, band) {
            return true;
        }
        if !mover.at_rest {
            return tick.wrapping_sub(self.sent) >= REFRESH_TICKS;
        }
        match self.repeats {
            0 => false,
            1 => tick.wrapping_sub(mover.changed[band]) >= LAST_REST_TICKS,
            _ => true,
        }
    }
}

/// Sends of a rest after the first one.
const fn rest_repeats(band: usize, is_path_lossy: bool) -> u8 {
    match (band, is_path_lossy) {
        (0, false) => 3,
        (0, true) => 5,
        _ => 1,
    }
}

fn band_of(distance: f32) -> usize {
    BAND_REACH_M.iter().filter(|&&reach| distance > reach).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{FrameTime, ObjectEncoder};
    use glam::Quat;
    use ids::{AgentId, Instant, Uuid};
    use link::{Motion, ObjectChange, ObjectMask, PrimFlags, PrimMotion, VersionedBody};
    use prim::{Body, Shape};
    use std::sync::Arc;

    const ID: LocalId = LocalId(1 << 20);
    const EYE: Vec3 = Vec3::new(10.0, 10.0, 20.0);

    /// A client that displays no avatar.
    struct Eye;

    impl crate::objects::Onlooker for Eye {
        fn eye(&self) -> Vec3 {
            EYE
        }

        fn draw_m(&self) -> f32 {
            256.0
        }

        fn distance_to_wearer(&self, _: LocalId, _: bool) -> Option<f32> {
            None
        }

        fn wearers(&self) -> impl Iterator<Item = LocalId> {
            std::iter::empty()
        }
    }

    fn moving(x: f32, speed: f32) -> PrimMotion {
        let motion =
            Motion { position: EYE.with_x(EYE.x + x), velocity: Vec3::X * speed, ..Motion::default() };
        PrimMotion { motion, flags: PrimFlags::PHYSICS, ..PrimMotion::NONE }
    }

    /// One body in a world, and a client that was sent it.
    struct Scene {
        encoder: ObjectEncoder,
        objects: ObjectReplica,
        sent: SentSet,
        seen: SeenMovers,
        tick: u32,
    }

    impl Scene {
        fn new() -> Self {
            let mut scene = Self {
                encoder: ObjectEncoder::default(),
                objects: ObjectReplica::new(256.0),
                sent: SentSet::default(),
                seen: SeenMovers::default(),
                tick: 0,
            };
            let body =
                Body::new(Uuid::from_u128(1), Shape::BOX, Arc::default(), AgentId(Uuid::from_u128(2)), 0);
            let body = VersionedBody { version: 1, body: Arc::new(body) };
            scene.step(&[ObjectChange::Set {
                id: ID,
                motion: moving(0.0, 0.0),
                body,
                mask: ObjectMask::CREATED,
            }]);
            scene.sent.follow(&scene.objects, &mut Vec::new());
            scene.sent.mark_sent(ID, true);
            scene.sent.settle(ID, false);
            scene
        }

        fn step(&mut self, changes: &[ObjectChange]) {
            self.tick += 1;
            let at = Instant(u64::from(self.tick) * 50_000_000);
            let time = FrameTime { at, tick: self.tick, tick_s: 0.05, has_dead_reckoning: true };
            let mut encoded = Vec::new();
            self.encoder.encode(time, changes, &mut encoded);
            encoded.iter().for_each(|change| self.objects.apply(self.tick, change));
        }

        fn send_now(&self) -> MoverSend {
            MoverSend { tick: self.tick, tick_s: 0.05, eye: EYE }
        }

        /// The movers that are sent in this tick, as last repetitions of a rest or not.
        fn send(&mut self) -> Vec<bool> {
            let (mut kills, mut due) = (Vec::new(), Vec::new());
            self.sent.follow(&self.objects, &mut kills);
            self.seen.follow(&self.objects, &self.sent);
            let send = self.send_now();
            self.seen.choose(&self.objects, &mut self.sent, send, &mut due);
            for &due in &due {
                self.seen.note_sent(&self.objects, due, send, false);
            }
            due.iter().map(|due| due.is_last_rest).collect()
        }
    }

    #[test]
    fn a_straight_movement_is_sent_once_and_its_rest_until_it_is_acked() {
        let mut scene = Scene::new();
        let mut n_sent = 0;
        for n in 0..20 {
            scene.step(&[ObjectChange::Moved(ID, moving(n as f32 * 0.05, 1.0))]);
            n_sent += scene.send().len();
        }
        assert_eq!(n_sent, 1);
        assert_eq!(scene.objects.mover(ID).map(|mover| mover.at_rest), Some(false));
        scene.step(&[ObjectChange::Moved(ID, moving(1.0, 0.0))]);
        assert_eq!(scene.send(), [false]);
        let mut later = Vec::new();
        for _ in 0..30 {
            scene.step(&[]);
            later.extend(scene.send());
        }
        assert_eq!(later, [false, false, true], "repetitions, the last to be acked");
        scene.seen.settle_rest(ID, true);
        scene.step(&[]);
        assert_eq!(scene.send(), [true], "it got lost");
        scene.seen.settle_rest(ID, false);
        for _ in 0..300 {
            scene.step(&[]);
            assert_eq!(scene.send(), [false; 0]);
        }
        assert!(scene.objects.movers().is_empty() && scene.seen.is_empty());
        assert!(scene.sent.is_current(ID), "the client has its last place");
    }

    #[test]
    fn a_body_that_is_thrown_is_sent_ahead_of_others_and_its_flight_once() {
        let mut scene = Scene::new();
        let gravity = Vec3::NEG_Z * 9.8;
        let flies = |tick: u32| {
            let s = tick as f32 * 0.05;
            let mut prim = moving(30.0, 0.0);
            let motion = &mut prim.motion;
            motion.position += gravity * (s * s / 2.0);
            (motion.velocity, motion.acceleration) = (gravity * s, gravity);
            (motion.angular_velocity, motion.rotation) = (Vec3::Z * 3.0, Quat::from_rotation_z(3.0 * s));
            prim
        };
        scene.step(&[ObjectChange::Moved(ID, moving(0.1, 0.2))]);
        scene.send();
        scene.step(&[ObjectChange::Moved(ID, flies(0))]);
        scene.seen.follow(&scene.objects, &scene.sent);
        let mut due = Vec::new();
        let send = scene.send_now();
        scene.seen.choose(&scene.objects, &mut scene.sent, send, &mut due);
        // It is shown 30 m from its place, or 29.9 m.
        assert!(
            matches!(due[..], [DueMover { urgency, .. }] if (urgency * 33.0 - 29.9).abs() < 0.1),
            "{due:?}"
        );
        assert!(due[0].is_urgent());
        let mut n_sent = 0;
        for tick in 1..30 {
            n_sent += scene.send().len();
            scene.step(&[ObjectChange::Moved(ID, flies(tick))]);
        }
        assert_eq!(n_sent, 1);
    }

    #[test]
    fn a_mover_whose_rest_was_not_acked_is_sent_in_full_once_it_is_settled() {
        let mut scene = Scene::new();
        scene.step(&[ObjectChange::Moved(ID, moving(0.0, 1.0))]);
        scene.send();
        scene.step(&[ObjectChange::Moved(ID, moving(1.0, 0.0))]);
        for _ in 0..300 {
            scene.step(&[]);
            scene.send();
        }
        assert!(scene.objects.movers().is_empty() && scene.seen.is_empty());
        assert!(!scene.sent.is_current(ID));
        let mut due = Vec::new();
        scene.sent.choose(&scene.objects, &Eye, 10, &mut due);
        assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [ID]);
    }

    #[test]
    fn a_client_that_lacks_a_mover_is_sent_no_movement_of_it() {
        let mut scene = Scene::new();
        scene.sent = SentSet::default();
        scene.step(&[ObjectChange::Moved(ID, moving(0.0, 1.0))]);
        assert_eq!(scene.send(), [false; 0]);
        scene.sent.mark_sent(ID, true);
        scene.seen.note_full(&scene.objects, ID, scene.tick);
        scene.step(&[ObjectChange::Moved(ID, moving(0.3, -1.0))]);
        assert_eq!(scene.send(), [false], "it turned back after the full update");
    }

    #[test]
    fn a_removed_mover_is_forgotten() {
        let mut scene = Scene::new();
        scene.step(&[ObjectChange::Moved(ID, moving(0.0, 1.0))]);
        scene.send();
        scene.step(&[ObjectChange::Removed(ID)]);
        assert_eq!(scene.send(), [false; 0]);
        assert!(scene.objects.movers().is_empty() && scene.seen.is_empty());
    }
}
