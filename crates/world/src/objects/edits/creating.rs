//! New prims and copies of linksets.

use super::editor::{ObjectEditor, bounded_size, hand_over, size_range_m, unit_rotation};
use ids::{LocalId, Uuid};
use link::{
    CopyPlace, Duplicates, EditRefusal, Motion, NewObject, PrimFlags, PrimMotion, VersionedBody,
    plain_texture,
};
use prim::{Body, Material, PCode};
use std::sync::{Arc, LazyLock};
use uuid::Builder;

/// Textures of a new prim, one entry for all of them. It closes with the null id of a material, as entries of other servers do: node-metaverse writes an
/// entry back only if it has read one.
static PLYWOOD: LazyLock<Arc<[u8]>> = LazyLock::new(|| {
    let textures = plain_texture(ids::PLYWOOD_TEXTURE.as_u128());
    [&textures[..], Uuid::nil().as_bytes()].concat().into()
});

/// Number of the first item among the ids that are derived from a prim's: those of prims are below it.
const ITEM_IDS: u64 = 1 << 32;

/// Flags that a new prim can have.
const NEW_FLAGS: PrimFlags = PrimFlags(PrimFlags::PHYSICS.0 | PrimFlags::PHANTOM.0 | PrimFlags::TEMPORARY.0);

impl ObjectEditor<'_> {
    pub(super) fn create(&mut self, object: NewObject) {
        let result = self.charge(1).and_then(|()| self.try_create(object));
        self.settle(None, result);
    }

    fn try_create(&mut self, new: NewObject) -> Result<(), EditRefusal> {
        let owner = self.new_owner()?;
        let (p_code, material) = PCode::of_code(new.p_code)
            .zip(Material::of_code(new.material))
            .filter(|_| !new.id.is_nil())
            .ok_or(EditRefusal::BadValue)?;
        let shape = new.shape.clamped().map_err(|_| EditRefusal::BadValue)?;
        let motion = Motion {
            position: self.nearest_in_region(new.position)?,
            rotation: unit_rotation(new.rotation)?,
            ..Motion::default()
        };
        let flags = PrimFlags::INVENTORY_EMPTY.with(NEW_FLAGS, new.flags);
        let mut body = Body {
            p_code,
            state: if p_code == PCode::Prim { 0 } else { new.state },
            material,
            scale: bounded_size(new.scale, size_range_m(flags))?,
            ..Body::new(new.id, shape, Arc::clone(&PLYWOOD), owner, new.created_us)
        };
        Arc::make_mut(&mut body.ownership).group = new.group;
        let prim = PrimMotion { motion, flags, ..PrimMotion::NONE };
        self.add(vec![(prim, VersionedBody { version: 1, body: Arc::new(body) })], new.is_selected)
    }

    pub(super) fn duplicate(&mut self, duplicates: Duplicates) {
        let Duplicates { ids, group, is_selected, copies } = duplicates;
        let mut ids = (0..).map(|number| derived_id(ids, number));
        self.each(copies, |editor, original, place| {
            let prims = editor.copies_of(original, place, group, &mut ids)?;
            editor.add(prims, is_selected)
        });
    }

    /// The prims of a copy.
    fn copies_of(
        &mut self,
        original: LocalId,
        place: CopyPlace,
        group: Uuid,
        ids: &mut impl Iterator<Item = Uuid>,
    ) -> Result<Vec<(PrimMotion, VersionedBody)>, EditRefusal> {
        let owner = self.new_owner()?;
        let judged = self.need(original, prim::Edit::Copy)?;
        if judged.is_attached {
            return Err(EditRefusal::Attached);
        }
        let root = self.store.motion(judged.root).ok_or(EditRefusal::Unknown)?.motion;
        let (position, rotation) = match place {
            CopyPlace::Offset(offset) => (root.position + offset, None),
            CopyPlace::At { position, ray: _, rotation } => (position, rotation),
        };
        let motion = Motion {
            position: self.nearest_in_region(position)?,
            rotation: rotation.map_or(Ok(root.rotation), unit_rotation)?,
            ..Motion::default()
        };
        let linkset = self.linkset(judged.root)?;
        self.charge_items(&linkset)?;
        let mut prims: Vec<(PrimMotion, VersionedBody)> =
            linkset.into_iter().filter_map(|id| self.store.prim(id)).collect();
        prims.first_mut().ok_or(EditRefusal::Unknown)?.0.motion = motion;
        for ((_, versioned), id) in prims.iter_mut().zip(ids) {
            become_another(versioned, id);
            if judged.owner != owner {
                hand_over(Arc::make_mut(&mut versioned.body), owner, group);
            }
        }
        Ok(prims)
    }
}

/// Makes a prim of a copy one of its own, with this id. Its items get others, too.
pub(super) fn become_another(versioned: &mut VersionedBody, id: Uuid) {
    let body = Arc::make_mut(&mut versioned.body);
    body.id = id;
    if let Some(contents) = &mut body.contents {
        *contents = Arc::new(contents.with_ids(|place| derived_id(id, ITEM_IDS + place)));
    }
    versioned.version = 1;
}

/// The id of the n-th new prim of a request, from a random one, in the form of random ids.
pub(super) fn derived_id(first: Uuid, number: u64) -> Uuid {
    if number == 0 {
        return first;
    }
    let (high, low) = first.as_u64_pair();
    let [a, b] = [1, 2].map(|half| state_hash::mix(state_hash::mix(high ^ number) ^ low.rotate_left(half)));
    Builder::from_random_bytes(*Uuid::from_u64_pair(a, b).as_bytes()).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn derived_ids_are_random_ones_and_differ() {
        let ids = |first: u128| (0..1_000).map(move |number| derived_id(Uuid::from_u128(first), number));
        let all: BTreeSet<Uuid> = ids(1 << 100).chain(ids(7)).collect();
        assert_eq!(all.len(), 2_000);
        assert!(ids(7).skip(1).all(|id| id.get_version_num() == 4));
        assert_eq!(derived_id(Uuid::from_u128(7), 0), Uuid::from_u128(7));
    }
}
