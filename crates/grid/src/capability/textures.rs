//! Textures held in memory: pictures of the map, and for a while bakes, which clients compose of an avatar's skin and clothes and
//! upload for the others (UploadBakedTexture).
//!
//! Nothing of it is stored: pictures are drawn at the start and after changes, and a client bakes anew when it logs in, and others show a cloud
//! until they have the newest one, so that nothing is lost with the process. Start with [`HeldTextures::keep_texture`].

use ids::AgentId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use uuid::{Builder, Uuid};

/// Textures kept for an account; an outfit has up to eleven. The account's oldest goes first.
pub const BAKES_PER_AGENT_MAX: usize = 16;

/// Bytes of all that are kept. The oldest of all go first.
pub const BAKES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// SOC and SIZ, the markers with which a JPEG 2000 codestream begins.
const CODESTREAM: [u8; 4] = [0xff, 0x4f, 0xff, 0x51];

/// The upload is no texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a baked texture is a JPEG 2000 codestream")]
pub struct NoCodestream;

/// The bakes of all accounts, and the pinned textures.
#[derive(Debug, Default)]
pub struct HeldTextures {
    kept: Mutex<BakedTextures>,
    /// Never evicted, by id: two for each region and one for each template at most.
    pinned: Mutex<BTreeMap<Uuid, PinnedTexture>>,
}

#[derive(Debug)]
struct PinnedTexture {
    n_users: usize,
    bytes: Arc<[u8]>,
}

#[derive(Debug, Default)]
struct BakedTextures {
    by_id: BTreeMap<Uuid, Arc<[u8]>>,
    /// Oldest first.
    order: VecDeque<(AgentId, Uuid)>,
    bytes: usize,
}

impl HeldTextures {
    /// Keeps a texture; its id. The same texture of the same account has the same id.
    ///
    /// # Errors
    /// [`NoCodestream`].
    pub fn keep_texture(&self, agent: AgentId, texture: &[u8]) -> Result<Uuid, NoCodestream> {
        if !texture.starts_with(&CODESTREAM) {
            return Err(NoCodestream);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(agent.0.as_bytes()).update(texture);
        let mut id = [0; 16];
        hasher.finalize_xof().fill(&mut id);
        let id = Builder::from_custom_bytes(id).into_uuid();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget(|_, known| known == id);
        let of_agent = kept.order.iter().filter(|(owner, _)| *owner == agent).count();
        if of_agent >= BAKES_PER_AGENT_MAX {
            kept.forget(|owner, _| owner == agent);
        }
        while kept.bytes + texture.len() > BAKES_BYTES_MAX && !kept.order.is_empty() {
            kept.forget(|_, _| true);
        }
        kept.bytes += texture.len();
        kept.by_id.insert(id, texture.into());
        kept.order.push_back((agent, id));
        Ok(id)
    }

    /// Holds a texture of the server's own, until it is [unpinned](Self::unpin) as often.
    pub fn pin(&self, id: Uuid, texture: Arc<[u8]>) {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        pinned.entry(id).or_insert(PinnedTexture { n_users: 0, bytes: texture }).n_users += 1;
    }

    /// Lets a texture of the server's own go.
    pub fn unpin(&self, id: Uuid) {
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(texture) = pinned.get_mut(&id) {
            texture.n_users -= 1;
            if texture.n_users == 0 {
                pinned.remove(&id);
            }
        }
    }

    /// A texture that is held.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Arc<[u8]>> {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let own = pinned.get(&id).map(|texture| Arc::clone(&texture.bytes));
        drop(pinned);
        own.or_else(|| self.kept(id))
    }

    fn kept(&self, id: Uuid) -> Option<Arc<[u8]>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).by_id.get(&id).cloned()
    }
}

impl BakedTextures {
    /// Forgets the oldest one of which this holds.
    fn forget(&mut self, is_it: impl Fn(AgentId, Uuid) -> bool) {
        let Some(at) = self.order.iter().position(|&(agent, id)| is_it(agent, id)) else { return };
        let (_, id) = self.order.remove(at).expect("just found");
        let texture = self.by_id.remove(&id).expect("every id in the order has its texture");
        self.bytes -= texture.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: AgentId = AgentId(Uuid::from_u128(1));
    const BOB: AgentId = AgentId(Uuid::from_u128(2));

    fn texture(n: u32, length: usize) -> Vec<u8> {
        let mut bytes = [&CODESTREAM[..], &n.to_le_bytes()].concat();
        bytes.resize(length, 0);
        bytes
    }

    #[test]
    fn pinned_textures_stay_however_many_are_kept() {
        let textures = HeldTextures::default();
        let map = Uuid::from_u128(9);
        textures.pin(map, texture(0, 100).into());
        (0..200).for_each(|n| assert!(textures.keep_texture(ADA, &texture(n, 1_000)).is_ok()));
        assert_eq!(textures.get(map).as_deref(), Some(&texture(0, 100)[..]));
        // Two regions may look alike.
        textures.pin(map, texture(0, 100).into());
        for is_held in [true, false, false] {
            textures.unpin(map);
            assert_eq!(textures.get(map).is_some(), is_held);
        }
    }

    #[test]
    fn bytes_that_are_no_texture_are_refused() {
        assert_eq!(HeldTextures::default().keep_texture(ADA, b"GIF89a"), Err(NoCodestream));
        assert_eq!(HeldTextures::default().keep_texture(ADA, b""), Err(NoCodestream));
    }

    #[test]
    fn an_accounts_oldest_goes_and_others_stay() {
        let bakes = HeldTextures::default();
        let bobs = bakes.keep_texture(BOB, &texture(0, 100)).unwrap();
        let adas: Vec<Uuid> = (0..20).map(|n| bakes.keep_texture(ADA, &texture(n, 100)).unwrap()).collect();
        let kept = adas.iter().filter(|&&id| bakes.get(id).is_some()).count();
        assert_eq!(kept, BAKES_PER_AGENT_MAX);
        assert!(bakes.get(adas[3]).is_none() && bakes.get(adas[4]).is_some() && bakes.get(bobs).is_some());
    }

    #[test]
    fn the_same_texture_is_kept_once() {
        let bakes = HeldTextures::default();
        let first = bakes.keep_texture(ADA, &texture(1, 100)).unwrap();
        assert_eq!(bakes.keep_texture(ADA, &texture(1, 100)), Ok(first));
        assert_ne!(bakes.keep_texture(BOB, &texture(1, 100)), Ok(first));
        assert_eq!(bakes.kept.lock().unwrap().bytes, 200);
    }

    #[test]
    fn bytes_of_all_are_bounded() {
        let bakes = HeldTextures::default();
        let length = 512 * 1024;
        for n in 0..200 {
            bakes.keep_texture(AgentId(Uuid::from_u128(n.into())), &texture(n, length)).unwrap();
        }
        let kept = bakes.kept.lock().unwrap();
        assert_eq!(kept.bytes, BAKES_BYTES_MAX);
        assert_eq!(
            (kept.by_id.len(), kept.order.len()),
            (BAKES_BYTES_MAX / length, BAKES_BYTES_MAX / length)
        );
    }
}
