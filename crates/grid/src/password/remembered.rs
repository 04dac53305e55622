//! Recently verified logins, so that a reconnecting crowd does not queue for Argon2.
//!
//! An entry is a BLAKE3 keyed hash of (agent, digest, stored hash) under a key of this process only: a memory dump without the key
//! reveals nothing, and a dump with it still costs a guess per password. The stored hash is part of it, so a changed password voids the
//! entry even if another process changed it.

use super::PasswordDigest;
use ids::{AgentId, Instant};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use store::PasswordHash;

/// The table of verified logins. When it is full, the entry that would expire next goes.
pub struct Remembered {
    key: [u8; 32],
    /// Validity of a verified login. Its use does not renew it.
    lifetime: Duration,
    entries: BTreeMap<AgentId, RememberedLogin>,
    by_expiry: BTreeSet<(Instant, AgentId)>,
}

struct RememberedLogin {
    proof: blake3::Hash,
    expires_at: Instant,
}

impl Remembered {
    /// Default validity of a verified login.
    pub const LIFETIME: Duration = Duration::from_secs(15 * 60);

    /// Logins remembered at once; 100 bytes each.
    pub const ENTRIES_MAX: usize = 65_536;

    /// An empty table under a random key. With a lifetime of 0 no login is remembered.
    #[must_use]
    pub const fn new(key: [u8; 32], lifetime: Duration) -> Self {
        Self { key, lifetime, entries: BTreeMap::new(), by_expiry: BTreeSet::new() }
    }

    /// Remembers that this digest was verified against this stored hash.
    pub fn insert(&mut self, now: Instant, agent: AgentId, digest: &PasswordDigest, stored: &PasswordHash) {
        self.forget(agent);
        if self.entries.len() == Self::ENTRIES_MAX
            && let Some((_, next)) = self.by_expiry.first().copied()
        {
            self.forget(next);
        }
        let expires_at = now + self.lifetime;
        self.entries.insert(agent, RememberedLogin { proof: self.proof(agent, digest, stored), expires_at });
        self.by_expiry.insert((expires_at, agent));
    }

    /// True if this digest was verified against this stored hash within the lifetime. Drops expired entries.
    pub fn contains(
        &mut self,
        now: Instant,
        agent: AgentId,
        digest: &PasswordDigest,
        stored: &PasswordHash,
    ) -> bool {
        while let Some((expires_at, next)) = self.by_expiry.first().copied()
            && expires_at <= now
        {
            self.forget(next);
        }
        // `blake3::Hash` compares in constant time.
        self.entries.get(&agent).is_some_and(|entry| entry.proof == self.proof(agent, digest, stored))
    }

    /// Forgets all logins.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.by_expiry.clear();
    }

    /// Forgets an agent: banned, or its password was changed.
    pub fn forget(&mut self, agent: AgentId) {
        if let Some(entry) = self.entries.remove(&agent) {
            self.by_expiry.remove(&(entry.expires_at, agent));
        }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn proof(&self, agent: AgentId, digest: &PasswordDigest, stored: &PasswordHash) -> blake3::Hash {
        // The first two parts have fixed lengths, so that no two inputs give the same bytes.
        blake3::Hasher::new_keyed(&self.key)
            .update(agent.0.as_bytes())
            .update(digest.as_bytes())
            .update(stored.0.as_bytes())
            .finalize()
    }
}

impl std::fmt::Debug for Remembered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remembered").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const ADA: AgentId = AgentId(Uuid::from_u128(1));

    fn digest(password: &str) -> PasswordDigest {
        PasswordDigest::of_password(password).unwrap()
    }

    fn hash(text: &str) -> PasswordHash {
        PasswordHash(text.into())
    }

    #[test]
    fn a_verified_login_counts_until_its_lifetime_ends() {
        let mut remembered = Remembered::new([1; 32], Remembered::LIFETIME);
        remembered.insert(Instant::ZERO, ADA, &digest("a"), &hash("h"));
        let last = Instant::ZERO + Remembered::LIFETIME;
        assert!(remembered.contains(Instant(last.0 - 1), ADA, &digest("a"), &hash("h")));
        assert!(!remembered.contains(last, ADA, &digest("a"), &hash("h")));
        assert!(remembered.is_empty());
    }

    #[test]
    fn without_a_lifetime_no_password_is_remembered() {
        let mut remembered = Remembered::new([1; 32], Duration::ZERO);
        remembered.insert(Instant::ZERO, ADA, &digest("a"), &hash("h"));
        assert!(!remembered.contains(Instant::ZERO, ADA, &digest("a"), &hash("h")));
    }

    #[test]
    fn another_digest_agent_or_stored_hash_does_not_count() {
        let mut remembered = Remembered::new([1; 32], Remembered::LIFETIME);
        remembered.insert(Instant::ZERO, ADA, &digest("a"), &hash("h"));
        let grace = AgentId(Uuid::from_u128(2));
        assert!(!remembered.contains(Instant::ZERO, ADA, &digest("b"), &hash("h")));
        assert!(!remembered.contains(Instant::ZERO, grace, &digest("a"), &hash("h")));
        assert!(!remembered.contains(Instant::ZERO, ADA, &digest("a"), &hash("changed")));
        assert!(remembered.contains(Instant::ZERO, ADA, &digest("a"), &hash("h")));
        remembered.forget(ADA);
        assert!(!remembered.contains(Instant::ZERO, ADA, &digest("a"), &hash("h")));
    }

    #[test]
    fn a_full_table_drops_the_entry_that_expires_next() {
        let mut remembered = Remembered::new([1; 32], Remembered::LIFETIME);
        for id in 0..=Remembered::ENTRIES_MAX as u64 {
            remembered.insert(Instant(id), AgentId(Uuid::from_u128(id.into())), &digest("a"), &hash("h"));
        }
        assert_eq!(remembered.len(), Remembered::ENTRIES_MAX);
        assert!(!remembered.contains(Instant(9), AgentId(Uuid::from_u128(0)), &digest("a"), &hash("h")));
        assert!(remembered.contains(Instant(9), ADA, &digest("a"), &hash("h")));
    }
}
