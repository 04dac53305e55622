//! Assets: which ids exist, of which kind, and the hash of their bytes. The bytes themselves lie outside of the database, by their hash.
//!
//! Two ids with the same bytes share a content. An id keeps its content for ever: a row is added or removed, never changed, but for the last use of a temporary
//! asset. A content whose bytes were found damaged is in quarantine until the same bytes arrive again.

use crate::counter::{self, CounterValue};
use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::AgentId;
use std::fmt;
use uuid::Uuid;

/// BLAKE3 hash of an asset's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssetHash(pub [u8; 32]);

impl AssetHash {
    /// Hash of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for AssetHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for AssetHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AssetHash({self})")
    }
}

/// An asset without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetRow {
    /// Its id.
    pub id: Uuid,
    /// Hash of its bytes.
    pub hash: AssetHash,
    /// Number of its kind, as on the wire.
    pub kind: i8,
    /// Length of its bytes.
    pub length: u32,
    /// Account that uploaded it; nil for the server's own.
    pub creator: AgentId,
    /// Seconds since 1970.
    pub created_s: i64,
    /// Source of the bytes, such as "upload" or the name of an archive.
    pub origin: String,
    /// Last use of a temporary asset, in seconds since 1970; none for a lasting one.
    pub used_s: Option<i64>,
}

/// An asset as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAsset {
    /// Its row.
    pub row: AssetRow,
    /// Evidence of damage, if its content is in quarantine, or if a row is damaged.
    pub damage: Option<String>,
}

/// Outcome of adding an asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetAdded {
    /// It is new.
    New,
    /// The id has this kind and content already.
    Known,
    /// The id has another kind or content, which stays.
    Taken,
}

/// A content: bytes with this hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetContent {
    /// Hash of its bytes.
    pub hash: AssetHash,
    /// Their number.
    pub length: u32,
    /// Evidence of damage, if it is in quarantine.
    pub damage: Option<String>,
}

/// Assets of one kind in sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetCount {
    /// Number of the kind.
    pub kind: i8,
    /// Assets, temporary ones included.
    pub assets: u64,
    /// Temporary ones among them.
    pub temporary: u64,
    /// Those whose content is in quarantine.
    pub damaged: u64,
    /// Bytes of all, as if each had a content of its own.
    pub bytes: u64,
}

const ADD_CONTENT: Sql = Sql::same(
    "INSERT INTO asset_contents (hash, length, damage, checksum, damage_checksum) VALUES ($1, $2, NULL, $3, $4) \
     ON CONFLICT (hash) DO UPDATE SET damage = NULL, damage_checksum = excluded.damage_checksum \
     WHERE asset_contents.damage IS NOT NULL",
);
const ADD_ASSET: Sql = Sql::same(
    "INSERT INTO assets (asset, hash, kind, creator, created_s, origin, used_s, checksum, used_checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (asset) DO NOTHING",
);
const IDENTITY: Sql = Sql::same("SELECT hash, kind FROM assets WHERE asset = $1");
const ASSET: Sql = Sql::same(
    "SELECT assets.asset, assets.hash, kind, length, creator, created_s, origin, used_s, damage, assets.checksum, \
     used_checksum, asset_contents.checksum, damage_checksum FROM assets \
     JOIN asset_contents ON asset_contents.hash = assets.hash WHERE asset = $1",
);
const IS_SOUND: Sql = Sql::same("SELECT length FROM asset_contents WHERE hash = $1 AND damage IS NULL");
const QUARANTINE: Sql = Sql::same(
    "UPDATE asset_contents SET damage = $1, damage_checksum = $2 WHERE hash = $3 AND damage IS NULL",
);
const USE: Sql =
    Sql::same("UPDATE assets SET used_s = $1, used_checksum = $2 WHERE asset = $3 AND used_s < $1");
const KEEP: Sql =
    Sql::same("UPDATE assets SET used_s = NULL, used_checksum = $1 WHERE asset = $2 AND used_s IS NOT NULL");
const EXPIRED: Sql = Sql::same(
    "SELECT asset, hash, used_s, used_checksum FROM assets WHERE used_s < $1 ORDER BY used_s, asset LIMIT $2",
);
/// One that is named by the appearance of an account.
const BAKE: Sql = Sql::same("SELECT face FROM appearance_bakes WHERE asset = $1 LIMIT 1");
/// Seconds until an expired asset is looked at again that an appearance names.
const NAMED_S: i64 = 86_400;
const REMOVE_EXPIRED: Sql = Sql::same("DELETE FROM assets WHERE asset = $1 AND used_s < $2");
const REMOVE_UNNAMED_CONTENT: Sql = Sql::same(
    "DELETE FROM asset_contents WHERE hash = $1 AND NOT EXISTS (SELECT 1 FROM assets WHERE assets.hash = $1)",
);
const CONTENTS_AFTER: Sql = Sql::same(
    "SELECT hash, length, damage, checksum, damage_checksum FROM asset_contents WHERE hash > $1 ORDER BY hash LIMIT $2",
);
const NAMES_OF: Sql = Sql::same("SELECT asset FROM assets WHERE hash = $1 ORDER BY asset LIMIT $2");
const COUNTS: Sql = Sql {
    sqlite: "SELECT kind, count(*), count(used_s), count(damage), sum(length) FROM assets \
             JOIN asset_contents ON asset_contents.hash = assets.hash GROUP BY kind ORDER BY kind",
    postgres: "SELECT kind, count(*), count(used_s), count(damage), sum(length)::bigint FROM assets \
               JOIN asset_contents ON asset_contents.hash = assets.hash GROUP BY kind ORDER BY kind",
};

/// Row of the scrubber's place, in millionths of its way.
const SCRUB: &str = "asset_scrub";
const COUNT_CONTENTS: Sql = Sql::same("SELECT count(*) FROM asset_contents");

impl Store {
    /// Adds assets in one transaction, in order. The bytes of each have to be on the disk already: a content in quarantine is sound again afterwards. A lasting
    /// asset that was temporary becomes lasting.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none was added.
    pub fn add_assets(&self, rows: &[AssetRow]) -> Result<Vec<AssetAdded>, StoreError> {
        self.write(|session| rows.iter().map(|row| add_asset(session, row)).collect())
            .map_err(StoreError::query("adding assets, the first with the id", first_id(rows)))
    }

    /// One asset.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn asset(&self, id: Uuid) -> Result<Option<StoredAsset>, StoreError> {
        self.read(|session| session.query_row(ASSET, values![id], read_asset))
            .map_err(StoreError::query("reading the asset", id))
    }

    /// True for each of these contents that is stored and not in quarantine.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn are_contents_sound(&self, hashes: &[AssetHash]) -> Result<Vec<bool>, StoreError> {
        let found = self.read(|session| {
            let is_sound = |hash: &AssetHash| {
                session.query_row(IS_SOUND, values![hash.0], |row| row.get::<i64>(0)).map(|row| row.is_some())
            };
            hashes.iter().map(is_sound).collect()
        });
        found.map_err(StoreError::query("looking for contents of assets:", hashes.len()))
    }

    /// Puts a content into quarantine. False if it was there already, or is unknown.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn quarantine_content(&self, hash: AssetHash, evidence: &str) -> Result<bool, StoreError> {
        let sum = damage_checksum(hash, Some(evidence));
        self.write(|session| session.execute(QUARANTINE, values![evidence, sum, hash.0]).map(|n| n > 0))
            .map_err(StoreError::query("putting into quarantine the content", hash))
    }

    /// Records the use of temporary assets; lasting and unknown ones are passed over.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn use_temporary_assets(&self, ids: &[Uuid], now_s: i64) -> Result<(), StoreError> {
        let used = self.write(|session| ids.iter().try_for_each(|id| use_asset(session, *id, now_s)));
        used.map_err(StoreError::query("recording the use of assets:", ids.len()))
    }

    /// Removes up to `max` temporary assets that were last used before a time, but for those that the appearance of an account names: they count as used. One whose last use is damaged stays. Returns the contents that no asset names any more: their bytes are to be deleted.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none was removed.
    pub fn remove_expired_assets(&self, before_s: i64, max: u32) -> Result<Vec<AssetHash>, StoreError> {
        let removed = self.write(|session| {
            let expired = session.query(EXPIRED, values![before_s, max], |row| {
                let (id, used_s) = (row.get::<Uuid>(0)?, row.get::<i64>(2)?);
                let is_whole = row.get::<i64>(3)? == used_checksum(id, Some(used_s));
                Ok(is_whole.then_some((id, AssetHash(row.get(1)?))))
            })?;
            let mut unnamed = Vec::new();
            for (id, hash) in expired.into_iter().flatten() {
                if session.query_row(BAKE, values![id], |row| row.get::<i64>(0))?.is_some() {
                    use_asset(session, id, before_s.saturating_add(NAMED_S))?;
                    continue;
                }
                session.execute(REMOVE_EXPIRED, values![id, before_s])?;
                if session.execute(REMOVE_UNNAMED_CONTENT, values![hash.0])? > 0 {
                    unnamed.push(hash);
                }
            }
            Ok(unnamed)
        });
        removed.map_err(StoreError::query("removing temporary assets last used before", before_s))
    }

    /// Up to `max` contents behind a hash, in the order of their hashes: the way of a scrubber through all.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn contents_after(&self, hash: AssetHash, max: u32) -> Result<Vec<AssetContent>, StoreError> {
        self.read(|session| session.query(CONTENTS_AFTER, values![hash.0, max], read_content))
            .map_err(StoreError::query("reading contents behind", hash))
    }

    /// Up to `max` assets with a content.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn assets_of_content(&self, hash: AssetHash, max: u32) -> Result<Vec<Uuid>, StoreError> {
        self.read(|session| session.query(NAMES_OF, values![hash.0, max], |row| row.get(0)))
            .map_err(StoreError::query("reading the assets of content", hash))
    }

    /// Assets by kind. Linear in the number of assets.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn asset_counts(&self) -> Result<Vec<AssetCount>, StoreError> {
        self.read(|session| session.query(COUNTS, &[], read_count))
            .map_err(StoreError::query("counting", "assets"))
    }

    /// Number of contents. Linear in it.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn n_asset_contents(&self) -> Result<u64, StoreError> {
        let count = self.read(|session| session.query_row(COUNT_CONTENTS, &[], |row| row.get::<i64>(0)));
        let count = count.map_err(StoreError::query("counting", "contents of assets"))?;
        Ok(count.map_or(0, i64::cast_unsigned))
    }

    /// Place of the scrubber as it was [kept](Self::keep_scrub_position), 0 to 1.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn scrub_position(&self) -> Result<f64, StoreError> {
        let place = self.read(|session| counter::read(session, SCRUB));
        let place = place.map_err(StoreError::query("reading", "the scrubber's place"))?;
        // Behind a damaged place it begins anew.
        Ok(match place {
            Some(CounterValue::Whole(millionths)) => u32::try_from(millionths).map_or(0.0, f64::from) / 1e6,
            Some(CounterValue::Damaged) | None => 0.0,
        })
    }

    /// Keeps the place of the scrubber, 0 to 1, for the next start.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn keep_scrub_position(&self, position: f64) -> Result<(), StoreError> {
        let millionths = (position.clamp(0.0, 1.0) * 1e6) as u32;
        let kept = self.write(|session| {
            counter::lock(session, SCRUB)?;
            counter::set(session, SCRUB, millionths.into())
        });
        kept.map_err(StoreError::query("keeping", "the scrubber's place"))
    }
}

/// Hash and kind of an asset, which never change.
pub(crate) fn asset_identity(
    session: &mut Session<'_>,
    id: Uuid,
) -> Result<Option<(AssetHash, i8)>, EngineError> {
    let read = |row: Row<'_>| Ok((AssetHash(row.get(0)?), row.get::<i8>(1)?));
    session.query_row(IDENTITY, values![id], read)
}

/// Makes an asset lasting that was temporary, within a transaction.
pub(crate) fn keep_asset(session: &mut Session<'_>, id: Uuid) -> Result<(), EngineError> {
    session.execute(KEEP, values![used_checksum(id, None), id]).map(drop)
}

/// Records the use of a temporary asset.
fn use_asset(session: &mut Session<'_>, id: Uuid, now_s: i64) -> Result<(), EngineError> {
    session.execute(USE, values![now_s, used_checksum(id, Some(now_s)), id]).map(drop)
}

/// Adds a content, or ends its quarantine: its bytes are on the disk.
fn add_content(session: &mut Session<'_>, hash: AssetHash, length: u32) -> Result<(), EngineError> {
    let (sum, damage_sum) = (content_checksum(hash, length), damage_checksum(hash, None));
    session.execute(ADD_CONTENT, values![hash.0, length, sum, damage_sum]).map(drop)
}

/// Adds one asset within a transaction.
pub(crate) fn add_asset(session: &mut Session<'_>, row: &AssetRow) -> Result<AssetAdded, EngineError> {
    if let Some((hash, kind)) = asset_identity(session, row.id)? {
        if (hash, kind) != (row.hash, row.kind) {
            return Ok(AssetAdded::Taken);
        }
        add_content(session, hash, row.length)?;
        match row.used_s {
            Some(used_s) => use_asset(session, row.id, used_s)?,
            None => keep_asset(session, row.id)?,
        }
        return Ok(AssetAdded::Known);
    }
    add_content(session, row.hash, row.length)?;
    let creator = row.creator.0;
    let (sum, used_sum) = (checksum(row), used_checksum(row.id, row.used_s));
    session.execute(
        ADD_ASSET,
        values![row.id, row.hash.0, row.kind, creator, row.created_s, row.origin, row.used_s, sum, used_sum],
    )?;
    Ok(AssetAdded::New)
}

fn first_id(rows: &[AssetRow]) -> Uuid {
    rows.first().map_or(Uuid::nil(), |row| row.id)
}

/// The evidence of a row that does not match its checksum.
const DAMAGED_ROW: &str = "the checksum of its row does not match";

/// Of an asset without its last use.
fn checksum(row: &AssetRow) -> i64 {
    let AssetRow { id, hash, kind, creator, created_s, origin, .. } = row;
    seals::ASSET.of(values![id, hash.0, kind, creator.0, created_s, origin])
}

/// Of the last use of an asset.
fn used_checksum(id: Uuid, used_s: Option<i64>) -> i64 {
    seals::ASSET_USE.of(values![id, used_s])
}

/// Of a content without its quarantine.
fn content_checksum(hash: AssetHash, length: u32) -> i64 {
    seals::CONTENT.of(values![hash.0, length])
}

/// Of the quarantine of a content.
pub(crate) fn damage_checksum(hash: AssetHash, damage: Option<&str>) -> i64 {
    seals::QUARANTINE.of(values![hash.0, damage])
}

/// An asset with its content. One with a damaged row is as one in quarantine: its bytes are not handed out.
fn read_asset(row: Row<'_>) -> Result<StoredAsset, EngineError> {
    let asset = AssetRow {
        id: row.get(0)?,
        hash: AssetHash(row.get(1)?),
        kind: row.get(2)?,
        length: row.get(3)?,
        creator: AgentId(row.get(4)?),
        created_s: row.get(5)?,
        origin: row.get(6)?,
        used_s: row.get(7)?,
    };
    let damage: Option<String> = row.get(8)?;
    let sums = [
        checksum(&asset),
        used_checksum(asset.id, asset.used_s),
        content_checksum(asset.hash, asset.length),
        damage_checksum(asset.hash, damage.as_deref()),
    ];
    let is_whole = (9..).zip(sums).all(|(at, sum)| row.get(at).ok() == Some(sum));
    let damage = if is_whole { damage } else { damage.or_else(|| Some(DAMAGED_ROW.to_owned())) };
    Ok(StoredAsset { row: asset, damage })
}

/// A content from its hash, its length, its damage and their checksums.
pub(crate) fn read_content(row: Row<'_>) -> Result<AssetContent, EngineError> {
    let (hash, length, damage) = (AssetHash(row.get(0)?), row.get(1)?, row.get::<Option<String>>(2)?);
    let sums = [content_checksum(hash, length), damage_checksum(hash, damage.as_deref())];
    let is_whole = (3..).zip(sums).all(|(at, sum)| row.get(at).ok() == Some(sum));
    let damage = if is_whole { damage } else { damage.or_else(|| Some(DAMAGED_ROW.to_owned())) };
    Ok(AssetContent { hash, length, damage })
}

fn read_count(row: Row<'_>) -> Result<AssetCount, EngineError> {
    let count = |at| row.get::<i64>(at).map(i64::cast_unsigned);
    Ok(AssetCount {
        kind: row.get(0)?,
        assets: count(1)?,
        temporary: count(2)?,
        damaged: count(3)?,
        bytes: count(4)?,
    })
}

mod lists;

#[cfg(test)]
mod tests;
