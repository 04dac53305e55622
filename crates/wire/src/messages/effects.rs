//! Passing effects between clients, and the envelope for requests without a message of their own.

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

    /// A method name with text parameters, for methods without a message of their own.
    GenericMessage: Low 261, zero_coded, from Either {
        agent_data: one GenericMessageAgentData { agent_id: Uuid, session_id: Uuid, transaction_id: Uuid }
        method_data: one GenericMessageMethodData { method: Variable1, invoice: Uuid }
        param_list: many GenericMessageParamList { parameter: Variable1 }
    }
}
