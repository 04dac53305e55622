//! Assets of worn objects: new items for objects from the ground, and renewed assets for items with a changed object.

use super::object::WornObject;
use crate::items::{AssetBytes, asset_row, item_of};
use crate::rows::{Versions, push_held, read_held};
use ids::Uuid;
use link::{DerezKind, HeldObject};
use std::fmt;
use std::sync::Arc;
use store::{
    AssetHash, AssetRow, HeldChange, HeldRow, Item, ItemOrigin, RegionChanges, WornArrival, WornAsset,
    WornRow, WornSave,
};

const MICROS_PER_S: i64 = 1_000_000;

/// Result of [`renew_worn`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenewedWorn {
    /// Bytes of the assets.
    pub assets: Vec<AssetBytes>,
    /// Items whose objects could not be encoded, with the reasons. Their rows remain and contain the state.
    pub failed: Vec<(Uuid, String)>,
}

/// Encodes the assets that the worn objects of a batch need. A repeated batch gets equal assets.
///
/// `encode` returns an object's asset, equal bytes for equal objects.
pub fn renew_worn<E: fmt::Display>(
    changes: &mut RegionChanges,
    mut encode: impl FnMut(&HeldObject) -> Result<Vec<u8>, E>,
) -> RenewedWorn {
    let mut renewed = RenewedWorn::default();
    let mut asset_of = |row: &WornRow| match asset_of(row, &mut encode) {
        Ok((asset, object, bytes)) => {
            renewed.assets.push(AssetBytes { hash: asset.hash, bytes });
            Some((asset, object))
        }
        Err(why) => {
            renewed.failed.push((row.item, why));
            None
        }
    };
    let mut renew = |save: &mut WornSave| {
        if !save.renews || save.asset.is_some() {
            return;
        }
        match asset_of(&save.row) {
            Some((asset, object)) => {
                let permissions = item_of(&object, 0).permissions;
                save.asset = Some(WornAsset { asset, permissions });
            }
            None => (save.ends, save.row.is_ahead) = (false, true),
        }
    };
    changes.worn.iter_mut().for_each(&mut renew);
    for (_, change) in &mut changes.held {
        if let HeldChange::Worn(save) = change {
            renew(save);
        }
    }
    for (_, change) in &mut changes.held {
        if let HeldChange::PutOn(arrival) = change
            && arrival.asset.is_none()
        {
            arrival.asset = asset_of(&arrival.row).map(|(asset, _)| asset);
        }
    }
    renewed
}

/// The asset of a row's object, the object, and the bytes.
fn asset_of<E: fmt::Display>(
    row: &WornRow,
    encode: &mut impl FnMut(&HeldObject) -> Result<Vec<u8>, E>,
) -> Result<(AssetRow, HeldObject, Vec<u8>), String> {
    let object = read_held(&row.value, Versions::Recent).map_err(|why| why.to_string())?;
    let bytes = encode(&object).map_err(|why| why.to_string())?;
    let hash = AssetHash::of(&bytes);
    let asset = asset_row(&object, (hash, bytes.len()), row.revision / MICROS_PER_S);
    Ok((asset, object, bytes))
}

/// A linkset that an avatar has attached from the ground, in the form for the store.
pub(crate) fn arrival(origin: ItemOrigin, worn: &WornObject) -> WornArrival {
    let object = &*worn.object;
    let item = Item { id: worn.item, ..item_of(object, origin.held_s) };
    let returned = on_the_ground(object);
    let mut value = Vec::new();
    push_held(&mut value, &returned);
    let held = HeldRow {
        key: origin.key,
        owner: origin.owner,
        kind: returned.kind.code(),
        by: returned.by,
        held_s: origin.held_s,
        value: value.into(),
    };
    WornArrival { origin, item, asset: None, row: worn.row(), held }
}

/// The object in the form of a return to its owner, whose inventory has no room.
fn on_the_ground(object: &HeldObject) -> HeldObject {
    let mut object = HeldObject { kind: DerezKind::Return, is_worn: false, ..object.clone() };
    for (_, versioned) in object.linksets.iter_mut().flatten() {
        let body = Arc::make_mut(&mut versioned.body);
        (body.state, body.worn_item) = (0, None);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, body};
    use ids::{AgentId, HeldKey, SessionKey, Ticket, WorldId};

    fn worn(n: u128) -> WornObject {
        let mut root = body(n);
        let edited = Arc::make_mut(&mut root.body);
        (edited.state, edited.worn_item) = (0x20, Some(Uuid::from_u128(n)));
        let owner = AgentId(Uuid::from_u128(1));
        let (folder, transaction, is_worn) = (Uuid::nil(), Uuid::nil(), true);
        let (by, kind) = (SessionKey::NODE, DerezKind::Take);
        let linksets = vec![vec![(at(0.5), root)]];
        let object = HeldObject { owner, by, kind, folder, transaction, is_worn, linksets };
        let (item, object) = (Uuid::from_u128(n), Arc::new(object));
        WornObject { owner, item, point: 2, revision: 5_000_000, is_ahead: true, object }
    }

    fn save(n: u128, ends: bool, renews: bool) -> WornSave {
        WornSave { row: worn(n).row(), ends, renews, asset: None }
    }

    /// The id of the root stands for the object; the last one has no asset.
    fn encode(object: &HeldObject) -> Result<Vec<u8>, &'static str> {
        let id = object.linksets[0][0].1.body.id.as_u128() as u8;
        if id == 10 { Err("too long") } else { Ok(vec![id]) }
    }

    #[test]
    fn assets_are_made_where_they_are_needed_and_a_row_without_one_stays() {
        let key = HeldKey { region: WorldId(1), ticket: Ticket(4) };
        let origin = ItemOrigin { key, owner: worn(3).owner, held_s: 7 };
        let held = vec![
            (Ticket(3), HeldChange::Worn(Box::new(save(2, true, true)))),
            (Ticket(4), HeldChange::PutOn(Box::new(arrival(origin, &worn(3))))),
        ];
        let worn = vec![save(1, false, false), save(9, true, true)];
        let mut changes = RegionChanges { held, worn, ..RegionChanges::default() };
        let before = changes.clone();
        let RenewedWorn { assets, failed } = renew_worn(&mut changes, encode);
        assert_eq!(failed, [(Uuid::from_u128(9), "too long".to_owned())]);
        let bytes: Vec<&[u8]> = assets.iter().map(|asset| &asset.bytes[..]).collect();
        assert_eq!(bytes, [&[3_u8][..], &[4]]);
        assert_eq!(changes.worn[0], before.worn[0], "its item stays as it is");
        let unmade = &changes.worn[1];
        assert_eq!((unmade.ends, unmade.row.is_ahead, &unmade.asset), (false, true, &None));
        let [(_, HeldChange::Worn(taken_off)), (_, HeldChange::PutOn(put_on))] = &changes.held[..] else {
            panic!("{:?}", changes.held)
        };
        let made = taken_off.asset.as_ref().expect("an asset");
        assert_eq!((made.asset.hash, made.asset.created_s), (AssetHash::of(&[3]), 5));
        let asset = put_on.asset.as_ref().expect("an asset");
        assert_eq!((put_on.item.id, asset.hash), (Uuid::from_u128(3), AssetHash::of(&[4])));
        let on_ground = read_held(&put_on.held.value, Versions::Recent).unwrap();
        let root = &on_ground.linksets[0][0].1.body;
        assert_eq!((on_ground.is_worn, root.state, root.worn_item), (false, 0, None));
        let mut again = before;
        renew_worn(&mut again, encode);
        assert_eq!(again, changes);
    }
}
