//! Everything that has a local id: updates of the scene, selection, properties. The blocks sent most are
//! written by [`crate::terse`] and [`crate::object_update`]; here are the plain forms.

messages! {
    /// Objects in full. See [`crate::object_update`] for the blob in `object_data`.
    ObjectUpdate: High 12, zero_coded, from Server {
        region_data: one ObjectUpdateRegionData {
            region_handle: u64,
            /// 65,535 is 1.0.
            time_dilation: u16,
        }
        object_data: many ObjectUpdateObjectData {
            id: u32, state: u8, full_id: Uuid, crc: u32, p_code: u8, material: u8, click_action: u8,
            scale: Vec3, object_data: Variable1, parent_id: u32, update_flags: u32, path_curve: u8,
            profile_curve: u8, path_begin: u16, path_end: u16, path_scale_x: u8, path_scale_y: u8,
            path_shear_x: u8, path_shear_y: u8, path_twist: i8, path_twist_begin: i8, path_radius_offset: i8,
            path_taper_x: i8, path_taper_y: i8, path_revolutions: u8, path_skew: i8, profile_begin: u16,
            profile_end: u16, profile_hollow: u16, texture_entry: Variable2, texture_anim: Variable1,
            name_value: Variable2, data: Variable2, text: Variable1, text_color: Fixed(4),
            media_url: Variable1, ps_block: Variable1, extra_params: Variable1, sound: Uuid, owner_id: Uuid,
            gain: f32, flags: u8, radius: f32, joint_type: u8, joint_pivot: Vec3, joint_axis_or_anchor: Vec3,
        }
    }

    /// Objects in full, in the compressed form.
    ObjectUpdateCompressed: High 13, plain, from Server {
        region_data: one ObjectUpdateCompressedRegionData {
            region_handle: u64,
            /// 65,535 is 1.0.
            time_dilation: u16,
        }
        object_data: many ObjectUpdateCompressedObjectData { update_flags: u32, data: Variable2 }
    }

    /// Objects that the client may have in its cache, by checksum.
    ObjectUpdateCached: High 14, plain, from Server {
        region_data: one ObjectUpdateCachedRegionData {
            region_handle: u64,
            /// 65,535 is 1.0.
            time_dilation: u16,
        }
        object_data: many ObjectUpdateCachedObjectData { id: u32, crc: u32, update_flags: u32 }
    }

    /// New positions and movements; see [`crate::terse`].
    ImprovedTerseObjectUpdate: High 15, plain, from Server {
        region_data: one ImprovedTerseObjectUpdateRegionData {
            region_handle: u64,
            /// 65,535 is 1.0.
            time_dilation: u16,
        }
        object_data: many ImprovedTerseObjectUpdateObjectData {
            data: Variable1,
            /// Empty when the textures are unchanged.
            texture_entry: Variable2,
        }
    }

    /// Objects that are gone or out of sight. The client forgets its cached copy too.
    KillObject: High 16, plain, from Server {
        object_data: many KillObjectObjectData { id: u32 }
    }

    /// Asks for full updates of objects that the client's cache lacks.
    RequestMultipleObjects: Medium 3, zero_coded, from Client {
        agent_data: one RequestMultipleObjectsAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: many RequestMultipleObjectsObjectData {
            /// 0: not in the cache, 1: there with another checksum.
            cache_miss_type: u8,
            id: u32,
        }
    }

    /// Objects that the user selected; answered by [`ObjectProperties`] for each.
    ObjectSelect: Low 110, zero_coded, from Client {
        agent_data: one ObjectSelectAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: many ObjectSelectObjectData { object_local_id: u32 }
    }

    /// Objects that are no longer selected.
    ObjectDeselect: Low 111, zero_coded, from Client {
        agent_data: one ObjectDeselectAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: many ObjectDeselectObjectData { object_local_id: u32 }
    }

    /// Properties of objects for the build tool: owners, permissions, names.
    ObjectProperties: Medium 9, zero_coded, from Server {
        object_data: many ObjectPropertiesObjectData {
            object_id: Uuid, creator_id: Uuid, owner_id: Uuid, group_id: Uuid,
            /// Unix time in microseconds.
            creation_date: u64,
            base_mask: u32, owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32,
            ownership_cost: i32, sale_type: u8, sale_price: i32, aggregate_perms: u8,
            aggregate_perm_textures: u8, aggregate_perm_textures_owner: u8, category: u32,
            inventory_serial: i16, item_id: Uuid, folder_id: Uuid, from_task_id: Uuid, last_owner_id: Uuid,
            name: Variable1, description: Variable1, touch_name: Variable1, sit_name: Variable1,
            texture_id: Variable1,
        }
    }

    /// Asks for [`ObjectPropertiesFamily`]: the pointer rests on an object.
    RequestObjectPropertiesFamily: Medium 5, zero_coded, from Client {
        agent_data: one RequestObjectPropertiesFamilyAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: one RequestObjectPropertiesFamilyObjectData { request_flags: u32, object_id: Uuid }
    }

    /// The short form of [`ObjectProperties`].
    ObjectPropertiesFamily: Medium 10, zero_coded, from Server {
        object_data: one ObjectPropertiesFamilyObjectData {
            request_flags: u32, object_id: Uuid, owner_id: Uuid, group_id: Uuid, base_mask: u32,
            owner_mask: u32, group_mask: u32, everyone_mask: u32, next_owner_mask: u32, ownership_cost: i32,
            sale_type: u8, sale_price: i32, category: u32, last_owner_id: Uuid, name: Variable1,
            description: Variable1,
        }
    }
}
