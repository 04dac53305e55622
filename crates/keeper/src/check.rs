//! Read-only check of a region's rows without a world.

use crate::load::{DamagedObject, LoadError, LoadedObjects, Loading, RegionIds, load};
use crate::load_land::{DamagedLand, NewLand, load_land};
use crate::rows::{Interned, RowError, Versions, read_body, read_held};
use crate::worn::WornObject;
use ids::{AgentId, Uuid};
use link::StoredObjects;
use prim::Body;
use std::sync::Arc;
use store::{HeldRow, StoredRegion, WornRow};

/// An unreadable object, with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlawedObject {
    /// The object.
    pub object: DamagedObject,
    /// Owner of the object, if the row of its body is readable.
    pub owner: Option<AgentId>,
}

/// Findings in the rows of a region.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionCheck {
    /// Number of objects that a world would start with.
    pub objects: StoredObjects,
    /// Objects that would be missing, in the order of their local ids. Rows that the store found damaged are in [`StoredRegion::damages`]; the other row of
    /// such an object causes an entry here.
    pub damaged: Vec<FlawedObject>,
    /// Number of prims whose place in a linkset would change because other prims are missing.
    pub n_mended: usize,
    /// Rows of the land that would be replaced, if the description of the land was given.
    pub damaged_land: Vec<DamagedLand>,
}

/// Decodes the rows of a region's objects, and the rows of its land if `land` describes the ground.
///
/// # Errors
/// [`LoadError`]: a row of another build.
pub fn check_region(
    ids: &RegionIds,
    stored: &StoredRegion,
    land: Option<&NewLand>,
) -> Result<RegionCheck, LoadError> {
    let Loading { region: LoadedObjects { objects, damaged, n_mended, .. }, .. } =
        load(ids, stored, Uuid::nil())?;
    let damaged_land = match land {
        Some(land) => {
            load_land(land, &stored.land, &stored.damages, Uuid::nil())
                .map_err(|(key, why)| LoadError::OtherLand { key, why })?
                .damaged
        }
        None => Vec::new(),
    };
    // Both are in the order of the local ids.
    let mut bodies = stored.bodies.iter().peekable();
    let damaged = damaged.into_iter().map(|object| {
        while bodies.next_if(|(id, _)| *id < object.id).is_some() {}
        let body = bodies.peek().filter(|(id, _)| *id == object.id);
        FlawedObject { owner: body.and_then(|(_, value)| owner_of(value)), object }
    });
    Ok(RegionCheck { objects, damaged: damaged.collect(), n_mended, damaged_land })
}

/// Prims of an object that the store holds, the root first.
///
/// # Errors
/// [`RowError`].
pub fn check_held(row: &HeldRow) -> Result<Vec<Arc<Body>>, RowError> {
    let object = read_held(&row.value, Versions::Recent)?;
    Ok(object.prims().map(|(_, versioned)| Arc::clone(&versioned.body)).collect())
}

/// Prims of an object that an avatar wears, the root first.
///
/// # Errors
/// [`RowError`].
pub fn check_worn(row: &WornRow) -> Result<Vec<Arc<Body>>, RowError> {
    let WornObject { object, .. } = WornObject::of_row(row)?;
    Ok(object.prims().map(|(_, versioned)| Arc::clone(&versioned.body)).collect())
}

fn owner_of(body: &[u8]) -> Option<AgentId> {
    let body = read_body(body, Versions::Recent, &mut Interned::default()).ok()?;
    Some(body.ownership.owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{push_body, push_state};
    use crate::testing::{IDS, at, kept, rich_body};
    use link::{ObjectPage, PrimMotion};
    use store::ObjectRows;

    /// Three objects: a linkset of two prims, and one prim. `lost` has no state, `cut` a body that ends too early.
    fn stored(lost: Option<u32>, cut: Option<u32>) -> StoredRegion {
        let part = PrimMotion { parent: kept(1), link_number: 1, ..at(1.0) };
        let (mut bodies, mut states) = (ObjectRows::default(), ObjectRows::default());
        for (n, motion) in [(1, at(50.0)), (2, part), (3, at(20.0))] {
            let (mut body, mut state) = (Vec::new(), Vec::new());
            let versioned = rich_body(u128::from(n));
            push_body(&mut body, &versioned.body);
            push_state(&mut state, &IDS.kept, &motion, &versioned);
            if cut == Some(n) {
                body.truncate(body.len() / 2);
            }
            bodies.push(kept(n), &body);
            if lost != Some(n) {
                states.push(kept(n), &state);
            }
        }
        StoredRegion { bodies, states, ..StoredRegion::default() }
    }

    #[test]
    fn a_whole_region_has_no_findings() {
        let check = check_region(&IDS, &stored(None, None), None).expect("of this build");
        assert_eq!((check.damaged.len(), check.n_mended, check.damaged_land.len()), (0, 0, 0));
        assert_eq!(check.objects.pages.iter().flat_map(ObjectPage::prims).count(), 3);
    }

    #[test]
    fn damaged_objects_are_named_with_their_owners() {
        let owner = rich_body(3).body.ownership.owner;
        let check = check_region(&IDS, &stored(Some(3), Some(2)), None).expect("of this build");
        let found: Vec<_> = check.damaged.iter().map(|flawed| (flawed.object.id, flawed.owner)).collect();
        assert_eq!(found, [(kept(2), None), (kept(3), Some(owner))]);
        assert!(check.damaged[0].object.name.is_some(), "its state has the name");
        assert_eq!(check.damaged[1].object.why, "its state is missing");
    }

    #[test]
    fn parts_without_a_root_are_found() {
        let mut region = stored(Some(1), None);
        region.bodies = region.bodies.iter().filter(|(id, _)| *id != kept(1)).fold(
            ObjectRows::default(),
            |mut rows, (id, value)| {
                rows.push(id, value);
                rows
            },
        );
        let check = check_region(&IDS, &region, None).expect("of this build");
        assert_eq!(check.damaged.len(), 1, "{check:?}");
        assert_eq!(check.damaged[0].object.id, kept(2));
        assert!(check.damaged[0].object.why.contains("the root of its linkset is missing"));
        assert_eq!(check.damaged[0].owner, Some(rich_body(2).body.ownership.owner));
    }
}
