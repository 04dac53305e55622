//! A template's vocabulary: the names that behaviours may use.
//!
//! Plain data, to be filled from wherever templates come from. [`BehaviorSet::load`](super::BehaviorSet::load) checks it too.

use glam::Vec3;
use serde::{Deserialize, Serialize};

/// All that a template offers. Order counts: ids are places in these lists, so that a changed template appends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vocabulary {
    /// Kinds of NPCs, at most 63: the first has [`KindId`](crate::senses::KindId) 1, since 0 are players.
    pub kinds: Vec<Kind>,
    /// Names for several kinds together, at most 64.
    pub groups: Vec<KindGroup>,
    /// At most 1,024.
    pub places: Vec<NamedPlace>,
    /// At most 1,024.
    pub routes: Vec<Route>,
    /// At most 255.
    pub resources: Vec<Resource>,
    /// At most 1,024. Their contents are the world's matter.
    pub animations: Vec<String>,
    /// Kinds of sounds beside the built-in ones ([`SoundKind::NAMES`](crate::senses::SoundKind::NAMES)), numbered behind them; 28 at
    /// most.
    pub sounds: Vec<String>,
    /// Behaviours that NPCs of this template begin with. Each has to be there. When there are none, all behaviours count as
    /// used.
    pub entries: Vec<String>,
}

/// A kind of NPC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kind {
    /// As behaviours name it.
    pub name: String,
    /// Kinds, groups or `player` that it takes for enemies.
    pub enemies: Vec<String>,
    /// Kinds, groups or `player` that it takes for friends.
    pub friends: Vec<String>,
}

/// Several kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KindGroup {
    /// As behaviours name it.
    pub name: String,
    /// Kinds, or `player`.
    pub members: Vec<String>,
}

/// A place to go to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedPlace {
    /// As behaviours name it.
    pub name: String,
    /// Its middle.
    pub position: Vec3,
    /// Radius of the place, metres: each visitor chooses a point of its own within it.
    #[serde(default)]
    pub radius_m: f32,
}

/// A way to patrol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// As behaviours name it.
    pub name: String,
    /// One after the other, and from the last on to the first; at most 256.
    pub points: Vec<Vec3>,
}

/// Something to gather.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// As behaviours name it.
    pub name: String,
    /// The points at which it is found; at most 256.
    pub spots: Vec<Vec3>,
}
