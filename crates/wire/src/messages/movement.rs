//! Actions of an avatar's body: control, sitting, animations, camera.

messages! {
    /// Held control keys, body and camera: 1–125 times a second, usually 10, even when idle. Movement is the server's: a flag held in
    /// the newest update stays in effect until the next one. Decoding it allocates nothing.
    ///
    /// Do not rely on its `agent_id`: one client puts the session there. The circuit identifies the agent.
    AgentUpdate: High 4, zero_coded, from Client {
        agent_data: one AgentUpdateAgentData {
            agent_id: Uuid, session_id: Uuid, body_rotation: Quat, head_rotation: Quat,
            /// 4: typing, 16: editing an object.
            state: u8,
            /// Metres from the region's corner.
            camera_center: Vec3,
            camera_at_axis: Vec3, camera_left_axis: Vec3, camera_up_axis: Vec3,
            /// Draw distance in metres.
            far: f32,
            /// AGENT_CONTROL bits: 0–5 forward, back, left, right, up, down; 6–9 pitch and yaw; 10–12 fast; 13 fly; 14 stop; 15 finish
            /// animation; 16 stand up; 17 sit on ground; 18 mouselook; 19–24 nudges; 25, 26 turn left, right; 27 away; 28–31 mouse
            /// button.
            control_flags: u32,
            /// 1: hide the title, 2: automatic pilot.
            flags: u8,
        }
    }

    /// Run whenever a walk is asked for.
    SetAlwaysRun: Low 88, plain, from Client {
        agent_data: one SetAlwaysRunAgentData { agent_id: Uuid, session_id: Uuid, always_run: bool }
    }

    /// The user wants to sit on an object.
    AgentRequestSit: High 6, zero_coded, from Client {
        agent_data: one AgentRequestSitAgentData { agent_id: Uuid, session_id: Uuid }
        target_object: one AgentRequestSitTargetObject {
            target_id: Uuid,
            /// Metres from the object's centre.
            offset: Vec3,
        }
    }

    /// Position of the avatar's seat on the object.
    AvatarSitResponse: High 21, zero_coded, from Server {
        sit_object: one AvatarSitResponseSitObject { id: Uuid }
        sit_transform: one AvatarSitResponseSitTransform {
            auto_pilot: bool, sit_position: Vec3, sit_rotation: Quat, camera_eye_offset: Vec3,
            camera_at_offset: Vec3,
            /// Puts the camera behind the eyes.
            force_mouselook: bool,
        }
    }

    /// Confirms [`AvatarSitResponse`]: sit down now.
    AgentSit: High 7, plain, from Client {
        agent_data: one AgentSitAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// Starts and stops animations of the own avatar.
    AgentAnimation: High 5, plain, from Client {
        agent_data: one AgentAnimationAgentData { agent_id: Uuid, session_id: Uuid }
        animation_list: many AgentAnimationAnimationList {
            anim_id: Uuid,
            /// `false` stops it.
            start_anim: bool,
        }
        physical_avatar_event_list: many AgentAnimationPhysicalAvatarEventList { type_data: Variable1 }
    }

    /// All animations that an avatar plays now, and which object started each.
    AvatarAnimation: High 20, plain, from Server {
        sender: one AvatarAnimationSender { id: Uuid }
        animation_list: many AvatarAnimationAnimationList {
            anim_id: Uuid,
            /// Rises whenever the avatar starts one, so that clients notice a restart.
            anim_sequence_id: i32,
        }
        animation_source_list: many AvatarAnimationAnimationSourceList { object_id: Uuid }
        physical_avatar_event_list: many AvatarAnimationPhysicalAvatarEventList { type_data: Variable1 }
    }

    /// Size of the client's window in pixels.
    AgentHeightWidth: Low 83, plain, from Client {
        agent_data: one AgentHeightWidthAgentData { agent_id: Uuid, session_id: Uuid, circuit_code: u32 }
        height_width_block: one AgentHeightWidthHeightWidthBlock {
            /// Rises with every change.
            gen_counter: u32,
            height: u16, width: u16,
        }
    }

    /// The camera's vertical opening.
    AgentFOV: Low 82, plain, from Client {
        agent_data: one AgentFOVAgentData { agent_id: Uuid, session_id: Uuid, circuit_code: u32 }
        fov_block: one AgentFOVFOVBlock {
            /// Rises with every change.
            gen_counter: u32,
            /// Radians.
            vertical_angle: f32,
        }
    }

    /// A plane that the camera should not pass.
    CameraConstraint: High 22, zero_coded, from Server {
        camera_collide_plane: one CameraConstraintCameraCollidePlane { plane: Vec4 }
    }

    /// The client extrapolates movement (all do).
    VelocityInterpolateOn: Low 125, plain, from Client {
        agent_data: one VelocityInterpolateOnAgentData { agent_id: Uuid, session_id: Uuid }
    }

    /// The client does not extrapolate movement.
    VelocityInterpolateOff: Low 126, plain, from Client {
        agent_data: one VelocityInterpolateOffAgentData { agent_id: Uuid, session_id: Uuid }
    }
}
