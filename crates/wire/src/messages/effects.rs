//! Passing effects between clients, touches of objects, and the envelope for requests without a message of their own.

messages! {
    /// Look-at, point-at and beams, relayed between clients, 1–3 a second each.
    ViewerEffect: Medium 17, zero_coded, from Either {
        agent_data: one ViewerEffectAgentData { agent_id: Uuid, session_id: Uuid }
        effect: many ViewerEffectEffect {
            id: Uuid, agent_id: Uuid, r#type: u8,
            /// Seconds.
            duration: f32,
            color: Fixed(4), type_data: Variable1,
        }
    }

    /// A sound in the world.
    SoundTrigger: High 29, plain, from Either {
        sound_data: one SoundTriggerSoundData {
            sound_id: Uuid, owner_id: Uuid, object_id: Uuid, parent_id: Uuid, handle: u64,
            /// Metres from the corner of `handle`'s region.
            position: Vec3,
            /// 0–1.
            gain: f32,
        }
    }

    /// Data for clients, of a kind that the method's number names.
    GenericStreamingMessage: High 31, plain, from Server {
        method_data: one GenericStreamingMessageMethodData { method: u16 }
        data_block: one GenericStreamingMessageDataBlock { data: Variable2 }
    }

    /// A button goes down over an object.
    ObjectGrab: Low 117, zero_coded, from Client {
        agent_data: one ObjectGrabAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: one ObjectGrabObjectData {
            local_id: u32,
            /// Metres from the object's position.
            grab_offset: Vec3,
        }
        surface_info: many ObjectGrabSurfaceInfo {
            uv_coord: Vec3, st_coord: Vec3,
            /// −1 where the viewer does not know it.
            face_index: i32, position: Vec3, normal: Vec3, binormal: Vec3,
        }
    }

    /// The button is held, some ten times a second.
    ObjectGrabUpdate: Low 118, zero_coded, from Client {
        agent_data: one ObjectGrabUpdateAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: one ObjectGrabUpdateObjectData {
            object_id: Uuid,
            /// Metres from the object's position.
            grab_offset_initial: Vec3,
            /// Metres from the region's corner.
            grab_position: Vec3,
            /// Milliseconds.
            time_since_last: u32,
        }
        surface_info: many ObjectGrabUpdateSurfaceInfo {
            uv_coord: Vec3, st_coord: Vec3, face_index: i32, position: Vec3, normal: Vec3, binormal: Vec3,
        }
    }

    /// The button goes up.
    ObjectDeGrab: Low 119, plain, from Client {
        agent_data: one ObjectDeGrabAgentData { agent_id: Uuid, session_id: Uuid }
        object_data: one ObjectDeGrabObjectData { local_id: u32 }
        surface_info: many ObjectDeGrabSurfaceInfo {
            uv_coord: Vec3, st_coord: Vec3, face_index: i32, position: Vec3, normal: Vec3, binormal: Vec3,
        }
    }

    /// A method name with text parameters, for methods without a message of their own.
    GenericMessage: Low 261, zero_coded, from Either {
        agent_data: one GenericMessageAgentData { agent_id: Uuid, session_id: Uuid, transaction_id: Uuid }
        method_data: one GenericMessageMethodData { method: Variable1, invoice: Uuid }
        param_list: many GenericMessageParamList { parameter: Variable1 }
    }
}
