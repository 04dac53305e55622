//! Changes of NPCs, written into frames: avatars without a login.

use super::{HALF_HEIGHT_M, Legs, Npcs};
use crate::{counters::WorldCounters, setting::WorldSetting};
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, LocalId, SessionKey, Uuid, WorldId};
use link::{Appearance, Audience, Avatar, Change, Entity, Frame, Motion};
use std::sync::Arc;

/// High half of NPCs' account ids: no account has one of these, and none of another world's NPCs.
const NPC_ID_SPACE: u64 = 0x7468_726f_6e67_5000;

impl Npcs {
    /// Writes newcomers into the frame, by number.
    pub(crate) fn write_newcomers(&self, setting: &WorldSetting, out: &mut Frame) {
        for number in 0..self.len() {
            if self.legs[number].dirty.created {
                out.changes.extend(self.entity(number, setting).map(Change::Created));
            }
        }
    }

    /// Writes the changes of the others.
    pub(crate) fn write_changes(
        &mut self,
        setting: &WorldSetting,
        counters: &mut WorldCounters,
        out: &mut Frame,
    ) {
        let roles = setting.cast.iter().flat_map(|cast| &cast.roles);
        for ((legs, head), role) in self.legs.iter_mut().zip(&self.heads).zip(roles) {
            let dirty = std::mem::take(&mut legs.dirty);
            let Some(id) = legs.id.filter(|_| !dirty.created) else {
                counters.entities_dirtied += u64::from(dirty.created);
                continue;
            };
            if dirty.appeared {
                out.changes.push(Change::Appeared(id, role.appearance.clone()));
            }
            if dirty.animated {
                out.changes.push(Change::Animated(id, head.animator.list().clone()));
            }
            if dirty.moved {
                out.changes.push(Change::Moved(id, legs.motion()));
            }
            counters.entities_dirtied += u64::from(dirty.animated | dirty.moved | dirty.appeared);
        }
    }

    /// An NPC as frames describe it, if it is in the world.
    fn entity(&self, number: usize, setting: &WorldSetting) -> Option<Arc<Entity>> {
        let cast = setting.cast.as_ref()?;
        let (legs, head) = (self.legs.get(number)?, &self.heads[number]);
        let role = &cast.roles[number];
        Some(Arc::new(Entity {
            id: legs.id?,
            audience: Audience::All,
            motion: legs.motion(),
            seat: None,
            avatar: Avatar {
                session: SessionKey::NODE,
                agent: agent_of(setting.id, number),
                first_name: role.first_name.clone(),
                last_name: role.last_name.clone(),
                size: Appearance::DEFAULT_SIZE,
                appearance: role.appearance.clone(),
                animations: head.animator.list().clone(),
            },
        }))
    }

    /// The entity of the NPC with this local id.
    pub(crate) fn entity_with_id(&self, id: LocalId, setting: &WorldSetting) -> Option<Arc<Entity>> {
        let number = self.legs.iter().position(|legs| legs.id == Some(id))?;
        self.entity(number, setting)
    }
}

/// The account id that messages name an NPC by: the same as long as the world lives, and in no other world of the node.
pub(super) fn agent_of(WorldId(world): WorldId, number: usize) -> AgentId {
    AgentId(Uuid::from_u64_pair(NPC_ID_SPACE, u64::from(world) << 32 | number as u64))
}

impl Legs {
    fn motion(&self) -> Motion {
        Motion {
            position: self.position(),
            velocity: self.velocity.extend(self.climb),
            acceleration: Vec3::ZERO,
            rotation: upright(self.facing),
            angular_velocity: Vec3::ZERO,
        }
    }
}

/// The rotation about the vertical that faces along a unit vector; its real part is not negative.
fn upright(facing: Vec2) -> Quat {
    // Half the angle by its cosine: no function that machines may compute differently.
    let w = libm::sqrtf(((1.0 + facing.x) / 2.0).max(0.0));
    let z = libm::sqrtf(((1.0 - facing.x) / 2.0).max(0.0));
    Quat::from_xyzw(0.0, 0.0, if facing.y < 0.0 { -z } else { z }, w)
}

const _: () = assert!(HALF_HEIGHT_M * 2.0 == Appearance::DEFAULT_SIZE.z);
