//! Pictures of the map as textures, in memory: they are drawn at the start and after changes, so that none is stored.

use assets::{Asset, AssetHash, AssetKind};
use bytes::Bytes;
use ids::Uuid;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Pictures by id: two for each region and one for each template at most.
#[derive(Debug, Default)]
pub(super) struct Pictures {
    shown: Mutex<BTreeMap<Uuid, Picture>>,
}

#[derive(Debug)]
struct Picture {
    n_users: usize,
    asset: Asset,
}

impl Pictures {
    /// Two regions may look alike: each shows the picture.
    pub(super) fn show(&self, id: Uuid, codestream: Bytes) {
        let hash = AssetHash::of(&codestream);
        let asset = Asset { kind: AssetKind::Texture, hash, bytes: codestream, is_temporary: false };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.entry(id).or_insert(Picture { n_users: 0, asset }).n_users += 1;
    }

    pub(super) fn hide(&self, id: Uuid) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(picture) = shown.get_mut(&id) {
            picture.n_users -= 1;
            if picture.n_users == 0 {
                shown.remove(&id);
            }
        }
    }

    pub(super) fn get(&self, id: Uuid) -> Option<Asset> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.get(&id).map(|picture| picture.asset.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_two_regions_stays_until_both_have_another() {
        let (pictures, id) = (Pictures::default(), Uuid::from_u128(9));
        pictures.show(id, Bytes::from_static(b"hills"));
        pictures.show(id, Bytes::from_static(b"hills"));
        for is_shown in [true, false, false] {
            pictures.hide(id);
            assert_eq!(pictures.get(id).is_some(), is_shown);
        }
    }
}
