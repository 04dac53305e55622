//! Linksets: their prims, items, accounts and assets.

use super::UPDATE_BYTES;
use super::accounts::AccountLedger;
use super::ledger::{AssetLedger, Naming, Referrer};
use super::mentions::Certainty;
use crate::kind::ArchivedKind;
use crate::object::{ReferenceRole, SceneGroup, item_creator_data};
use assets::AssetKind;
use prim::Body;
use std::ops::AddAssign;

/// Counts of a linkset, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupCounts {
    pub(super) n_groups: u64,
    pub(super) n_prims: u64,
    pub(super) n_items: u64,
    pub(super) n_scripts: u64,
    /// Bytes of the first updates.
    pub(super) update_bytes: u64,
}

impl AddAssign for GroupCounts {
    fn add_assign(&mut self, other: Self) {
        self.n_groups += other.n_groups;
        self.n_prims += other.n_prims;
        self.n_items += other.n_items;
        self.n_scripts += other.n_scripts;
        self.update_bytes += other.update_bytes;
    }
}

/// Notes accounts and assets of a linkset. `is_in_world` is true if clients see it.
pub(super) fn note_group(
    group: &SceneGroup,
    is_in_world: bool,
    referrer: &mut Referrer<'_>,
    assets: &mut AssetLedger,
    accounts: &mut AccountLedger,
) -> GroupCounts {
    let mut counts = GroupCounts { n_groups: 1, ..GroupCounts::default() };
    for part in group.parts() {
        let ownership = &part.body.ownership;
        accounts.add_owner(ownership.owner.0);
        accounts.add_creator(ownership.creator.0, part.creator_data().as_deref());
        counts.n_prims += 1;
        counts.update_bytes += update_bytes(&part.body);
        for item in part.body.contents.iter().flat_map(|contents| &contents.items) {
            accounts.add_owner(item.ownership.owner.0);
            accounts.add_creator(item.ownership.creator.0, item_creator_data(item).as_deref());
            counts.n_items += 1;
            counts.n_scripts += u64::from(item.asset_type == AssetKind::Script.number());
        }
    }
    let references = group.references();
    // Old files have the content of legacy materials in the part itself, and no asset for their ids.
    let has_own_materials =
        references.iter().any(|reference| matches!(reference.role, ReferenceRole::MaterialTexture));
    for reference in references {
        let is_shown = is_in_world && is_shown(&reference.role);
        let certainty = match reference.role {
            ReferenceRole::FaceMaterial(_) if has_own_materials => Certainty::Possible,
            _ => Certainty::Certain,
        };
        let kind = match reference.role {
            ReferenceRole::FaceMaterial(_) => Some(ArchivedKind::OPENSIMULATOR_MATERIAL),
            _ => reference.asset_type().and_then(ArchivedKind::from_number),
        };
        assets.name(referrer, reference.asset, Naming { certainty, kind, is_shown });
    }
    counts
}

/// True for an asset that a client is sent for a prim that it sees.
const fn is_shown(role: &ReferenceRole) -> bool {
    match role {
        ReferenceRole::FaceTexture(_)
        | ReferenceRole::FaceMaterial(_)
        | ReferenceRole::Sculpt
        | ReferenceRole::Mesh
        | ReferenceRole::LightImage
        | ReferenceRole::RenderMaterial(_)
        | ReferenceRole::OverrideTexture(_)
        | ReferenceRole::ParticleTexture
        | ReferenceRole::MaterialTexture => true,
        ReferenceRole::Sound
        | ReferenceRole::CollisionSound
        | ReferenceRole::Animation
        | ReferenceRole::Content { .. } => false,
    }
}

/// Bytes of a prim's first update, before zero-coding.
fn update_bytes(body: &Body) -> u64 {
    let lengths = [
        body.texture_entry.len(),
        body.texture_animation.len(),
        body.extra_params.as_bytes().len(),
        body.particles.len(),
        body.hover_text.text.len(),
        body.media_url.len(),
    ];
    UPDATE_BYTES + lengths.iter().sum::<usize>() as u64
}
