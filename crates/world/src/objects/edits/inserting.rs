//! Linksets that come as they are: those of an import.

use super::creating::derived_id;
use super::editor::{OFFSET_MAX_M, ObjectEditor, finite, unit_rotation};
use ids::Uuid;
use link::{EditRefusal, InsertedLinkset, Insertion, Motion, PrimFlags, PrimMotion, VersionedBody};
use prim::{Body, BodyError, PCode, check_texture_entry};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Flags that an inserted prim keeps. An import is never temporary.
const KEPT_FLAGS: PrimFlags = PrimFlags(
    PrimFlags::PHYSICS.0
        | PrimFlags::SCRIPTED.0
        | PrimFlags::TOUCH.0
        | PrimFlags::MONEY.0
        | PrimFlags::PHANTOM.0
        | PrimFlags::VOLUME_DETECT.0
        | PrimFlags::IN_SEARCH.0
        | PrimFlags::ALLOW_DROP.0,
);

impl ObjectEditor<'_> {
    pub(super) fn insert(&mut self, insertion: Insertion, keeps_ids: bool) {
        let Insertion { ids, linksets } = insertion;
        let mut fresh = (1..).map(|number| derived_id(ids, number));
        for linkset in linksets {
            let result = self.insert_linkset(linkset, keeps_ids, &mut fresh);
            self.settle(None, result);
        }
    }

    /// Adds a linkset whole, or refuses it.
    fn insert_linkset(
        &mut self,
        linkset: InsertedLinkset,
        keeps_ids: bool,
        fresh: &mut impl Iterator<Item = Uuid>,
    ) -> Result<(), EditRefusal> {
        if !self.actor.is_node {
            return Err(EditRefusal::Rights);
        }
        let (root_place, root_body) = linkset.prims.first().ok_or(EditRefusal::BadValue)?;
        let (owner, root_flags) = (root_body.ownership.owner, root_place.flags);
        let mut new = BTreeSet::new();
        let mut prims = Vec::with_capacity(linkset.prims.len());
        for ((place, body), fresh) in linkset.prims.into_iter().zip(fresh) {
            if body.ownership.owner != owner {
                return Err(EditRefusal::OtherOwner);
            }
            let mut body = checked(&body)?;
            let is_free = !body.id.is_nil() && self.store.local_id(body.id).is_none() && new.insert(body.id);
            if !is_free {
                if keeps_ids {
                    return Err(EditRefusal::Twice);
                }
                body.id = fresh;
                new.insert(fresh);
            }
            let motion = self.inserted_place(&place.motion, prims.is_empty())?;
            let flags = place.flags.with(PrimFlags::OF_LINKSET, root_flags);
            let flags = PrimFlags::default().with(KEPT_FLAGS, flags);
            let prim = PrimMotion { motion, flags, ..PrimMotion::NONE };
            // Random, as the id that it is taken from.
            let version = (fresh.as_u64_pair().1 as u32).max(1);
            prims.push((prim, VersionedBody { version, body: Arc::new(body) }));
        }
        self.add(prims, false)
    }

    /// The place of an inserted prim, at rest.
    fn inserted_place(&self, place: &Motion, is_root: bool) -> Result<Motion, EditRefusal> {
        let position = if is_root {
            self.in_region(place.position)?
        } else {
            let offset = finite(place.position)?;
            if offset.abs().max_element() > OFFSET_MAX_M {
                return Err(EditRefusal::TooFar);
            }
            offset
        };
        Ok(Motion { position, rotation: unit_rotation(place.rotation)?, ..Motion::default() })
    }
}

/// A body as worlds have them.
fn checked(body: &Body) -> Result<Body, EditRefusal> {
    let mut body = body.clone().checked().map_err(|why| match why {
        BodyError::Size | BodyError::Physics | BodyError::SitTarget | BodyError::Sound => {
            EditRefusal::BadNumber
        }
        BodyError::Length { .. }
        | BodyError::Media(_)
        | BodyError::Overrides(_)
        | BodyError::Contents(_)
        | BodyError::TextureAnimation(_) => EditRefusal::BadValue,
    })?;
    body.shape = body.shape.clamped().map_err(|_| EditRefusal::BadValue)?;
    check_texture_entry(&body.texture_entry).map_err(|_| EditRefusal::BadValue)?;
    if let Some(contents) = &mut body.contents
        && contents.items.iter().any(|item| item.ownership.owner != body.ownership.owner)
    {
        *contents = Arc::new(contents.with_owner(body.ownership.owner));
    }
    if body.p_code == PCode::Prim {
        // The attachment point of a linkset that was worn when it was written.
        body.state = 0;
    }
    Ok(body)
}
