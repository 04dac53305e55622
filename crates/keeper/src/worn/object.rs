//! A worn object: its row, and its creation from an item that is attached.

use crate::object_asset::decode_worn;
use crate::rezzed::{RezTerms, of_owner};
use crate::rows::{RowError, Versions, push_held, read_held};
use archive::object::ObjectError;
use ids::{AgentId, SessionKey, Uuid};
use link::{ATTACHMENT_POINT_DEFAULT, ATTACHMENT_POINT_MAX, HeldObject, PlacedLinkset, PrimFlags};
use prim::PCode;
use std::sync::Arc;
use store::{Item, WornRow};

/// Maximum number of prims of a linkset.
const LINKSET_MAX: usize = 256;
/// Tolerance for the comparison of positions and rotations: the world normalises rotations.
const PLACE_PRECISION: f32 = 1e-6;

/// An object as an avatar wears it.
#[derive(Clone, Debug, PartialEq)]
pub struct WornObject {
    /// The user.
    pub owner: AgentId,
    /// The worn item.
    pub item: Uuid,
    /// The attachment point, 1 to [`ATTACHMENT_POINT_MAX`].
    pub point: u8,
    /// Revision, as in [`WornRow::revision`].
    pub revision: i64,
    /// True if the asset of the item has an older state.
    pub is_ahead: bool,
    /// The linkset. The position of the root is relative to the attachment point.
    pub object: Arc<HeldObject>,
}

/// Reasons for which an item cannot be worn. The text follows "It cannot be worn: ".
#[derive(Debug, thiserror::Error)]
pub enum WearItemError {
    /// The asset is not an object.
    #[error("its content cannot be read: {0}")]
    Object(#[from] ObjectError),
    /// A coalesced object.
    #[error("it consists of several objects")]
    Several,
    /// Too many prims.
    #[error("it has {0} prims, and {LINKSET_MAX} can be worn as one object")]
    TooMany(usize),
    /// A tree or grass: the field of the attachment point contains its species.
    #[error("plants cannot be worn")]
    Plant,
}

impl WornObject {
    /// Decodes the object of a row.
    ///
    /// # Errors
    /// [`RowError`].
    pub fn of_row(row: &WornRow) -> Result<Self, RowError> {
        let mut object = read_held(&row.value, Versions::Recent)?;
        if object.linksets.len() != 1 {
            return Err(RowError::Linkset);
        }
        if !(1..=ATTACHMENT_POINT_MAX).contains(&row.point) {
            return Err(RowError::Code { field: "attachment point", code: row.point });
        }
        (object.owner, object.is_worn) = (row.owner, true);
        let WornRow { owner, item, point, revision, is_ahead, .. } = *row;
        Ok(Self { owner, item, point, revision, is_ahead, object: Arc::new(object) })
    }

    /// Replaces the state by a newer one that is not in the item's asset. The revision does not change.
    pub(super) fn take_state(&mut self, newer: HeldObject) {
        self.point = newer.root().map_or(self.point, |(_, root)| root.body.attachment_point());
        (self.object, self.is_ahead) = (Arc::new(newer), true);
    }

    /// Row of the object.
    #[must_use]
    pub fn row(&self) -> WornRow {
        let mut value = Vec::new();
        push_held(&mut value, &self.object);
        let Self { owner, item, point, revision, is_ahead, .. } = *self;
        WornRow { owner, item, point, revision, is_ahead, value: value.into() }
    }
}

/// Decodes the object of an item from the bytes of its asset, for its owner to wear at `point`; `None`: at the point at which it was worn last.
///
/// # Errors
/// [`WearItemError`].
pub fn worn_of_item(
    owner: AgentId,
    item: &Item,
    bytes: &[u8],
    by: SessionKey,
    point: Option<u8>,
) -> Result<(u8, HeldObject), WearItemError> {
    let mut linksets = decode_worn(bytes)?;
    let [prims] = &mut linksets[..] else { return Err(WearItemError::Several) };
    if prims.len() > LINKSET_MAX {
        return Err(WearItemError::TooMany(prims.len()));
    }
    if prims.iter().any(|(_, versioned)| versioned.body.p_code != PCode::Prim) {
        return Err(WearItemError::Plant);
    }
    let is_point = |point: &u8| (1..=ATTACHMENT_POINT_MAX).contains(point);
    let former = prims.first().map(|(_, root)| root.body.state);
    let point = point.or(former).filter(is_point).unwrap_or(ATTACHMENT_POINT_DEFAULT);
    for (number, (_, versioned)) in prims.iter_mut().enumerate() {
        let body = Arc::make_mut(&mut versioned.body);
        (body.state, body.worn_item) = (point.rotate_left(4), (number == 0).then_some(item.id));
    }
    let terms = RezTerms { by, group: Uuid::nil(), is_put_back: false };
    let object = of_owner(owner, item, linksets, terms);
    Ok((point, HeldObject { is_worn: true, ..object }))
}

/// True for two states of an object without a visible difference.
pub(super) fn is_same(one: &HeldObject, other: &HeldObject) -> bool {
    let are_same_prims = |one: &PlacedLinkset, other: &PlacedLinkset| {
        let kept = |flags: PrimFlags| flags.with(PrimFlags::TEMPORARY, PrimFlags::default());
        one.len() == other.len()
            && one.iter().zip(other).all(|((place, versioned), (former_place, former))| {
                let (motion, former_motion) = (&place.motion, &former_place.motion);
                motion.position.abs_diff_eq(former_motion.position, PLACE_PRECISION)
                    && motion.rotation.abs_diff_eq(former_motion.rotation, PLACE_PRECISION)
                    && place.link_number == former_place.link_number
                    && kept(place.flags) == kept(former_place.flags)
                    && (Arc::ptr_eq(&versioned.body, &former.body) || versioned.body == former.body)
            })
    };
    one.linksets.len() == other.linksets.len()
        && one.linksets.iter().zip(&other.linksets).all(|(one, other)| are_same_prims(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_object;
    use crate::testing::{at, body};
    use glam::Vec3;
    use link::{DerezKind, PrimMotion, VersionedBody};
    use store::{Permissions, Sale};

    const OWNER: AgentId = AgentId(Uuid::from_u128(1));
    const BY: SessionKey = SessionKey(3);

    fn item() -> Item {
        let all = prim::Mask::ALL.bits();
        Item {
            id: Uuid::from_u128(77),
            folder: Uuid::from_u128(8),
            asset: Uuid::from_u128(9),
            asset_type: 6,
            inventory_type: 6,
            name: "Hat".into(),
            description: String::new(),
            flags: 0,
            created_s: 0,
            permissions: Permissions {
                creator: Uuid::nil(),
                last_owner: Uuid::nil(),
                group: Uuid::nil(),
                group_owned: false,
                base: all,
                owner: all,
                group_mask: 0,
                everyone: 0,
                next_owner: 0,
            },
            sale: Sale::default(),
        }
    }

    fn bytes_of(linksets: Vec<Vec<(PrimMotion, VersionedBody)>>, is_worn: bool) -> Vec<u8> {
        let (folder, transaction) = (Uuid::nil(), Uuid::nil());
        let object = HeldObject {
            owner: OWNER,
            by: BY,
            kind: DerezKind::Take,
            folder,
            transaction,
            is_worn,
            linksets,
        };
        encode_object(&object).unwrap()
    }

    fn part(n: u8) -> (PrimMotion, VersionedBody) {
        (PrimMotion { link_number: n, ..at(0.5) }, body(n.into()))
    }

    #[test]
    fn an_item_is_worn_at_the_named_point_or_where_it_was_last() {
        let bytes = bytes_of(vec![vec![part(0), part(1)]], false);
        let (point, object) = worn_of_item(OWNER, &item(), &bytes, BY, None).unwrap();
        assert_eq!((point, object.is_worn), (6, true));
        let prims = &object.linksets[0];
        assert_eq!((prims[0].0.motion.position, &*prims[0].1.body.names.name), (Vec3::ZERO, "Hat"));
        let states: Vec<(u8, Option<Uuid>)> =
            prims.iter().map(|(_, versioned)| (versioned.body.state, versioned.body.worn_item)).collect();
        assert_eq!(states, [(0x60, Some(item().id)), (0x60, None)]);
        assert_eq!(worn_of_item(OWNER, &item(), &bytes, BY, Some(2)).unwrap().0, 2);
        // The object is attached again at its former point.
        let mut moved = object.linksets[0].clone();
        for (_, versioned) in &mut moved {
            Arc::make_mut(&mut versioned.body).state = 33_u8.rotate_left(4);
        }
        moved[0].0.motion.position = Vec3::new(0.5, 0.25, 0.0);
        let again = bytes_of(vec![moved], true);
        let (point, object) = worn_of_item(OWNER, &item(), &again, BY, None).unwrap();
        assert_eq!((point, object.linksets[0][0].0.motion.position), (33, Vec3::new(0.5, 0.25, 0.0)));
    }

    #[test]
    fn what_cannot_be_worn_is_refused() {
        let wear = |bytes: &[u8]| worn_of_item(OWNER, &item(), bytes, BY, None).map(|(point, _)| point);
        assert!(matches!(wear(b"no object"), Err(WearItemError::Object(_))));
        let several = bytes_of(vec![vec![part(0)], vec![part(0)]], false);
        assert!(matches!(wear(&several), Err(WearItemError::Several)));
        let mut tree = part(0);
        Arc::make_mut(&mut tree.1.body).p_code = PCode::Tree;
        assert!(matches!(wear(&bytes_of(vec![vec![tree]], false)), Err(WearItemError::Plant)));
    }

    #[test]
    fn a_row_has_the_object_and_one_that_is_none_is_refused() {
        let bytes = bytes_of(vec![vec![part(0), part(1)]], false);
        let (point, object) = worn_of_item(OWNER, &item(), &bytes, BY, None).unwrap();
        let (item, object) = (item().id, Arc::new(object));
        let worn = WornObject { owner: OWNER, item, point, revision: 5, is_ahead: true, object };
        let read = WornObject::of_row(&worn.row()).unwrap();
        assert!(is_same(&read.object, &worn.object), "{read:?}");
        assert_eq!(WornObject { object: Arc::clone(&worn.object), ..read }, worn);
        let nowhere = WornRow { point: 56, ..worn.row() };
        assert!(matches!(WornObject::of_row(&nowhere), Err(RowError::Code { code: 56, .. })));
        let damaged = WornRow { value: vec![1].into(), ..worn.row() };
        assert!(WornObject::of_row(&damaged).is_err());
    }

    #[test]
    fn a_difference_that_a_user_sees_is_one() {
        let object = |edit: &dyn Fn(&mut (PrimMotion, VersionedBody))| {
            let mut root = part(0);
            edit(&mut root);
            let (folder, transaction) = (Uuid::nil(), Uuid::nil());
            let linksets = vec![vec![root]];
            HeldObject {
                owner: OWNER,
                by: BY,
                kind: DerezKind::Take,
                folder,
                transaction,
                is_worn: true,
                linksets,
            }
        };
        let plain = object(&|_| ());
        assert!(is_same(&plain, &object(&|prim| prim.1.version = 9)), "versions are not shown");
        assert!(!is_same(&plain, &object(&|prim| prim.0.motion.position.x += 0.01)));
        assert!(!is_same(&plain, &object(&|prim| prim.0.flags = PrimFlags::PHANTOM)));
        assert!(!is_same(&plain, &object(&|prim| Arc::make_mut(&mut prim.1.body).click_action = 1)));
    }
}
