//! Linksets of a world as archives have them.

use archive::object::flags::PART_FLAGS;
use archive::object::{PartPlace, SceneGroup, ScenePart};
use ids::AgentId;
use link::{PrimFlags, PrimMotion, VersionedBody};
use prim::{Mask, Ownership};
use std::sync::Arc;

/// A linkset of a world, the root first; none without a prim.
#[must_use]
pub fn group_of(prims: &[(PrimMotion, VersionedBody)]) -> Option<SceneGroup> {
    let mut parts = prims.iter().map(|(place, versioned)| ScenePart {
        place: PartPlace {
            position: place.motion.position,
            rotation: place.motion.rotation,
            velocity: place.motion.velocity,
            angular_velocity: place.motion.angular_velocity,
            acceleration: place.motion.acceleration,
            attached_position: None,
        },
        flags: place.flags.0 & PART_FLAGS & !PrimFlags::TEMPORARY.0,
        body: Arc::clone(&versioned.body),
    });
    Some(SceneGroup { root: parts.next()?, others: parts.collect() })
}

/// True if a user may give all prims of a linkset away with these rights, by the rule of OpenSimulator: own prims by their base mask, those of others by the
/// mask of everyone, of which copying implies giving away, and prims that it has made in any case.
#[must_use]
pub fn is_exportable(prims: &[(PrimMotion, VersionedBody)], user: Option<AgentId>, rights: Mask) -> bool {
    prims.iter().all(|(_, versioned)| {
        let Ownership { creator, owner, permissions, .. } = *versioned.body.ownership;
        let is = |agent: AgentId| user == Some(agent);
        let everyone = permissions.everyone & permissions.base;
        let implied = if everyone.has(Mask::COPY) { Mask::TRANSFER } else { Mask::NONE };
        let held = if is(owner) { permissions.base } else { everyone | implied };
        is(creator) || held.has(rights)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{agent, part, with};
    use glam::Vec3;
    use prim::Permissions;

    fn linkset(owner: u128, permissions: Permissions) -> Vec<(PrimMotion, VersionedBody)> {
        let part = with(part(1, Vec3::ONE), |body| {
            let ownership = Ownership { owner: agent(owner), permissions, ..*body.ownership };
            body.ownership = Arc::new(ownership);
        });
        vec![(PrimMotion::NONE, VersionedBody { version: 1, body: part.body })]
    }

    #[test]
    fn rights_of_owners_creators_and_others_decide_about_an_export() {
        let full = Permissions::NEW;
        let bare = Permissions { base: Mask::MOVE | Mask::COPY, ..full };
        let shared = Permissions { everyone: Mask::COPY, ..full };
        let both = Mask::COPY | Mask::TRANSFER;
        for (owner, permissions, user, rights, expected) in [
            (2, full, Some(2), both, true),
            (2, bare, Some(2), both, false),
            (2, bare, Some(2), Mask::COPY, true),
            (2, full, Some(3), Mask::COPY, false),
            (2, shared, Some(3), both, true),
            (2, full, Some(3), Mask::NONE, true),
            // Made by the user 1.
            (2, bare, Some(1), both, true),
            (2, full, None, both, false),
        ] {
            let exportable = is_exportable(&linkset(owner, permissions), user.map(agent), rights);
            assert_eq!(exportable, expected, "{owner} {permissions:?} {user:?} {rights:?}");
        }
    }

    #[test]
    fn a_linkset_is_written_without_flags_that_follow_from_contents() {
        let mut prims = linkset(1, Permissions::NEW);
        let flags = PrimFlags::PHANTOM.0 | PrimFlags::SCRIPTED.0 | PrimFlags::INVENTORY_EMPTY.0;
        prims[0].0.flags = PrimFlags(flags);
        let group = group_of(&prims).expect("a root");
        assert_eq!((group.root.flags, group.others.len()), (PrimFlags::PHANTOM.0, 0));
        assert_eq!(group_of(&[]), None);
    }
}
