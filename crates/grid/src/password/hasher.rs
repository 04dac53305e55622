//! Argon2id over digests, with the working memory kept between hashes.
//!
//! Hashes are stored in the usual text form (`$argon2id$v=19$m=19456,t=2,p=1$salt$hash`), so a later version may
//! raise the cost: a stored hash is verified at the cost that it names.

use super::PasswordDigest;
use argon2::password_hash::{self, Output, ParamsString, PasswordHash as ParsedHash, SaltString};
use argon2::{ARGON2ID_IDENT, Algorithm, Argon2, Block, Params, Version};
use store::PasswordHash;

/// Cost of one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Working memory in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
}

impl Default for Cost {
    /// 19 MiB and two passes, as OWASP recommends for one lane; 26 ms on our machine of reference.
    fn default() -> Self {
        Self { memory_kib: 19 * 1024, passes: 2 }
    }
}

/// A stored hash cannot be read, is of another algorithm or costs too much: no password matches it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stored password hash cannot be used: {0}")]
pub struct DamagedHash(password_hash::Error);

/// Limit of the memory that a stored hash may ask for: a damaged row must not exhaust the machine.
const MEMORY_KIB_MAX: u32 = 64 * 1024;

/// A stored hash may ask for this many passes and no more.
const PASSES_MAX: u32 = 16;

const OUTPUT_BYTES: usize = 32;

/// Makes and checks hashes. Owns the working memory, which is taken at the first hash and kept.
#[derive(Debug, Default)]
pub struct Hasher {
    cost: Cost,
    memory: Vec<Block>,
}

impl Hasher {
    /// A hasher that makes hashes at this cost.
    #[must_use]
    pub const fn new(cost: Cost) -> Self {
        Self { cost, memory: Vec::new() }
    }

    /// Hashes a digest with 16 random bytes of salt.
    ///
    /// # Panics
    /// When the cost given to [`Hasher::new`] is outside Argon2's bounds (8 KiB, one pass).
    pub fn hash(&mut self, digest: &PasswordDigest, salt: [u8; 16]) -> PasswordHash {
        let params = Params::new(self.cost.memory_kib, self.cost.passes, 1, Some(OUTPUT_BYTES))
            .expect("the cost is within Argon2's bounds");
        let output = self.run(digest, &salt, params.clone()).expect("sizes are within Argon2's bounds");
        stored(&params, salt, output)
    }

    /// A hash that costs as much to compare with as one made at this cost, and that no digest is known to match: the output is as
    /// random as the salt. Making it costs nothing.
    ///
    /// # Panics
    /// When the cost is outside Argon2's bounds (8 KiB, one pass).
    #[must_use]
    pub fn decoy(cost: Cost, salt: [u8; 16], output: [u8; OUTPUT_BYTES]) -> PasswordHash {
        let params = Params::new(cost.memory_kib, cost.passes, 1, Some(OUTPUT_BYTES))
            .expect("the cost is within Argon2's bounds");
        stored(&params, salt, Output::new(&output).expect("32 bytes are an output"))
    }

    /// True if the hash was made of this digest. The comparison takes the same time wherever they differ.
    ///
    /// # Errors
    /// [`DamagedHash`] if the stored text is no hash that we may compute.
    pub fn verify(&mut self, digest: &PasswordDigest, stored: &PasswordHash) -> Result<bool, DamagedHash> {
        let parsed = ParsedHash::new(&stored.0).map_err(DamagedHash)?;
        let expected = parsed.hash.ok_or(DamagedHash(password_hash::Error::PhcStringField))?;
        let params = Params::try_from(&parsed).map_err(DamagedHash)?;
        let within =
            params.m_cost() <= MEMORY_KIB_MAX && params.t_cost() <= PASSES_MAX && params.p_cost() == 1;
        if parsed.algorithm != ARGON2ID_IDENT || parsed.version != Some(Version::V0x13.into()) || !within {
            return Err(DamagedHash(password_hash::Error::Algorithm));
        }
        let salt = parsed.salt.ok_or(DamagedHash(password_hash::Error::PhcStringField))?;
        let mut bytes = [0; password_hash::Salt::MAX_LENGTH];
        let salt = salt.decode_b64(&mut bytes).map_err(DamagedHash)?;
        // `Output` compares in constant time.
        Ok(self.run(digest, salt, params).map_err(DamagedHash)? == expected)
    }

    /// Gives the working memory back; the next hash takes it again.
    pub fn release(&mut self) {
        self.memory = Vec::new();
    }

    fn run(&mut self, digest: &PasswordDigest, salt: &[u8], params: Params) -> password_hash::Result<Output> {
        let blocks = params.block_count();
        if self.memory.len() < blocks {
            self.memory.resize(blocks, Block::new());
        }
        let length = params.output_len().unwrap_or(OUTPUT_BYTES);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        Output::init_with(length, |out| {
            Ok(argon2.hash_password_into_with_memory(
                digest.as_bytes(),
                salt,
                out,
                &mut self.memory[..blocks],
            )?)
        })
    }
}

/// The text form of a hash.
fn stored(params: &Params, salt: [u8; 16], output: Output) -> PasswordHash {
    let salt = SaltString::encode_b64(&salt).expect("16 bytes are a salt");
    let hash = ParsedHash {
        algorithm: ARGON2ID_IDENT,
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).expect("these parameters have a text form"),
        salt: Some(salt.as_salt()),
        hash: Some(output),
    };
    PasswordHash(hash.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(password: &str) -> PasswordDigest {
        PasswordDigest::of_password(password).unwrap()
    }

    fn cheap() -> Hasher {
        Hasher::new(Cost { memory_kib: 64, passes: 1 })
    }

    #[test]
    fn a_hash_matches_its_own_password_only() {
        let mut hasher = cheap();
        let hash = hasher.hash(&digest("secret"), [7; 16]);
        assert_eq!(hasher.verify(&digest("secret"), &hash), Ok(true));
        assert_eq!(hasher.verify(&digest("Secret"), &hash), Ok(false));
    }

    #[test]
    fn a_decoy_is_compared_at_its_cost_and_matches_nothing() {
        let decoy = Hasher::decoy(Cost { memory_kib: 64, passes: 1 }, [7; 16], [9; 32]);
        assert_eq!(cheap().verify(&digest("secret"), &decoy), Ok(false));
        let hash = cheap().hash(&digest("secret"), [7; 16]);
        let parameters = |hash: &PasswordHash| hash.0.rsplit_once('$').unwrap().0.to_owned();
        assert_eq!(parameters(&decoy), parameters(&hash), "all but the output is as that of an account");
        assert_eq!(decoy.0.len(), hash.0.len());
    }

    #[test]
    fn the_default_cost_is_the_one_of_the_design() {
        let hash = Hasher::default().hash(&digest("secret"), [7; 16]);
        assert!(hash.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", hash.0);
    }

    #[test]
    fn memory_used_before_changes_no_hash() {
        let fresh = cheap().hash(&digest("secret"), [7; 16]);
        let mut used = Hasher::new(Cost { memory_kib: 128, passes: 2 });
        used.hash(&digest("other"), [9; 16]);
        used.cost = cheap().cost;
        assert_eq!(used.hash(&digest("secret"), [7; 16]), fresh);
    }

    #[test]
    fn a_hash_is_verified_at_the_cost_it_was_made_with() {
        let dear = Hasher::new(Cost { memory_kib: 128, passes: 3 }).hash(&digest("secret"), [7; 16]);
        assert_eq!(cheap().verify(&digest("secret"), &dear), Ok(true));
    }

    #[test]
    fn damaged_or_unaffordable_hashes_are_errors_and_match_nothing() {
        let good = cheap().hash(&digest("secret"), [7; 16]).0;
        for text in [
            String::new(),
            "secret".into(),
            good.replace("argon2id", "argon2d"),
            good.replace("m=64", "m=4000000"),
            good.replace("t=1", "t=4000"),
            good.replace("v=19", "v=16"),
            good[..good.rfind('$').unwrap()].into(),
        ] {
            assert!(cheap().verify(&digest("secret"), &PasswordHash(text.clone())).is_err(), "{text}");
        }
    }
}
