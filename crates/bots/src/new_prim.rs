//! A new prim, as the building tool of a viewer requests it: a selected box of wood.

use glam::{Quat, Vec3};
use wire::messages::ObjectAddObjectData;

/// `AddFlags` of ObjectAdd: the client selects the new object.
const CREATE_SELECTED: u32 = 1 << 1;
const PCODE_PRIM: u8 = 9;
const MATERIAL_WOOD: u8 = 3;
const PATH_LINE: u8 = 0x10;
const PROFILE_SQUARE: u8 = 1;
const PATH_SCALE_ONE: u8 = 100;

/// A new prim around a place.
pub(crate) fn new_prim(position: Vec3, scale: Vec3) -> ObjectAddObjectData {
    ObjectAddObjectData {
        p_code: PCODE_PRIM,
        material: MATERIAL_WOOD,
        add_flags: CREATE_SELECTED,
        path_curve: PATH_LINE,
        profile_curve: PROFILE_SQUARE,
        path_scale_x: PATH_SCALE_ONE,
        path_scale_y: PATH_SCALE_ONE,
        bypass_raycast: 1,
        // The new object stands on the end of the ray.
        ray_start: position + Vec3::Z,
        ray_end: position - Vec3::Z * (scale.z / 2.0),
        scale,
        rotation: Quat::IDENTITY,
        ..ObjectAddObjectData::default()
    }
}
