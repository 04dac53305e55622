//! Appearances of avatars as their clients have sent them last, with the baked textures that they name, and the wearables of their outfits.
//!
//! A baked texture is a temporary asset. It does not expire while an appearance names it ([`Store::remove_expired_assets`]).

use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::seals;
use crate::tables::first_half;
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// Baked textures of one appearance at most.
const BAKES_MAX: usize = 16;
/// Wearables of one outfit at most: those of a message.
const WEARABLES_MAX: usize = 255;
/// Bytes of a wearable: its item, its kind.
const WEARABLE_LEN: usize = 17;

/// The look of an avatar.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredAppearance {
    /// Height of the avatar's box, metres.
    pub height_m: f32,
    /// Texture entry in the protocol's encoding.
    pub texture_entry: Vec<u8>,
    /// One byte per visual parameter.
    pub visual_params: Vec<u8>,
    /// Its baked textures by their faces, each once, at most 16; further ones are left out.
    pub bakes: Vec<StoredBake>,
}

/// A baked texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBake {
    /// Face of the texture entry.
    pub face: u8,
    /// The client's name for the ingredients; null for none.
    pub cache_id: Uuid,
    /// The texture.
    pub asset: Uuid,
}

/// A wearable of an outfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredWearable {
    /// The item in the inventory.
    pub item: Uuid,
    /// 0 shape, 1 skin, 2 hair, 3 eyes …
    pub kind: u8,
}

/// A damaged row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("appearance of {}: the checksum does not match", .agent.0)]
pub struct AppearanceDamage {
    /// The account.
    pub agent: AgentId,
}

const ACCOUNT: Sql = Sql::same("SELECT agent FROM accounts WHERE agent = $1");
const SAVE: Sql = Sql::same(
    "INSERT INTO avatar_appearances (agent, height_m, texture_entry, visual_params, checksum) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (agent) DO UPDATE SET height_m = excluded.height_m, \
     texture_entry = excluded.texture_entry, visual_params = excluded.visual_params, checksum = excluded.checksum",
);
const READ: Sql = Sql::same(
    "SELECT height_m, texture_entry, visual_params, checksum FROM avatar_appearances WHERE agent = $1",
);
const REMOVE: Sql = Sql::same("DELETE FROM avatar_appearances WHERE agent = $1");
const PAGE: Sql = Sql::same(
    "SELECT agent, height_m, texture_entry, visual_params, checksum FROM avatar_appearances \
     WHERE agent > $1 ORDER BY agent LIMIT $2",
);
const REMOVE_BAKES: Sql = Sql::same("DELETE FROM appearance_bakes WHERE agent = $1");
const SAVE_BAKE: Sql = Sql::same(
    "INSERT INTO appearance_bakes (agent, face, cache_id, asset, checksum) VALUES ($1, $2, $3, $4, $5)",
);
/// Those whose assets are there.
const READ_BAKES: Sql = Sql::same(
    "SELECT b.face, b.cache_id, b.asset, b.checksum FROM appearance_bakes b JOIN assets a ON a.asset = b.asset \
     WHERE b.agent = $1 ORDER BY b.face",
);
const SAVE_WEARABLES: Sql = Sql::same(
    "INSERT INTO avatar_wearables (agent, worn, checksum) VALUES ($1, $2, $3) \
     ON CONFLICT (agent) DO UPDATE SET worn = excluded.worn, checksum = excluded.checksum",
);
const READ_WEARABLES: Sql = Sql::same("SELECT worn, checksum FROM avatar_wearables WHERE agent = $1");

impl Store {
    /// Keeps the newest appearances of accounts, in one transaction. Those of accounts that do not exist are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn save_appearances(&self, all: &[(AgentId, StoredAppearance)]) -> Result<(), StoreError> {
        let saved =
            self.write(|session| all.iter().try_for_each(|(agent, look)| save(session, *agent, look)));
        saved.map_err(StoreError::query("keeping appearances:", all.len()))
    }

    /// The appearance of an account, with those of its baked textures that are there and not damaged. A damaged appearance is removed.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn appearance(
        &self,
        agent: AgentId,
    ) -> Result<Option<Result<StoredAppearance, AppearanceDamage>>, StoreError> {
        let failed = || StoreError::query("reading the appearance of", agent.0);
        let found = self.read(|session| {
            let found = session.query_row(READ, values![agent.0], |row| read(agent, &row, 0))?;
            let look = match found {
                Some(Ok(look)) => look,
                other => return Ok(other),
            };
            let bakes = session.query(READ_BAKES, values![agent.0], |row| {
                let bake = StoredBake { face: row.get(0)?, cache_id: row.get(1)?, asset: row.get(2)? };
                Ok((row.get::<i64>(3)? == bake_checksum(agent, &bake)).then_some(bake))
            })?;
            let bakes = bakes.into_iter().flatten().collect();
            Ok(Some(Ok(StoredAppearance { bakes, ..look })))
        });
        let found = found.map_err(failed())?;
        if matches!(found, Some(Err(_))) {
            let removed = self.write(|session| {
                session.execute(REMOVE, values![agent.0])?;
                session.execute(REMOVE_BAKES, values![agent.0]).map(drop)
            });
            removed.map_err(failed())?;
        }
        Ok(found)
    }

    /// Keeps the wearables of an account's outfit; 255 at most, further ones are left out.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::Query`]; then nothing has changed.
    pub fn save_wearables(&self, agent: AgentId, worn: &[StoredWearable]) -> Result<(), StoreError> {
        let mut bytes = Vec::with_capacity(worn.len() * WEARABLE_LEN);
        for StoredWearable { item, kind } in worn.iter().take(WEARABLES_MAX) {
            bytes.extend_from_slice(item.as_bytes());
            bytes.push(*kind);
        }
        let saved = self.write(|session| {
            if !is_account(session, agent)? {
                return Ok(false);
            }
            let sum = seals::WEARABLES.of(values![agent.0, bytes]);
            session.execute(SAVE_WEARABLES, values![agent.0, bytes, sum]).map(|_| true)
        });
        let is_saved = saved.map_err(StoreError::query("keeping the outfit of", agent.0))?;
        if is_saved { Ok(()) } else { Err(StoreError::UnknownAccount(agent)) }
    }

    /// The wearables of an account's outfit, as they were kept last; none before, and none of a damaged row. Their items may be gone.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn wearables(&self, agent: AgentId) -> Result<Vec<StoredWearable>, StoreError> {
        let bytes = self.read(|session| {
            session.query_row(READ_WEARABLES, values![agent.0], |row| {
                let (bytes, sum) = (row.get::<Vec<u8>>(0)?, row.get::<i64>(1)?);
                Ok((seals::WEARABLES.of(values![agent.0, bytes]) == sum).then_some(bytes))
            })
        });
        let bytes = bytes.map_err(StoreError::query("reading the outfit of", agent.0))?;
        let bytes = bytes.flatten().unwrap_or_default();
        let (rows, _) = bytes.as_chunks::<WEARABLE_LEN>();
        let wearable = |row: &[u8; WEARABLE_LEN]| {
            let (item, kind) = row.split_first_chunk().expect("17 bytes");
            StoredWearable { item: Uuid::from_bytes(*item), kind: kind[0] }
        };
        Ok(rows.iter().map(wearable).collect())
    }
}

fn save(session: &mut Session<'_>, agent: AgentId, look: &StoredAppearance) -> Result<(), EngineError> {
    if !is_account(session, agent)? {
        return Ok(());
    }
    let StoredAppearance { height_m, texture_entry, visual_params, bakes } = look;
    let sum = checksum(agent, look);
    session.execute(SAVE, values![agent.0, *height_m, texture_entry, visual_params, sum])?;
    session.execute(REMOVE_BAKES, values![agent.0])?;
    for bake in bakes.iter().take(BAKES_MAX) {
        let StoredBake { face, cache_id, asset } = bake;
        let sum = bake_checksum(agent, bake);
        session.execute(SAVE_BAKE, values![agent.0, *face, cache_id, asset, sum])?;
    }
    Ok(())
}

fn bake_checksum(agent: AgentId, bake: &StoredBake) -> i64 {
    let StoredBake { face, cache_id, asset } = bake;
    seals::BAKE.of(values![agent.0, face, cache_id, asset])
}

/// Damaged rows behind that of an account, of a number of rows. The last account.
pub(crate) fn damaged(
    session: &mut Session<'_>,
    before: AgentId,
    limit: u32,
    mut report: impl FnMut(AppearanceDamage),
) -> Result<Option<AgentId>, EngineError> {
    let mut last = None;
    session.query(PAGE, values![before.0, limit], |row| {
        let agent = AgentId(row.get(0)?);
        last = Some(agent);
        if let Err(damage) = read(agent, &row, 1)? {
            report(damage);
        }
        Ok(())
    })?;
    Ok(last)
}

fn is_account(session: &mut Session<'_>, agent: AgentId) -> Result<bool, EngineError> {
    Ok(session.query_row(ACCOUNT, values![agent.0], |row| row.get::<Uuid>(0))?.is_some())
}

/// An appearance without its bakes, from the columns behind one.
fn read(
    agent: AgentId,
    row: &Row<'_>,
    first: usize,
) -> Result<Result<StoredAppearance, AppearanceDamage>, EngineError> {
    let cells = || {
        let look = StoredAppearance {
            height_m: row.get(first).ok()?,
            texture_entry: row.get(first + 1).ok()?,
            visual_params: row.get(first + 2).ok()?,
            bakes: Vec::new(),
        };
        Some((look, row.get::<i64>(first + 3).ok()?))
    };
    let whole = cells().filter(|(look, sum)| checksum(agent, look) == *sum);
    Ok(whole.map(|(look, _)| look).ok_or(AppearanceDamage { agent }))
}

fn checksum(agent: AgentId, look: &StoredAppearance) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(b"appearance")
        .update(agent.0.as_bytes())
        // SQLite does not keep the sign of zero.
        .update(&(look.height_m + 0.0).to_le_bytes())
        .update(&(look.texture_entry.len() as u64).to_le_bytes())
        .update(&look.texture_entry)
        .update(&look.visual_params);
    first_half(&hasher.finalize())
}

#[cfg(test)]
mod tests;
