//! Scene messages for tests: bodies without message numbers, as a server sends them.

use crate::identity::Identity;
use glam::{Quat, Vec3, Vec4};
use ids::{AgentId, CircuitCode, LocalId, RegionHandle, SessionId, Uuid};
use wire::object_update::{self, FullAvatar, FullMotion};
use wire::terse::{self, AVATAR_BLOCK_LEN, TerseAvatar};

/// The bot of a test.
pub(crate) const IDENTITY: Identity = Identity {
    agent: AgentId(Uuid::from_u128(7)),
    session: SessionId(Uuid::from_u128(70)),
    circuit_code: CircuitCode(700),
};

/// An ObjectUpdate of one avatar.
pub(crate) fn full_update(agent: AgentId, local_id: LocalId, position: Vec3) -> Vec<u8> {
    let mut bytes = Vec::new();
    object_update::write_prefix(&mut bytes, RegionHandle(1), 1.0, 1);
    let motion = FullMotion {
        position,
        velocity: Vec3::ZERO,
        acceleration: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        angular_velocity: Vec3::ZERO,
    };
    let avatar = FullAvatar {
        local_id,
        agent,
        first_name: "Bot",
        last_name: "Load",
        title: "",
        parent: LocalId(0),
        size: Vec3::ONE,
        motion,
        collision_plane: Vec4::Z,
        update_flags: 0,
        texture_entry: &[],
    };
    object_update::encode_avatar(&avatar, &mut bytes);
    bytes.split_off(1)
}

/// An ImprovedTerseObjectUpdate of avatars at these positions with these velocities.
pub(crate) fn terse_update(blocks: &[(LocalId, Vec3, Vec3)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    terse::write_prefix(&mut bytes, RegionHandle(1), 1.0, u8::try_from(blocks.len()).expect("one message"));
    for &(local_id, position, velocity) in blocks {
        let mut block = [0; AVATAR_BLOCK_LEN];
        let avatar = TerseAvatar {
            local_id,
            position,
            velocity,
            acceleration: Vec3::ZERO,
            rotation: Quat::IDENTITY,
            angular_velocity: Vec3::ZERO,
            collision_plane: Vec4::Z,
        };
        terse::encode_avatar(&avatar, &mut block);
        bytes.extend_from_slice(&block);
    }
    bytes.split_off(1)
}
