//! Assets that clients can ask for: the server's own, pictures of the map, and those that are stored.
//!
//! Start with [`AssetSources`].

mod blank;
pub(crate) mod body;
pub(crate) mod codestreams;
mod own;
mod pictures;

pub use blank::{BLANK_NOTECARD, FIRST_SCRIPT, blank_content};
pub use body::{BODY_PARTS, BodyPart};

use assets::{Asset, AssetKind, AssetStore, MemoryAssets, ReadAssetError};
use bytes::Bytes;
use ids::Uuid;
use pictures::Pictures;
use std::sync::Arc;

/// All sources of assets, in the order in which they are asked: own ones, pictures, stored ones.
#[derive(Debug)]
pub struct AssetSources {
    pictures: Pictures,
    stored: Arc<dyn AssetStore>,
}

impl AssetSources {
    /// Sources with no picture yet. The server's own assets are in memory then.
    #[must_use]
    pub fn new(stored: Arc<dyn AssetStore>) -> Self {
        own::prepare();
        Self { pictures: Pictures::default(), stored }
    }

    /// Sources whose stored assets are in memory too: for tests and simulations.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(Arc::new(MemoryAssets::default()))
    }

    /// An asset whose bytes are in memory. Does not wait.
    #[must_use]
    pub fn cached(&self, id: Uuid) -> Option<Asset> {
        own::own_asset(id).or_else(|| self.pictures.get(id)).or_else(|| self.stored.cached(id))
    }

    /// The same if it is of this kind: otherwise one kind could be read as another.
    #[must_use]
    pub fn cached_of_kind(&self, id: Uuid, kind: AssetKind) -> Option<Asset> {
        self.cached(id).filter(|asset| asset.kind == kind)
    }

    /// An asset; none if there is none, or its bytes are damaged. May wait for the disk.
    ///
    /// # Errors
    /// [`ReadAssetError`], which says nothing about the asset.
    pub fn read(&self, id: Uuid) -> Result<Option<Asset>, ReadAssetError> {
        match own::own_asset(id).or_else(|| self.pictures.get(id)) {
            Some(asset) => Ok(Some(asset)),
            None => self.stored.read(id),
        }
    }

    /// True for an asset of the server's own, which no row and no file has.
    #[must_use]
    pub fn is_own(id: Uuid) -> bool {
        own::own_asset(id).is_some()
    }

    /// The stored ones.
    #[must_use]
    pub fn stored(&self) -> &Arc<dyn AssetStore> {
        &self.stored
    }

    /// Shows a picture of the map under an id, until it is [hidden](Self::hide_picture) as often.
    pub fn show_picture(&self, id: Uuid, codestream: Bytes) {
        self.pictures.show(id, codestream);
    }

    /// Lets a picture of the map go.
    pub fn hide_picture(&self, id: Uuid) {
        self.pictures.hide(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assets::NewAsset;
    use ids::AgentId;

    #[test]
    fn own_assets_pictures_and_stored_ones_are_found() {
        let sources = AssetSources::in_memory();
        let (picture, stored) = (Uuid::from_u128(1), Uuid::from_u128(2));
        sources.show_picture(picture, Bytes::from_static(b"a picture"));
        let new = NewAsset {
            id: stored,
            kind: AssetKind::Sound,
            bytes: Bytes::from_static(b"a sound"),
            creator: AgentId(Uuid::nil()),
            origin: "test".into(),
            is_temporary: false,
        };
        sources.stored().add(new, Box::new(|result| assert_eq!(result, Ok(Uuid::from_u128(2)))));
        for (id, kind) in [
            (BODY_PARTS[0].asset, AssetKind::BodyPart),
            (ids::PLYWOOD_TEXTURE, AssetKind::Texture),
            (picture, AssetKind::Texture),
            (stored, AssetKind::Sound),
        ] {
            let asset = sources.cached_of_kind(id, kind).expect("it is in memory");
            assert_eq!(AssetSources::is_own(id), ![picture, stored].contains(&id));
            assert_eq!(sources.read(id).unwrap(), Some(asset));
            assert_eq!(sources.cached_of_kind(id, AssetKind::Mesh), None);
        }
        assert_eq!(sources.read(Uuid::from_u128(3)).unwrap(), None);
    }

    #[test]
    fn a_stored_asset_does_not_hide_one_of_the_servers_own() {
        let sources = AssetSources::in_memory();
        let own = sources.cached(ids::PLYWOOD_TEXTURE).unwrap();
        let new = NewAsset {
            id: ids::PLYWOOD_TEXTURE,
            kind: AssetKind::Texture,
            bytes: Bytes::from_static(b"another"),
            creator: AgentId(Uuid::nil()),
            origin: "test".into(),
            is_temporary: false,
        };
        sources.stored().add(new, Box::new(drop));
        assert_eq!(sources.cached(ids::PLYWOOD_TEXTURE), Some(own));
    }
}
