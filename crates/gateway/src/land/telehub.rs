//! The telehub in the form of the viewer's window.

use glam::{Quat, Vec3};
use ids::Uuid;
use link::Estate;
use wire::messages::{TelehubInfo, TelehubInfoSpawnPointBlock, TelehubInfoTelehubBlock};
use wire::text::{VARIABLE1_MAX, to_wire};

/// The telehub of an estate; one of no object without it.
pub(crate) fn telehub_info(estate: &Estate) -> TelehubInfo {
    let hub = estate.telehub.as_ref();
    let point = |&spawn_point_pos: &Vec3| TelehubInfoSpawnPointBlock { spawn_point_pos };
    TelehubInfo {
        telehub_block: TelehubInfoTelehubBlock {
            object_id: hub.map_or(Uuid::nil(), |hub| hub.object),
            object_name: to_wire(hub.map_or("", |hub| &*hub.name), VARIABLE1_MAX),
            telehub_pos: hub.map_or(Vec3::ZERO, |hub| hub.position),
            telehub_rot: hub.map_or(Quat::IDENTITY, |hub| hub.rotation),
        },
        spawn_point_block: hub.map_or(Vec::new(), |hub| hub.spawn_points.iter().map(point).collect()),
    }
}
