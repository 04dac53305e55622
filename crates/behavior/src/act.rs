//! Actions with a destination: the intent and the end of each.
//!
//! An action writes movement and pose only while it continues, so that one that ends or cannot begin leaves nothing for the next to
//! undo. `deeds` has the actions in place.

use super::{
    intent::{Facing, Go, Pose},
    mind::{GAVE_UP, Leaf, LeafProgress},
    node::{AnimationIndex, Dm, Gait, LeafAction, People, PlaceRef, Tenths},
    think::{
        NodeOutcome::{self, Failure, Running, Success},
        Thought,
    },
    way::{ARRIVED_M, Approach, nearest},
};
use core::f32::consts::TAU;

/// Metres from its post at which a guard that was pushed goes back.
const ASTRAY_M: f32 = 3.0;
/// Tenths of a second between two turns of a guard's head.
const LOOK_ROUND: (Tenths, Tenths) = (Tenths(30), Tenths(80));
/// Tenths of a second for which an NPC flees after it has lost sight of the cause.
const FRIGHT: Tenths = Tenths(80);
/// Metres by which a place has to differ to be worth another way.
const RETARGET_M: f32 = 2.0;

impl<R: FnMut() -> u32> Thought<'_, R> {
    pub(super) fn act(&mut self, action: LeafAction, leaf: &mut Leaf) -> NodeOutcome {
        match action {
            LeafAction::Wander { pace, around, within, pause, lasting } => {
                if self.is_over(leaf, lasting) {
                    return Success;
                }
                self.wander(leaf, pace, around, within, pause)
            }
            LeafAction::Patrol { pace, once, route, pause, lasting } => {
                if self.is_over(leaf, lasting) {
                    return Success;
                }
                self.patrol(leaf, pace, once, route, pause)
            }
            LeafAction::Guard { pace, post, lasting } => self.guard(leaf, pace, post, lasting),
            LeafAction::Flee { pace, from, until } => self.flee(leaf, pace, from, until),
            LeafAction::Chase { pace, within, leash, lost } => self.chase(leaf, pace, within, leash, lost),
            LeafAction::Follow { pace, within, lost } => match self.hunt(leaf, pace, within, lost) {
                Success => {
                    self.out.face = self.mind.target.map_or(Facing::Ahead, Facing::Toward);
                    Running
                }
                other => other,
            },
            LeafAction::Sit { pace, at, lasting } => {
                self.stay(leaf, pace, at, lasting, Pose::Sit, AnimationIndex::NONE)
            }
            LeafAction::Work { pace, at, play, lasting } => {
                self.stay(leaf, pace, at, lasting, Pose::Stand, play)
            }
            LeafAction::Go { pace, to, within } => self.walk_to(leaf, pace, to, within),
            LeafAction::Attack { timer, range, every, damage, play } => {
                self.attack(leaf, timer, range, every, damage, play)
            }
            LeafAction::Gather { pace, resource, amount, taking, play } => {
                self.gather(leaf, pace, resource, amount, taking, play)
            }
            LeafAction::Deliver { pace, to } => self.deliver(leaf, pace, to),
            LeafAction::Talk { n, first, pause } => self.talk(leaf, n, first, pause),
            LeafAction::Wait { span } => self.wait(leaf, span),
            LeafAction::Play { animation, lasting } => self.play(leaf, animation, lasting),
            LeafAction::Say { n, first } => self.speak_one_of(n, first),
            LeafAction::Face { spot } => self.face(spot),
            LeafAction::Sound { sound, reach } => self.sound(sound, reach),
            LeafAction::Forget => self.forget(),
        }
    }

    fn wander(
        &mut self,
        leaf: &mut Leaf,
        pace: Gait,
        around: PlaceRef,
        within: Dm,
        pause: (Tenths, Tenths),
    ) -> NodeOutcome {
        match (leaf.phase, self.way(leaf, ARRIVED_M)) {
            (LeafProgress::There, _) if !self.now.has_reached(leaf.due) => return Running,
            (LeafProgress::Going, Approach::Going) => return self.walk(leaf, pace),
            (LeafProgress::Going, _) if pause.1.0 > 0 => return self.pause(leaf, pause),
            _ => {}
        }
        let middle = self.place(around).unwrap_or(self.mind.home);
        let spot = self.point_near(middle, within.metres());
        self.set_out(leaf, spot);
        self.walk(leaf, pace)
    }

    fn patrol(
        &mut self,
        leaf: &mut Leaf,
        pace: Gait,
        once: bool,
        route: u16,
        pause: (Tenths, Tenths),
    ) -> NodeOutcome {
        let points = self.set.route(route);
        // After an interruption the patrol continues at its last point; a new one begins at the nearest.
        if self.mind.route != route {
            self.mind.route = route;
            self.mind.waypoint = nearest(points, self.senses.position);
        }
        match (leaf.phase, self.way(leaf, ARRIVED_M)) {
            (LeafProgress::There, _) if !self.now.has_reached(leaf.due) => return Running,
            (LeafProgress::Going, Approach::Going) => return self.walk(leaf, pace),
            (LeafProgress::Going, _) => {
                let n = points.len() as u16;
                self.mind.waypoint = (self.mind.waypoint % n + 1) % n;
                leaf.count = leaf.count.saturating_add(1);
                if once && usize::from(leaf.count) >= points.len() {
                    return Success;
                }
                if pause.1.0 > 0 {
                    return self.pause(leaf, pause);
                }
            }
            _ => {}
        }
        // A damaged snapshot may hold any number.
        let next = points[usize::from(self.mind.waypoint) % points.len()];
        self.set_out(leaf, next);
        self.walk(leaf, pace)
    }

    fn guard(&mut self, leaf: &mut Leaf, pace: Gait, post: PlaceRef, lasting: Tenths) -> NodeOutcome {
        let is_astray = leaf.phase == LeafProgress::There
            && post != PlaceRef::HERE
            && leaf.spot.distance_squared(self.senses.position) > ASTRAY_M * ASTRAY_M;
        if is_astray && !self.is_over(leaf, lasting) {
            let spot = leaf.spot;
            self.set_out(leaf, spot);
        }
        match self.arrive(leaf, pace, post) {
            Some(Running) => return Running,
            // Standing a little beside the post counts as standing there.
            Some(Failure) => {
                leaf.spot = self.senses.position;
                self.mark_arrived(leaf);
            }
            Some(Success) | None => {}
        }
        if self.is_over(leaf, lasting) {
            return Success;
        }
        if self.now.has_reached(leaf.due) {
            leaf.count = self.below(1 << 16) as u16;
            leaf.due = self.now.after(self.between(LOOK_ROUND));
        }
        self.out.face = Facing::Heading(f32::from(leaf.count) * (TAU / 65_536.0));
        Running
    }

    fn flee(&mut self, leaf: &mut Leaf, pace: Gait, from: People, until: Dm) -> NodeOutcome {
        if from != People::Target {
            let threat = self.nearest_seen(from, Dm(u16::MAX), FRIGHT);
            self.apply_match(threat);
        }
        let safe = if leaf.phase == LeafProgress::New { Failure } else { Success };
        let is_known = self.mind.target.is_some() && self.now.since(self.mind.last_seen_at) <= FRIGHT.ms();
        let far_m = until.metres();
        if !is_known || self.mind.last_seen.distance_squared(self.senses.position) > far_m * far_m {
            return safe;
        }
        let threat = self.mind.last_seen;
        if leaf.phase == LeafProgress::New || leaf.spot.distance_squared(threat) > RETARGET_M * RETARGET_M {
            self.set_out(leaf, threat);
        }
        self.out.go = Go::Away { from: leaf.spot };
        self.out.pace = pace.into();
        Running
    }

    fn chase(&mut self, leaf: &mut Leaf, pace: Gait, within: Dm, leash: Dm, lost: Tenths) -> NodeOutcome {
        if leash.0 > 0 {
            let far_m = self.mind.home.distance(self.senses.position);
            // After giving up at the leash's end it goes back half of the way before it chases again: it would turn round there without
            // end.
            let gave_up = self.mind.flags & GAVE_UP != 0;
            let reach_m = if gave_up { leash.metres() / 2.0 } else { leash.metres() };
            if far_m > reach_m {
                self.mind.flags |= GAVE_UP;
                return Failure;
            }
            self.mind.flags &= !GAVE_UP;
        }
        self.hunt(leaf, pace, within, lost)
    }

    /// Follows the target while it is in view, otherwise to its last position, until the time is over.
    fn hunt(&mut self, leaf: &mut Leaf, pace: Gait, within: Dm, lost: Tenths) -> NodeOutcome {
        let Some(who) = self.mind.target else { return Failure };
        let within_m = within.metres();
        match self.target_sighting() {
            Some(sighting) if sighting.has_fallen => {
                self.forget();
                return Failure;
            }
            Some(sighting) if sighting.is_fresh => {
                let near = self.square_to(sighting.place) <= within_m * within_m;
                // There: in view, with the world steering after it.
                let is_reached =
                    leaf.phase == LeafProgress::There && matches!(self.way(leaf, 0.0), Approach::There);
                if near || is_reached {
                    return Success;
                }
                if leaf.phase != LeafProgress::There {
                    self.set_out(leaf, sighting.place);
                    leaf.phase = LeafProgress::There;
                }
                self.out.go = Go::Toward { who, within_m };
                self.out.pace = pace.into();
                return Running;
            }
            _ => {}
        }
        let trail = self.mind.last_seen;
        if self.now.since(self.mind.last_seen_at) > lost.ms() {
            self.mind.target = None;
            return Failure;
        }
        if leaf.phase != LeafProgress::Going || leaf.spot.distance_squared(trail) > RETARGET_M * RETARGET_M {
            self.set_out(leaf, trail);
        }
        match self.way(leaf, ARRIVED_M) {
            Approach::Going => self.walk(leaf, pace),
            // It was here. Perhaps it comes back into view.
            Approach::There | Approach::Blocked => Running,
        }
    }

    fn walk_to(&mut self, leaf: &mut Leaf, pace: Gait, to: PlaceRef, within: Dm) -> NodeOutcome {
        if let (LeafProgress::Going, PlaceRef::TARGET | PlaceRef::LAST_SEEN) = (leaf.phase, to)
            && let Some(place) = self.place(to)
            && leaf.spot.distance_squared(place) > RETARGET_M * RETARGET_M
        {
            self.set_out(leaf, place);
        }
        if leaf.phase == LeafProgress::New {
            let Some(spot) = self.point_of(to) else { return Failure };
            self.set_out(leaf, spot);
        }
        match self.way(leaf, within.metres()) {
            Approach::There => Success,
            Approach::Blocked => Failure,
            Approach::Going => self.walk(leaf, pace),
        }
    }

    /// Goes somewhere and stays.
    fn stay(
        &mut self,
        leaf: &mut Leaf,
        pace: Gait,
        at: PlaceRef,
        lasting: Tenths,
        pose: Pose,
        play: AnimationIndex,
    ) -> NodeOutcome {
        match self.arrive(leaf, pace, at) {
            Some(Success) | None => {}
            Some(other) => return other,
        }
        if self.is_over(leaf, lasting) {
            return Success;
        }
        self.out.pose = pose;
        self.out.animation = play.id();
        Running
    }
}
