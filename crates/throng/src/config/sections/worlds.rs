//! Worlds: how they are stepped, regions, instances and the portals between them.

use crate::config::key::{KeyKind, section};
use ids::WorldId;
use link::SHARED_WORLDS_MAX;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

section! {
    /// Stepping of worlds.
    pub struct WorldSection in "world", repeated: false {
        /// Steps a second of every region and instance that is given no rate of its own.
        ///
        /// Higher makes movement follow the keys more closely and costs CPU in proportion. A world that cannot
        /// hold its rate slows its time down rather than dropping inputs.
        hz: u32 = 20, "1/s", KeyKind::whole(10, 45);
        /// Threads that step worlds; 0 takes as many as there are cores.
        ///
        /// A world runs on one thread at a time, so more threads than worlds bring nothing. Those that have nothing to do sleep.
        threads: u16 = 0, "threads", KeyKind::whole(0, 256);
    }
}

/// Shape of a region's ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TerrainShape {
    /// Generated hills around a flat plaza, with water.
    #[default]
    Hills,
    /// One level, slightly above the water.
    Flat,
}

section! {
    /// Worlds that are made while the server runs, by `POST /v1/worlds` on the operator's address and by portals
    /// ([worlds.md](worlds.md)).
    pub struct InstancesSection in "instances", repeated: false {
        /// Maximum number of instances; more are refused.
        ///
        /// A suspended one takes some hundred bytes of memory, and some kilobytes on the disk.
        max: u32 = 10_000, "worlds", KeyKind::whole(0, 100_000);
        /// Share of `max` for instances that portals create; the rest is left for the API.
        ///
        /// With 100, visitors who walk into portals may leave no instance for programs.
        portal_percent: u32 = 90, "%", KeyKind::whole(0, 100);
        /// Instances that portals create for one user at most, one for each template; 0 is without limit.
        ///
        /// An instance that has ended, or has expired (`template.keep_h`), makes room for another one.
        per_user_max: u32 = 16, "worlds", KeyKind::whole(0, 100_000);
        /// Instances in memory at once. Another one is resumed if one without visitors can be suspended for it; otherwise the visitor
        /// is refused.
        ///
        /// Each takes memory, and time in every step while it has visitors.
        active_max: u32 = 1_000, "worlds", KeyKind::whole(0, 100_000);
        /// Time without visitors after which an instance is suspended: saved, and taken out of memory. Its former name
        /// `park_after_s` is accepted with a warning.
        ///
        /// Longer, and a visitor who comes back soon waits for nothing; shorter, and less memory lies idle. With 0 it happens at once.
        suspend_after_s: u32 = 60, "s", KeyKind::whole(0, 86_400);
        /// Share of the time of `world.threads` that all worlds may need. When they have needed more for five seconds, or three quarters of the frames
        /// were late, none is resumed and new ones are created suspended, until they have needed a tenth less for as long. 0 is without limit.
        ///
        /// Beyond 100 all worlds dilate, those that people are in already, too. Can be tuned while the server runs.
        load_max_percent: u32 = 95, "%", KeyKind::whole(0, 1_000);
    }
}

section! {
    /// A region, one table for each. Without any there are two: a 256 m one with hills and a 512 m one.
    pub struct RegionSection in "region", repeated: true {
        /// Its name, unique without regard to case.
        ///
        /// People type it to teleport; landmarks and `start` addresses contain it.
        name: String = String::new(), "–", KeyKind::Name;
        /// Id of its world, unique on the grid; 0 stands for the position among the regions, from 1.
        ///
        /// Local ids of the world are derived from it, and its content is stored under it. A stated id does not change when regions are added or removed
        /// before this one; without it, the server does not start with the content of another region.
        id: u32 = 0, "–", KeyKind::whole(0, SHARED_WORLDS_MAX as i64);
        /// Former name of a region that has another one now; empty for none.
        ///
        /// Content that was saved under another name is not taken for the region's without it. It may be removed after a start.
        former_name: String = String::new(), "–", KeyKind::Text;
        /// Name of the account that owns the estate and the first parcel of a new region; empty for none.
        ///
        /// Used until the region's land is saved for the first time; from then on the estate's owner is changed by an operator.
        estate_owner: String = String::new(), "–", KeyKind::Text;
        /// Column of its south-west corner on the grid's map, in squares of 256 m.
        ///
        /// Clients draw regions with adjacent squares as one landscape, but one cannot walk across yet, so leave a gap.
        x: u32 = 1000, "squares", KeyKind::whole(1, 64_000);
        /// Row of its south-west corner on the grid's map, in squares of 256 m.
        ///
        /// As for `x`.
        y: u32 = 1000, "squares", KeyKind::whole(1, 64_000);
        /// Length of its sides.
        ///
        /// Above 256 only clients that know variable regions show all of it (most of today's do). A larger ground takes
        /// longer to reach them.
        size_m: u32 = 256, "m", KeyKind::Whole { min: 256, max: 1024, step: 256 };
        /// Shape of its ground, generated at every start.
        ///
        /// Flat ground is easier on experiments with many avatars; hills are nicer.
        terrain: TerrainShape = TerrainShape::Hills, "–", KeyKind::Choice(&["hills", "flat"]);
        /// Seed of the hills: equal seeds give equal ground.
        ///
        /// Any number will do.
        seed: u32 = 1, "–", KeyKind::whole(0, 4_294_967_295);
        /// Height of the water.
        ///
        /// Generated hills and the flat level are made for the default.
        water_m: f32 = 20.0, "m", KeyKind::Number { min: 0.0, max: 255.0 };
        /// Avatars that may be in it at once; beyond that arrivals are refused with a message.
        ///
        /// A region is stepped by one core, the real limit of a crowd.
        max_avatars: u32 = 10_000, "avatars", KeyKind::whole(1, 100_000);
        /// Prims that may be in it at once; beyond that new ones are refused with a message. Existing ones above it stay.
        ///
        /// Each takes about a kilobyte of memory, and of the disk.
        max_objects: u32 = 45_000, "prims", KeyKind::whole(0, 500_000);
        /// Physical prims among them at most.
        ///
        /// Physics steps those that are awake 60 times a second.
        max_physical: u32 = 1_000, "prims", KeyKind::whole(0, 10_000);
        /// Boxes scattered over the ground, for tests and experiments. Avatars pass through them.
        ///
        /// A client receives those within 64 m, about 260 bytes each; each takes half a kilobyte of memory.
        boxes: u32 = 0, "boxes", KeyKind::whole(0, 100_000);
        /// Name of these boxes, as clients show it.
        ///
        /// Their owner and creator is the grid's operator.
        box_name: String = link::BOX_NAME.into(), "–", KeyKind::Name;
        /// File of a whole region with which it begins, beside the configuration file; empty: none. `throng region export` writes such files, and
        /// archives (`.oar`) are some.
        ///
        /// It is read at the first start only, as long as the database has nothing of the region. Later the region has what was built there. `throng region import` on a
        /// stopped server refuses such a region before its first start. The land of the file comes with it if that is of a region of the same size, that of an
        /// archive if it is no larger.
        content: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time without a change after which its picture on the map is drawn again; 20 times as long after a change at the latest. The first one is drawn at once.
        ///
        /// A picture takes up to a second of one core, at low priority.
        map_after_s: u32 = 15, "s", KeyKind::whole(1, 3_600);
        /// Steps a second of this region; 0 is as many as `world.hz`.
        ///
        /// As for `world.hz`. Worlds of one rate are stepped together, so each further rate costs some microseconds a step.
        hz: u32 = 0, "1/s", KeyKind::OneOf(&[0, 20, 30, 45]);
    }
}

section! {
    /// Templates of instances, one table for each. Without any there are no instances.
    pub struct TemplateSection in "template", repeated: true {
        /// Its name, unique without regard to case: the argument of `POST /v1/worlds`.
        ///
        /// Instances that are given no name of their own are called so, too, and clients show it.
        name: String = String::new(), "–", KeyKind::Name;
        /// Length of its sides.
        ///
        /// A visitor from a region of the same size stays on its circuit, and the world changes around it; others are teleported, which
        /// takes a second or two.
        size_m: u32 = 256, "m", KeyKind::Whole { min: 256, max: 1024, step: 256 };
        /// Shape of its ground. All instances share one copy.
        ///
        /// As for regions.
        terrain: TerrainShape = TerrainShape::Hills, "–", KeyKind::Choice(&["hills", "flat"]);
        /// Seed of the hills: equal seeds give equal ground.
        ///
        /// Any number will do.
        seed: u32 = 1, "–", KeyKind::whole(0, 4_294_967_295);
        /// Height of the water.
        ///
        /// Generated hills and the flat level are made for the default.
        water_m: f32 = 20.0, "m", KeyKind::Number { min: 0.0, max: 255.0 };
        /// Avatars that may be in an instance at once.
        ///
        /// Instances are for small groups: their frames are encoded in their own step.
        max_avatars: u32 = 20, "avatars", KeyKind::whole(1, 1_000);
        /// Boxes scattered over the ground. Visitors walk through them, NPCs around them.
        ///
        /// As for regions; with NPCs at most 16,384.
        boxes: u32 = 0, "boxes", KeyKind::whole(0, 100_000);
        /// Name of these boxes, as clients show it.
        ///
        /// Their owner and creator is the grid's operator.
        box_name: String = link::BOX_NAME.into(), "–", KeyKind::Name;
        /// File of a whole region whose objects stand in every instance, beside the configuration file; empty: none. `throng region export` writes such
        /// files, and archives (`.oar`) are some, whose assets the server stores at each start.
        ///
        /// All instances share one copy, which none of them can change. Visitors walk through the objects, NPCs around boxes of their sizes. With NPCs at
        /// most 16,384 objects and boxes.
        content: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// File with the NPCs of its instances ([npcs.md](npcs.md)), beside the configuration file; empty: none.
        ///
        /// The navmesh is built at the start, about half a second for 256 m. Each NPC takes a few hundred nanoseconds per tick while a
        /// visitor is present, and about two kilobytes of memory.
        npcs: PathBuf = PathBuf::new(), "path", KeyKind::Text;
        /// Time without visitors after which an instance that a portal created ends, with all that is saved of it; 0 is never.
        ///
        /// Instances created by the API are kept until they are ended. A user who walks into the portal after that gets a new instance.
        keep_h: u32 = 720, "h", KeyKind::whole(0, 87_600);
        /// Steps a second of its instances; 0 is as many as `world.hz`.
        ///
        /// As for regions.
        hz: u32 = 0, "1/s", KeyKind::OneOf(&[0, 20, 30, 45]);
    }
}

section! {
    /// Portals between worlds, one table for each. An arch stands over it.
    pub struct PortalSection in "portal", repeated: true {
        /// Name of the region or template that it stands in.
        ///
        /// In a template it stands in every instance.
        from: String = String::new(), "–", KeyKind::Name;
        /// Metres from the western border.
        ///
        /// Keep away from where visitors arrive, which is the middle of the world.
        x: f32 = 128.0, "m", KeyKind::Number { min: 1.0, max: 1_023.0 };
        /// Metres from the southern border.
        ///
        /// As for `x`.
        y: f32 = 128.0, "m", KeyKind::Number { min: 1.0, max: 1_023.0 };
        /// Radius of the portal.
        ///
        /// Avatars are 0.6 m wide and miss a narrow portal.
        radius_m: f32 = 1.5, "m", KeyKind::Number { min: 0.5, max: 20.0 };
        /// Destination: the name of a template, of which each visitor gets an instance of its own, or `back`.
        ///
        /// `back` stands in templates only: it leads to the visitor's former place in a region. Exits of an instance without a way back
        /// are its end, the API, a teleport home and a logout.
        to: String = PortalSection::BACK.into(), "–", KeyKind::Name;
    }
}

/// Steps a second of a world that is given this rate, when those without one have the other.
pub(crate) const fn hz_or(given: u32, usual: u32) -> u32 {
    if given == 0 { usual } else { given }
}

impl RegionSection {
    /// World id of the region at this index.
    pub(crate) fn world(&self, index: usize) -> WorldId {
        let by_place = || u32::try_from(index + 1).unwrap_or(u32::MAX);
        WorldId(if self.id == 0 { by_place() } else { self.id })
    }
}

impl PortalSection {
    /// Destination of the way back.
    pub const BACK: &'static str = "back";
}
