//! What frames say of NPCs: avatars like any other, of no login.

use super::{HALF_HEIGHT_M, Legs};
use crate::{
    command::Appearance,
    frame::{Audience, Avatar, Change, Entity, Frame, Motion},
    world::World,
};
use glam::{Quat, Vec2, Vec3};
use ids::{AgentId, LocalId, SessionKey, Uuid};
use std::sync::Arc;

/// High half of NPCs' account ids: no account has one of these, and none of another world's NPCs.
const NPC_ID_SPACE: u64 = 0x7468_726f_6e67_5000;

impl World {
    /// Those who came, by number.
    pub(crate) fn tell_new_npcs(&mut self, out: &mut Frame) {
        for number in 0..self.npcs.len() {
            if self.npcs.legs[number].news.created {
                out.changes.extend(self.npc_entity(number).map(Change::Created));
            }
        }
    }

    /// What is new of the others.
    pub(crate) fn tell_npcs(&mut self, out: &mut Frame) {
        let roles = self.cast.iter().flat_map(|cast| &cast.roles);
        for ((legs, head), role) in self.npcs.legs.iter_mut().zip(&self.npcs.heads).zip(roles) {
            let news = std::mem::take(&mut legs.news);
            let Some(id) = legs.id.filter(|_| !news.created) else {
                self.counters.entities_dirtied += u64::from(news.created);
                continue;
            };
            if news.appeared {
                out.changes.push(Change::Appeared(id, role.appearance.clone()));
            }
            if news.animated {
                out.changes.push(Change::Animated(id, head.animator.list().clone()));
            }
            if news.moved {
                out.changes.push(Change::Moved(id, legs.motion()));
            }
            self.counters.entities_dirtied += u64::from(news.animated | news.moved | news.appeared);
        }
    }

    /// An NPC as frames tell it, if it is in the world.
    pub(crate) fn npc_entity(&self, number: usize) -> Option<Arc<Entity>> {
        let cast = self.cast.as_ref()?;
        let (legs, head) = (self.npcs.legs.get(number)?, &self.npcs.heads[number]);
        let role = &cast.roles[number];
        Some(Arc::new(Entity {
            id: legs.id?,
            audience: Audience::All,
            motion: legs.motion(),
            avatar: Avatar {
                session: SessionKey::NODE,
                agent: self.npc_agent(number),
                first_name: role.first_name.clone(),
                last_name: role.last_name.clone(),
                size: Appearance::DEFAULT_SIZE,
                appearance: role.appearance.clone(),
                animations: head.animator.list().clone(),
            },
        }))
    }

    /// The entity of an NPC with this local id.
    pub(crate) fn npc_with_id(&self, id: LocalId) -> Option<Arc<Entity>> {
        let number = self.npcs.legs.iter().position(|legs| legs.id == Some(id))?;
        self.npc_entity(number)
    }

    /// What messages name it by. The same as long as the world lives, and in no other world of the node.
    pub(super) fn npc_agent(&self, number: usize) -> AgentId {
        AgentId(Uuid::from_u64_pair(NPC_ID_SPACE, u64::from(self.id.0) << 32 | number as u64))
    }
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
