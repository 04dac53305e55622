//! Shape, textures, matter and names.

use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use link::{ExtraParamEdit, FlagsEdit, ObjectCommand, PhysicsEdit, Textures};
use prim::Shape;
use wire::messages::*;
use wire::text::from_wire;

impl Shard {
    pub(in crate::shard) fn on_object_shape(&mut self, at: &mut Incoming<'_>, m: ObjectShape) -> Handled {
        self.edit_rows(at, m.object_data, |row| row.object_local_id, shape, ObjectCommand::Shape)
    }

    pub(in crate::shard) fn on_object_image(&mut self, at: &mut Incoming<'_>, m: ObjectImage) -> Handled {
        let read = |row: ObjectImageObjectData| Textures {
            entry: row.texture_entry.into(),
            media_url: from_wire(&row.media_url),
        };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::Textures)
    }

    pub(in crate::shard) fn on_object_material(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectMaterial,
    ) -> Handled {
        let id_of = |row: &ObjectMaterialObjectData| row.object_local_id;
        self.edit_rows(at, m.object_data, id_of, |row| row.material, ObjectCommand::Material)
    }

    pub(in crate::shard) fn on_object_extra_params(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectExtraParams,
    ) -> Handled {
        if m.object_data.iter().any(|row| row.param_size as usize != row.param_data.len()) {
            return Err(Refused::BadValue.into());
        }
        let read = |row: ObjectExtraParamsObjectData| ExtraParamEdit {
            kind: row.param_type,
            data: row.param_in_use.then_some(row.param_data),
        };
        self.edit_rows(at, m.object_data, |row| row.object_local_id, read, ObjectCommand::ExtraParam)
    }

    /// Old viewers send no matter.
    pub(in crate::shard) fn on_flag_update(&mut self, at: &mut Incoming<'_>, m: ObjectFlagUpdate) -> Handled {
        let asked = m.agent_data;
        let matter = m.extra_physics.first().map(|row| PhysicsEdit {
            shape: row.physics_shape_type,
            density: row.density,
            friction: row.friction,
            restitution: row.restitution,
            gravity: row.gravity_multiplier,
        });
        let edit = FlagsEdit {
            is_physical: asked.use_physics,
            is_temporary: asked.is_temporary,
            is_phantom: asked.is_phantom,
            physics: matter,
        };
        let one = |rows: Vec<(ids::LocalId, FlagsEdit)>| {
            let (id, edit) = rows[0];
            ObjectCommand::Flags(id, edit)
        };
        self.edit_rows(at, vec![asked.object_local_id], |&id| id, |_| edit, one)
    }

    pub(in crate::shard) fn on_object_click_action(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectClickAction,
    ) -> Handled {
        let id_of = |row: &ObjectClickActionObjectData| row.object_local_id;
        self.edit_rows(at, m.object_data, id_of, |row| row.click_action, ObjectCommand::ClickAction)
    }

    pub(in crate::shard) fn on_object_in_search(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectIncludeInSearch,
    ) -> Handled {
        let id_of = |row: &ObjectIncludeInSearchObjectData| row.object_local_id;
        self.edit_rows(at, m.object_data, id_of, |row| row.include_in_search, ObjectCommand::InSearch)
    }

    pub(in crate::shard) fn on_object_name(&mut self, at: &mut Incoming<'_>, m: ObjectName) -> Handled {
        let read = |row: ObjectNameObjectData| from_wire(&row.name);
        self.edit_rows(at, m.object_data, |row| row.local_id, read, ObjectCommand::Name)
    }

    pub(in crate::shard) fn on_object_description(
        &mut self,
        at: &mut Incoming<'_>,
        m: ObjectDescription,
    ) -> Handled {
        let read = |row: ObjectDescriptionObjectData| from_wire(&row.description);
        self.edit_rows(at, m.object_data, |row| row.local_id, read, ObjectCommand::Description)
    }
}

fn shape(row: ObjectShapeObjectData) -> Shape {
    Shape {
        path_curve: row.path_curve,
        profile_curve: row.profile_curve,
        path_begin: row.path_begin,
        path_end: row.path_end,
        path_scale_x: row.path_scale_x,
        path_scale_y: row.path_scale_y,
        path_shear_x: row.path_shear_x.cast_signed(),
        path_shear_y: row.path_shear_y.cast_signed(),
        path_twist: row.path_twist,
        path_twist_begin: row.path_twist_begin,
        path_radius_offset: row.path_radius_offset,
        path_taper_x: row.path_taper_x,
        path_taper_y: row.path_taper_y,
        path_revolutions: row.path_revolutions,
        path_skew: row.path_skew,
        profile_begin: row.profile_begin,
        profile_end: row.profile_end,
        profile_hollow: row.profile_hollow,
    }
}
