//! A database as of one moment, for commands that look through all of it. A view has a connection of its own, so that a running server neither waits for it
//! nor changes what it shows.
//!
//! Lists come in parts, in the order of their keys. Start with [`view`].

use crate::appearance::{self, AppearanceDamage};
use crate::asset::{AssetContent, AssetHash, read_content};
use crate::check::{file_problems, instance_problems};
use crate::engine::{Engine, EngineError, Row, Session, Sql, values};
use crate::held_objects::{HeldPage, read_page};
use crate::inventory::Folder;
use crate::region::{self, RegionRow};
use crate::region_objects::{StoredRegion, read_region};
use crate::seal_check::{SealWalk, SealedPage};
use crate::tables::{TableDigest, digest};
use crate::worn_rows::{self, WornDamage, WornRow};
use crate::{Store, StoreError, StoreUrl};
use ids::{AgentId, HeldKey, WorldId};
use std::collections::BTreeSet;
use uuid::Uuid;

/// An item of an inventory with its asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemReference {
    /// Its owner.
    pub owner: AgentId,
    /// Its id.
    pub item: Uuid,
    /// Its name.
    pub name: String,
    /// The asset, or the item that a link leads to.
    pub asset: Uuid,
    /// Kind of the asset; 24 and 25 for a link.
    pub asset_type: i8,
    /// Hash of the asset, if there is one with this id.
    pub hash: Option<AssetHash>,
}

/// The row of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionRowFound {
    /// Number of the region.
    pub region: WorldId,
    /// Its row; none if it is damaged.
    pub row: Option<RegionRow>,
}

/// A database as of one moment.
pub struct StoreView<'a, 'b> {
    session: &'a mut Session<'b>,
    url: &'a StoreUrl,
    is_file: bool,
}

impl std::fmt::Debug for StoreView<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreView").field("url", self.url).finish_non_exhaustive()
    }
}

/// Reasons for which a view ends.
enum ViewFailure<E> {
    Engine(EngineError),
    Caller(E),
}

impl<E> From<EngineError> for ViewFailure<E> {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Hands out a view of an existing database of the newest version. Between two calls of a view at most a minute may pass: a server then ends it.
///
/// # Errors
/// [`StoreError`] if it cannot be read, and those of `work`.
pub fn view<T, E: From<StoreError>>(
    url: &StoreUrl,
    work: impl FnOnce(&mut StoreView<'_, '_>) -> Result<T, E>,
) -> Result<T, E> {
    let store = Store::open_to_read(url)?;
    let is_file = matches!(store.engine(), Engine::Sqlite(_));
    let viewed =
        store.snapshot(|session| work(&mut StoreView { session, url, is_file }).map_err(ViewFailure::Caller));
    viewed.map_err(|why| match why {
        ViewFailure::Engine(source) => StoreError::query("beginning to look through", url)(source).into(),
        ViewFailure::Caller(why) => why,
    })
}

const ITEMS: Sql = Sql::same(
    "SELECT i.owner, i.item, i.name, i.asset, i.asset_type, a.hash FROM inventory_items i \
     LEFT JOIN assets a ON a.asset = i.asset WHERE (i.owner, i.item) > ($1, $2) ORDER BY i.owner, i.item LIMIT $3",
);
const FOLDERS: Sql = Sql::same(
    "SELECT owner, folder, parent, name, type_default, version FROM inventory_folders \
     WHERE (owner, folder) > ($1, $2) ORDER BY owner, folder LIMIT $3",
);
const LOST_MARKS: Sql = Sql::same(
    "SELECT m.owner, m.item FROM item_marks m LEFT JOIN inventory_items i ON i.owner = m.owner AND i.item = m.item \
     WHERE i.item IS NULL ORDER BY m.held LIMIT $1",
);
const CONTENTS: Sql = Sql::same(
    "SELECT hash, length, damage, checksum, damage_checksum FROM asset_contents WHERE hash > $1 ORDER BY hash LIMIT $2",
);
const CONTENT: Sql =
    Sql::same("SELECT hash, length, damage, checksum, damage_checksum FROM asset_contents WHERE hash = $1");
const ASSETS_OF: Sql = Sql::same("SELECT asset FROM assets WHERE hash = $1 ORDER BY asset LIMIT $2");
const ASSET: Sql = Sql::same("SELECT hash FROM assets WHERE asset = $1");
const COUNT_ASSETS: Sql = Sql::same("SELECT count(*) FROM assets");
const ACCOUNT: Sql = Sql::same("SELECT first_name, last_name FROM accounts WHERE agent = $1");
/// The key behind a number, of each table whose keys begin with the number of a region.
const NEXT_KEYS: [Sql; 4] = [
    Sql::same("SELECT min(object) FROM object_bodies WHERE object > $1"),
    Sql::same("SELECT min(object) FROM object_states WHERE object > $1"),
    Sql::same("SELECT min(land) FROM region_land WHERE land > $1"),
    Sql::same("SELECT min(held) FROM held_objects WHERE held > $1"),
];

impl StoreView<'_, '_> {
    /// Sentences on damaged pages of an SQLite file and on rows that refer to nothing, at most a hundred of each. A PostgreSQL server looks after its own.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn file_problems(&mut self) -> Result<Vec<String>, StoreError> {
        if !self.is_file {
            return Ok(Vec::new());
        }
        file_problems(self.session).map_err(StoreError::query("checking", self.url))
    }

    /// Sentences on damaged rows and states of instances, at most a hundred.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn instance_problems(&mut self) -> Result<Vec<String>, StoreError> {
        instance_problems(self.session).map_err(StoreError::query("checking", "instances"))
    }

    /// Rows and hash of each table.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn digests(&mut self) -> Result<Vec<TableDigest>, StoreError> {
        digest(self.session).map_err(StoreError::query("reading", self.url))
    }

    /// The rows of all regions, by their numbers.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn regions(&mut self) -> Result<Vec<RegionRowFound>, StoreError> {
        let rows = region::read_all(self.session).map_err(StoreError::query("reading", "regions"))?;
        Ok(rows.into_iter().map(|(region, row)| RegionRowFound { region, row: row.ok() }).collect())
    }

    /// Numbers of the regions that have objects, land or held objects, whether or not a region can have such a number.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn regions_with_rows(&mut self) -> Result<BTreeSet<u32>, StoreError> {
        let mut found = BTreeSet::new();
        for sql in NEXT_KEYS {
            let mut before = i64::MIN;
            loop {
                let next = self.session.query_row(sql, values![before], |row| row.get::<Option<i64>>(0));
                let next = next.map_err(StoreError::query("looking for", "regions"))?;
                let Some(key) = next.flatten() else { break };
                found.insert((key >> 32) as u32);
                // The last key that a row of this region can have.
                before = key | i64::from(u32::MAX);
            }
        }
        Ok(found)
    }

    /// A region with all its objects and its land. Damaged rows are reported.
    ///
    /// # Errors
    /// [`StoreError::Query`], for a file with damaged pages as well ([`StoreError::is_damage`]).
    ///
    /// # Panics
    /// When the number of the region is that of an instance.
    pub fn region(&mut self, region: WorldId) -> Result<StoredRegion, StoreError> {
        read_region(self.session, region).map_err(StoreError::query("reading the region", region.0))
    }

    /// Linksets that are held, behind a key. Damaged rows are reported.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    ///
    /// # Panics
    /// When the number of a region is that of an instance.
    pub fn held_after(&mut self, after: Option<HeldKey>, limit: u32) -> Result<HeldPage, StoreError> {
        read_page(self.session, after, limit).map_err(StoreError::query("listing", "held objects"))
    }

    /// Objects that avatars wear, behind one of an owner. Damaged rows are reported in their places.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn worn_after(
        &mut self,
        after: (AgentId, Uuid),
        limit: u32,
    ) -> Result<Vec<Result<WornRow, WornDamage>>, StoreError> {
        worn_rows::after(self.session, after, limit)
            .map_err(StoreError::query("reading worn objects behind", after.1))
    }

    /// Damaged appearances among those behind an account, of a number of them; also the last account, none behind the last one.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn damaged_appearances_after(
        &mut self,
        after: AgentId,
        limit: u32,
    ) -> Result<(Vec<AppearanceDamage>, Option<AgentId>), StoreError> {
        let mut damages = Vec::new();
        let last = appearance::damaged(self.session, after, limit, |damage| damages.push(damage));
        let last = last.map_err(StoreError::query("reading appearances behind", after.0))?;
        Ok((damages, last))
    }

    /// The next part of a look at the checksums of rows that belong to no region and to no instance; none behind the last one. Damaged rows are reported.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn sealed_rows(&mut self, walk: &mut SealWalk) -> Result<Option<SealedPage>, StoreError> {
        walk.next_page(self.session).map_err(StoreError::query("reading the rows of", self.url))
    }

    /// Items of all inventories behind one of an owner, with the hashes of their assets. Cells of damaged items that cannot be read are left empty; an item whose id
    /// cannot be read is left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn items_after(
        &mut self,
        (owner, item): (AgentId, Uuid),
        limit: u32,
    ) -> Result<Vec<ItemReference>, StoreError> {
        let items = self.session.query(ITEMS, values![owner.0, item, limit], |row| Ok(read_reference(&row)));
        let items = items.map_err(StoreError::query("reading items behind", item))?;
        Ok(items.into_iter().flatten().collect())
    }

    /// Items that are marked as on their way into a region and do not exist, the longest marked first.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn lost_marks(&mut self, limit: u32) -> Result<Vec<(AgentId, Uuid)>, StoreError> {
        self.session
            .query(LOST_MARKS, values![limit], |row| Ok((AgentId(row.get(0)?), row.get(1)?)))
            .map_err(StoreError::query("looking for", "marked items"))
    }

    /// Folders of all inventories behind one of an owner. Cells of damaged folders that cannot be read are left empty; a folder whose id cannot be read is left out.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn folders_after(
        &mut self,
        (owner, folder): (AgentId, Uuid),
        limit: u32,
    ) -> Result<Vec<(AgentId, Folder)>, StoreError> {
        let folders =
            self.session.query(FOLDERS, values![owner.0, folder, limit], |row| Ok(read_folder(&row)));
        let folders = folders.map_err(StoreError::query("reading folders behind", folder))?;
        Ok(folders.into_iter().flatten().collect())
    }

    /// Contents of assets behind a hash.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn contents_after(&mut self, hash: AssetHash, limit: u32) -> Result<Vec<AssetContent>, StoreError> {
        let contents = self.session.query(CONTENTS, values![hash.0, limit], read_content);
        contents.map_err(StoreError::query("reading contents behind", hash))
    }

    /// A content, if an asset has it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn content(&mut self, hash: AssetHash) -> Result<Option<AssetContent>, StoreError> {
        let content = self.session.query_row(CONTENT, values![hash.0], read_content);
        content.map_err(StoreError::query("reading the content", hash))
    }

    /// Some assets with a content.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn assets_of(&mut self, hash: AssetHash, limit: u32) -> Result<Vec<Uuid>, StoreError> {
        self.session
            .query(ASSETS_OF, values![hash.0, limit], |row| row.get(0))
            .map_err(StoreError::query("reading the assets of content", hash))
    }

    /// The hash of each of these assets, none for an asset that does not exist.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn asset_hashes(&mut self, ids: &[Uuid]) -> Result<Vec<Option<AssetHash>>, StoreError> {
        let mut hashes = Vec::with_capacity(ids.len());
        for id in ids {
            let hash = self.session.query_row(ASSET, values![id], |row| row.get(0).map(AssetHash));
            hashes.push(hash.map_err(StoreError::query("reading the asset", id))?);
        }
        Ok(hashes)
    }

    /// Number of assets.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn count_assets(&mut self) -> Result<u64, StoreError> {
        let n = self.session.query_row(COUNT_ASSETS, &[], |row| row.get::<i64>(0));
        Ok(n.map_err(StoreError::query("counting", "assets"))?.map_or(0, i64::cast_unsigned))
    }

    /// First and last name of an account.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn account_name(&mut self, agent: AgentId) -> Result<Option<String>, StoreError> {
        let name = self.session.query_row(ACCOUNT, values![agent.0], |row| {
            // A damaged name serves as far as it can be read.
            Ok(row.get::<String>(0).ok().zip(row.get::<String>(1).ok()))
        });
        let name = name.map_err(StoreError::query("reading the account", agent.0))?;
        Ok(name.flatten().map(|(first, last)| format!("{first} {last}")))
    }
}

fn read_reference(row: &Row<'_>) -> Option<ItemReference> {
    Some(ItemReference {
        owner: AgentId(row.get(0).ok()?),
        item: row.get(1).ok()?,
        name: row.get(2).unwrap_or_default(),
        asset: row.get(3).unwrap_or_default(),
        asset_type: row.get(4).unwrap_or_default(),
        hash: row.get::<Option<[u8; 32]>>(5).ok().flatten().map(AssetHash),
    })
}

fn read_folder(row: &Row<'_>) -> Option<(AgentId, Folder)> {
    let folder = Folder {
        id: row.get(1).ok()?,
        parent: row.get(2).unwrap_or_default(),
        name: row.get(3).unwrap_or_default(),
        type_default: row.get(4).unwrap_or_default(),
        version: row.get(5).unwrap_or_default(),
    };
    Some((AgentId(row.get(0).ok()?), folder))
}

#[cfg(test)]
mod tests;
