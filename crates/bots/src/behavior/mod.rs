//! Movements of a bot's body, decided anew for each of its agent updates.
//!
//! The decision covers flags and direction only: movement is the server's. The bot's position comes from
//! [`Whereabouts`](crate::whereabouts::Whereabouts). Some behaviours concern a client more than a body: for [`Behavior::Hostile`] see
//! [`crate::hostile`], for [`Behavior::SlowReader`] [`crate::link::Narrow`], for those that build
//! ([`Behavior::build_plan`]) [`crate::builder`], for those that carry ([`Behavior::carry_plan`]) [`crate::carry`].

mod commute;
mod course;
mod flock;
mod mingle;
mod play;
mod posture;
mod probe;
#[cfg(test)]
mod trial;
mod walk;

pub use commute::{COMMUTE_BEND_RAD, COMMUTE_PAUSE_S, COMMUTE_REACH_EDGES};
pub use course::ARRIVED_M;
pub use flock::{FLOCK_RADIUS_M, FLOCK_SIZE, FLOCK_SPREAD_M, FLOCK_TURN_EDGES};
pub use mingle::{MINGLE_ROUND, MINGLE_WALK, MINGLE_WORDS_AT};
pub use play::{PLAY_PORTAL, PLAY_STAY_S, PLAY_STRIKE_PERIOD, PLAY_WAYPOINTS};
pub use probe::PROBE_PERIOD;
pub use walk::{Habits, MARKET_GOER, ROAMER, WALKER};

use crate::builder::BuildPlan;
use crate::carry::CarryPlan;
use crate::rng::Rng;
use commute::Commuter;
use flock::FlockMember;
use glam::{Quat, Vec2};
use ids::Instant;
use mingle::Mingler;
use play::Player;
use posture::{POSTURE_UPDATES, Sitter};
use probe::Talker;
use walk::Walker;

/// Held to walk ahead (bit 0 of the control flags).
pub const AT_POS: u32 = 1 << 0;

/// Says that an animation of the server's is over (bit 15).
pub const FINISH_ANIM: u32 = 1 << 15;

/// Pressed to get up (bit 16).
pub const STAND_UP: u32 = 1 << 16;

/// Pressed to sit down where one stands (bit 17).
pub const SIT_ON_GROUND: u32 = 1 << 17;

/// One of this many bots of [`Behavior::Stadium`] walks about instead of sitting.
pub const STEWARDS: f32 = 20.0;

/// Speed at which the length of a leg is measured, in metres a second: a walk without obstacles.
pub const WALK_M_PER_S: f32 = 3.2;

/// Walkers turn back so far from a border, in metres: outside of it they would run against it.
pub const BORDER_M: f32 = 10.0;

/// Behaviour of a bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behavior {
    /// Stands where it arrived.
    #[default]
    Stand,
    /// Sits down on the ground and stays there.
    Sit,
    /// Walks legs in random directions and rests between them, as a [`WALKER`] does.
    Walk,
    /// Walks as [`Self::Walk`] does and never rests.
    Roam,
    /// Mills about on a plaza with all others, as a [`MARKET_GOER`] does.
    Plaza,
    /// Sits facing the middle of the region, as in a stadium; one in [`STEWARDS`] walks.
    Stadium,
    /// Walks, rests and talks in rounds of [`MINGLE_ROUND`]: out in a random direction, and back in the next.
    Mingle,
    /// Stands and says something every [`PROBE_PERIOD`], to measure how long it takes until it hears itself.
    Probe,
    /// Goes about the region in a group of [`FLOCK_SIZE`].
    Flock,
    /// Walks to and fro between two places on opposite sides of the region, as all do through its middle.
    Commute,
    /// Goes through a portal at [`PLAY_PORTAL`] into an instance of its own, follows [`PLAY_WAYPOINTS`] and strikes about itself, and comes
    /// back through the portal at the same place there.
    Play,
    /// Follows [`PLAY_WAYPOINTS`] and strikes about itself, in the world that it is in.
    Quest,
    /// Stands, and builds on a plot of its own, see [`crate::builder`].
    Build,
    /// Stands, and makes prims on a plot of its own, many at a time and none of them changed.
    Rez,
    /// Stands, and moves, scales and paints prims on a plot of its own without waiting for the effect of each edit.
    Rush,
    /// Stands, and throws prims that physics moves a little above a plot of its own, again and again.
    Tumble,
    /// Stands, and throws such prims so high that they fall for half a minute.
    Soar,
    /// Stands, and makes, gives, takes, rezzes, wears and removes things, see [`crate::carry`].
    Carry,
    /// Stands, and takes, rezzes and gives objects that must not be copied.
    Ferry,
    /// Stands behind a connection with much less bandwidth than it requests, see [`crate::link::Narrow`], and handles event-queue
    /// replies late.
    SlowReader,
    /// Stands and attacks the server with the packets of a [kind of attack](crate::hostile::AttackKind); its number selects the kind.
    Hostile,
}

impl Behavior {
    /// All of them by their names on command lines.
    pub const NAMES: [(&str, Self); 21] = [
        ("stand", Self::Stand),
        ("sit", Self::Sit),
        ("walk", Self::Walk),
        ("roam", Self::Roam),
        ("plaza", Self::Plaza),
        ("stadium", Self::Stadium),
        ("mingle", Self::Mingle),
        ("probe", Self::Probe),
        ("flock", Self::Flock),
        ("commuter", Self::Commute),
        ("play", Self::Play),
        ("quest", Self::Quest),
        ("build", Self::Build),
        ("rez", Self::Rez),
        ("rush", Self::Rush),
        ("tumble", Self::Tumble),
        ("soar", Self::Soar),
        ("carry", Self::Carry),
        ("ferry", Self::Ferry),
        ("slow-reader", Self::SlowReader),
        ("hostile", Self::Hostile),
    ];

    /// By its name on command lines.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, behavior)| behavior)
    }

    /// True if it moves the bot, which then has to know its position.
    #[must_use]
    pub const fn moves(self) -> bool {
        match self {
            Self::Stand
            | Self::Sit
            | Self::Probe
            | Self::Build
            | Self::Rez
            | Self::Rush
            | Self::Tumble
            | Self::Soar
            | Self::Carry
            | Self::Ferry
            | Self::SlowReader
            | Self::Hostile => false,
            Self::Walk
            | Self::Roam
            | Self::Plaza
            | Self::Stadium
            | Self::Mingle
            | Self::Flock
            | Self::Commute
            | Self::Play
            | Self::Quest => true,
        }
    }

    /// Range of its work, if it builds.
    #[must_use]
    pub const fn build_plan(self) -> Option<BuildPlan> {
        match self {
            Self::Build => Some(BuildPlan::BUILD),
            Self::Rez => Some(BuildPlan::REZ),
            Self::Rush => Some(BuildPlan::RUSH),
            Self::Tumble => Some(BuildPlan::TUMBLE),
            Self::Soar => Some(BuildPlan::SOAR),
            Self::Stand
            | Self::Sit
            | Self::Walk
            | Self::Roam
            | Self::Plaza
            | Self::Stadium
            | Self::Mingle
            | Self::Probe
            | Self::Flock
            | Self::Commute
            | Self::Play
            | Self::Quest
            | Self::Carry
            | Self::Ferry
            | Self::SlowReader
            | Self::Hostile => None,
        }
    }

    /// Range of its work, if it carries.
    #[must_use]
    pub const fn carry_plan(self) -> Option<CarryPlan> {
        match self {
            Self::Carry => Some(CarryPlan::CARRY),
            Self::Ferry => Some(CarryPlan::FERRY),
            _ => None,
        }
    }
}

/// Position of a bot, as far as its decisions need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BotPosition {
    /// Metres from the region's south-west corner.
    pub position: Vec2,
    /// Edge of the region in metres.
    pub region_size_m: f32,
}

/// Body fields of the next update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPose {
    /// Direction of the body.
    pub rotation: Quat,
    /// Keys held.
    pub control_flags: u32,
    /// True while it walks, so that the camera follows.
    pub walking: bool,
}

/// A behaviour under way.
#[derive(Clone, Debug)]
pub struct RunningBehavior {
    /// Number of the bot.
    number: u32,
    /// Updates that ask to get up, before all else.
    rising: u8,
    doing: BehaviorState,
    body: AvatarControls,
}

/// Direction and voice of an avatar, which behaviours control.
#[derive(Clone, Copy, Debug)]
struct AvatarControls {
    direction: Vec2,
    rotation: Quat,
    /// True if a chat line is due.
    speaks: bool,
    /// True if a blow is due.
    strikes: bool,
}

#[derive(Clone, Copy, Debug)]
enum BehaviorState {
    Standing,
    Sitting(Sitter),
    Walking(Walker),
    Mingling(Mingler),
    Probing(Talker),
    Flocking(FlockMember),
    Commuting(Commuter),
    Playing(Player),
}

impl RunningBehavior {
    /// Begins in a region, facing any direction. `number` says which of its run's bots it is: those of a flock follow each other.
    pub fn new(behavior: Behavior, number: u32, rng: &mut Rng) -> Self {
        let doing = match behavior {
            Behavior::Stand
            | Behavior::Build
            | Behavior::Rez
            | Behavior::Rush
            | Behavior::Tumble
            | Behavior::Soar
            | Behavior::Carry
            | Behavior::Ferry
            | Behavior::SlowReader
            | Behavior::Hostile => BehaviorState::Standing,
            Behavior::Sit => BehaviorState::Sitting(Sitter::new()),
            Behavior::Walk => BehaviorState::Walking(Walker::new(WALKER)),
            Behavior::Roam => BehaviorState::Walking(Walker::new(ROAMER)),
            Behavior::Plaza => BehaviorState::Walking(Walker::new(MARKET_GOER)),
            Behavior::Stadium if rng.unit() * f64::from(STEWARDS) < 1.0 => {
                BehaviorState::Walking(Walker::new(WALKER))
            }
            Behavior::Stadium => BehaviorState::Sitting(Sitter::facing_the_middle()),
            Behavior::Mingle => BehaviorState::Mingling(Mingler::default()),
            Behavior::Probe => BehaviorState::Probing(Talker::default()),
            Behavior::Flock => BehaviorState::Flocking(FlockMember::new(number, rng)),
            Behavior::Commute => BehaviorState::Commuting(Commuter::new(rng)),
            Behavior::Play => BehaviorState::Playing(Player::new(true)),
            Behavior::Quest => BehaviorState::Playing(Player::new(false)),
        };
        Self { number, rising: 0, doing, body: AvatarControls::facing(rng.direction()) }
    }

    /// Switches to another behaviour; a sitting bot gets up first, unless the new one sits, too.
    pub fn change(&mut self, behavior: Behavior, rng: &mut Rng) {
        let sat = matches!(self.doing, BehaviorState::Sitting(_));
        *self = Self::new(behavior, self.number, rng);
        if sat && !matches!(self.doing, BehaviorState::Sitting(_)) {
            self.rising = POSTURE_UPDATES;
        }
    }

    /// True if a chat line was due at the latest [`Self::act`]; the call clears it.
    pub const fn take_words(&mut self) -> bool {
        std::mem::replace(&mut self.body.speaks, false)
    }

    /// True if a blow was due at the latest [`Self::act`]; the call clears it.
    pub const fn take_strike(&mut self) -> bool {
        std::mem::replace(&mut self.body.strikes, false)
    }

    /// The pose of an update that is made now.
    pub fn act(&mut self, now: Instant, spot: BotPosition, rng: &mut Rng) -> BodyPose {
        if self.rising > 0 {
            self.rising -= 1;
            return self.pose(STAND_UP);
        }
        let body = &mut self.body;
        let control_flags = match &mut self.doing {
            BehaviorState::Standing => 0,
            BehaviorState::Sitting(sitter) => sitter.act(spot, body),
            BehaviorState::Walking(walker) => walker.act(now, spot, body, rng),
            BehaviorState::Mingling(mingler) => mingler.act(now, body, rng),
            BehaviorState::Probing(talker) => {
                talker.act(now, body, rng);
                0
            }
            BehaviorState::Flocking(member) => member.act(now, spot, body, rng),
            BehaviorState::Commuting(commuter) => commuter.act(now, spot, body, rng),
            BehaviorState::Playing(player) => player.act(now, spot, body, rng),
        };
        self.pose(control_flags)
    }

    const fn pose(&self, control_flags: u32) -> BodyPose {
        BodyPose { rotation: self.body.rotation, control_flags, walking: control_flags & AT_POS != 0 }
    }
}

impl AvatarControls {
    fn facing(direction: Vec2) -> Self {
        let mut body = Self { direction, rotation: Quat::IDENTITY, speaks: false, strikes: false };
        body.face(direction);
        body
    }

    fn face(&mut self, direction: Vec2) {
        self.direction = direction;
        self.rotation = Quat::from_rotation_z(direction.to_angle());
    }
}

impl BotPosition {
    /// True if a point is on the ground in the middle, or at least far enough from every border.
    fn holds(&self, point: Vec2, ground_m: Option<f32>) -> bool {
        let middle_m = self.region_size_m / 2.0;
        let reach_m = ground_m.map_or(f32::INFINITY, |ground_m| ground_m / 2.0).min(middle_m - BORDER_M);
        let inside = middle_m - reach_m..=middle_m + reach_m;
        inside.contains(&point.x) && inside.contains(&point.y)
    }

    const fn middle(&self) -> Vec2 {
        Vec2::splat(self.region_size_m / 2.0)
    }

    /// Direction of the region's middle.
    fn inward(&self) -> Vec2 {
        (self.middle() - self.position).normalize_or(Vec2::X)
    }

    /// To the region's middle.
    fn distance_m(&self) -> f32 {
        self.position.distance(self.middle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_that_does_not_move_holds_one_pose() {
        let spot = BotPosition { position: Vec2::splat(128.0), region_size_m: 256.0 };
        for behavior in [
            Behavior::Stand,
            Behavior::Build,
            Behavior::Rez,
            Behavior::Rush,
            Behavior::Tumble,
            Behavior::Soar,
            Behavior::Carry,
            Behavior::Ferry,
            Behavior::SlowReader,
            Behavior::Hostile,
        ] {
            let mut rng = Rng::new(1, 0);
            let mut actor = RunningBehavior::new(behavior, 0, &mut rng);
            let mut act = |second: u64| actor.act(Instant::from_millis(second * 1000), spot, &mut rng);
            let first = act(0);
            assert_eq!(first.control_flags, 0);
            assert!((1..100).all(|second| act(second) == first), "{behavior:?}");
        }
    }

    #[test]
    fn every_behaviour_has_a_name_and_says_whether_it_moves() {
        for (name, behavior) in Behavior::NAMES {
            assert_eq!(Behavior::from_name(name), Some(behavior));
            let start = Vec2::new(128.0, 60.0);
            let walks =
                |seed| trial::behave(behavior, 0, seed, 60, start).iter().any(|(_, pose, _)| pose.walking);
            // In a stadium it is one of many.
            assert_eq!((0..100).any(walks), behavior.moves(), "{name}");
        }
        assert_eq!(Behavior::from_name("dance"), None);
    }
}
