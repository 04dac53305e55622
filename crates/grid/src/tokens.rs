//! Tokens for programs that use the operator's API, such as the back end of a game: scopes, expiry, and a quota of instances.
//!
//! A token reads `throng_NAME_SECRET`. The name identifies the caller in the log; the secret, 256 random bits, is shown once, and only
//! its hash is kept. Guessing it is hopeless, so the hash need not be slow. The token in the server's data directory is none of these:
//! it opens everything ([`Caller::operator`]).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use store::{ApiToken, Store, StoreError};

/// Prefix of every token, so that scanners for secrets find one in a repository.
const PREFIX: &str = "throng_";
/// Bytes of a secret.
const SECRET_BYTES: usize = 32;

/// A part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenScope {
    /// To see instances.
    WorldsRead,
    /// To make and end instances, and to send users in and out. Includes [`TokenScope::WorldsRead`].
    WorldsWrite,
    /// To have templates read again.
    TemplatesWrite,
    /// To see regions, their objects and saves.
    RegionsRead,
    /// To return and delete objects, and to save, export and import regions. Includes [`TokenScope::RegionsRead`].
    RegionsWrite,
    /// To see assets: kinds, those in quarantine, those that nothing names.
    AssetsRead,
    /// To have assets in quarantine verified again. Includes [`TokenScope::AssetsRead`].
    AssetsWrite,
    /// To see inventories: folders, counts, and items without content.
    InventoryRead,
    /// To give items and assets to accounts. Includes [`TokenScope::InventoryRead`].
    InventoryWrite,
    /// To load archives of regions and inventories, to save them, and to see and cancel that.
    Archives,
    /// To make backups, to rehearse them, to have all that is stored looked through, and to see and cancel jobs.
    Backup,
    /// Everything else: captures, tuning, recordings, faults, present users, logins, alerts, kicks, and the server's end.
    Operate,
}

impl TokenScope {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::WorldsRead,
        Self::WorldsWrite,
        Self::TemplatesWrite,
        Self::RegionsRead,
        Self::RegionsWrite,
        Self::AssetsRead,
        Self::AssetsWrite,
        Self::InventoryRead,
        Self::InventoryWrite,
        Self::Archives,
        Self::Backup,
        Self::Operate,
    ];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WorldsRead => "worlds:read",
            Self::WorldsWrite => "worlds:write",
            Self::TemplatesWrite => "templates:write",
            Self::RegionsRead => "regions.read",
            Self::RegionsWrite => "regions.write",
            Self::AssetsRead => "assets.read",
            Self::AssetsWrite => "assets.write",
            Self::InventoryRead => "inventory.read",
            Self::InventoryWrite => "inventory.write",
            Self::Archives => "archives",
            Self::Backup => "backup",
            Self::Operate => "operate",
        }
    }

    /// True if this scope suffices where `needed` is required.
    const fn includes(self, needed: Self) -> bool {
        self as u8 == needed as u8
            || matches!(
                (self, needed),
                (Self::WorldsWrite, Self::WorldsRead)
                    | (Self::RegionsWrite, Self::RegionsRead)
                    | (Self::AssetsWrite, Self::AssetsRead)
                    | (Self::InventoryWrite, Self::InventoryRead)
            )
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TokenScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| format!("there is no scope {text:?}; there are: {}", known()))
    }
}

/// Caller with a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's name; of the operator's own, its file's, which no other token can have.
    pub name: String,
    /// None: all.
    scopes: Option<BTreeSet<TokenScope>>,
    /// Existing instances made with it at most.
    pub worlds_max: Option<u32>,
}

impl Caller {
    /// Caller with the token of the data directory.
    #[must_use]
    pub fn operator() -> Self {
        Self { name: "admin.token".into(), scopes: None, worlds_max: None }
    }

    /// True for the token of the data directory.
    #[must_use]
    pub const fn is_operator(&self) -> bool {
        self.scopes.is_none()
    }

    /// True if its scopes include `needed`.
    #[must_use]
    pub fn has_scope(&self, needed: TokenScope) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.iter().any(|scope| scope.includes(needed)))
    }
}

/// Properties of a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// 1 to 32 small letters, digits and hyphens.
    pub name: String,
    /// Scopes.
    pub scopes: BTreeSet<TokenScope>,
    /// In how many seconds it ends; none: when it is revoked.
    pub lifetime_s: Option<u32>,
    /// See [`Caller::worlds_max`].
    pub worlds_max: Option<u32>,
}

/// Failure of a command about tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// No token can have this name.
    #[error("a token's name has 1 to {} small letters, digits and hyphens", Tokens::NAME_MAX)]
    Name,
    /// It would open nothing.
    #[error("a token has at least one scope")]
    NoScope,
    /// There is none.
    #[error("there is no token named {0:?}")]
    Unknown(String),
    /// The database refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gave no random bytes.
    #[error("the system has no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}

/// Reason of a token that opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum Stranger {
    /// There is no such token, or there is no more.
    #[error("That token is not known here; it may have been revoked.")]
    Unknown,
    /// It had its time.
    #[error("The token {0:?} has expired.")]
    Expired(String),
    /// It cannot be looked up.
    #[error("Tokens cannot be looked up just now.")]
    Store(#[from] StoreError),
}

/// The tokens of a server. Changes by one process apply to the others at once: tokens are read from the database each time.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    store: &'a Store,
}

impl<'a> Tokens<'a> {
    /// Longest name.
    pub const NAME_MAX: usize = 32;

    /// Works on this store.
    #[must_use]
    pub const fn new(store: &'a Store) -> Self {
        Self { store }
    }

    /// Creates a token and returns its secret, which cannot be read again. `unix_s` is now.
    ///
    /// # Errors
    /// [`TokenError`]: an invalid or used name, no scope, or the database.
    pub fn create(&self, new: &NewToken, unix_s: i64) -> Result<String, TokenError> {
        let NewToken { name, scopes, lifetime_s, worlds_max } = new;
        if !is_name(name) {
            return Err(TokenError::Name);
        }
        if scopes.is_empty() {
            return Err(TokenError::NoScope);
        }
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        self.store.create_token(&ApiToken {
            name: name.clone(),
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            scopes: scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" "),
            created_s: unix_s,
            expires_s: lifetime_s.map(|lifetime_s| unix_s.saturating_add(lifetime_s.into())),
            worlds_max: *worlds_max,
        })?;
        Ok(format!("{PREFIX}{name}_{secret}"))
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// [`TokenError::Store`].
    pub fn list(&self) -> Result<Vec<ApiToken>, TokenError> {
        Ok(self.store.tokens()?)
    }

    /// Ends one.
    ///
    /// # Errors
    /// [`TokenError::Unknown`], [`TokenError::Store`].
    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        if self.store.remove_token(name)? { Ok(()) } else { Err(TokenError::Unknown(name.to_owned())) }
    }

    /// Caller of a shown token. `unix_s` is now. Waits for the database.
    ///
    /// # Errors
    /// [`Stranger`]. A text that is no token costs no database lookup.
    pub fn caller(&self, shown: &str, unix_s: i64) -> Result<Caller, Stranger> {
        let (name, secret) = parse(shown).ok_or(Stranger::Unknown)?;
        let token = self.store.token(name)?.ok_or(Stranger::Unknown)?;
        // Hashes are compared in constant time.
        if blake3::hash(secret.as_bytes()) != blake3::Hash::from_bytes(token.hash) {
            return Err(Stranger::Unknown);
        }
        if has_expired(&token, unix_s) {
            return Err(Stranger::Expired(token.name));
        }
        // A scope of another version opens nothing here.
        let scopes = token.scopes.split(' ').filter_map(|scope| scope.parse().ok()).collect();
        Ok(Caller { name: token.name, scopes: Some(scopes), worlds_max: token.worlds_max })
    }
}

/// True once a token has expired.
#[must_use]
pub fn has_expired(token: &ApiToken, unix_s: i64) -> bool {
    token.expires_s.is_some_and(|expires_s| expires_s <= unix_s)
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=Tokens::NAME_MAX).contains(&name.len()) && name.bytes().all(is_letter)
}

/// Name and secret of a shown token.
fn parse(shown: &str) -> Option<(&str, &str)> {
    let (name, secret) = shown.strip_prefix(PREFIX)?.rsplit_once('_')?;
    (is_name(name) && secret.len() == 2 * SECRET_BYTES).then_some((name, secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, scopes: &[TokenScope]) -> NewToken {
        NewToken {
            name: name.into(),
            scopes: scopes.iter().copied().collect(),
            lifetime_s: None,
            worlds_max: Some(5),
        }
    }

    #[test]
    fn a_token_opens_its_scopes_and_the_included_ones() {
        let store = Store::open_in_memory().unwrap();
        let tokens = Tokens::new(&store);
        let shown = tokens.create(&new("back-end", &[TokenScope::WorldsWrite]), 1_000).unwrap();
        let caller = tokens.caller(&shown, 1_000).unwrap();
        assert_eq!((caller.name.as_str(), caller.worlds_max), ("back-end", Some(5)));
        let opened = |caller: &Caller| -> Vec<&'static str> {
            TokenScope::ALL
                .into_iter()
                .filter(|scope| caller.has_scope(*scope))
                .map(TokenScope::name)
                .collect()
        };
        assert_eq!(opened(&caller), ["worlds:read", "worlds:write"]);
        for (name, scope, read) in [
            ("builder", TokenScope::RegionsWrite, "regions.read"),
            ("mender", TokenScope::AssetsWrite, "assets.read"),
            ("giver", TokenScope::InventoryWrite, "inventory.read"),
        ] {
            let shown = tokens.create(&new(name, &[scope]), 1_000).unwrap();
            assert_eq!(opened(&tokens.caller(&shown, 1_000).unwrap()), [read, scope.name()]);
        }
        let shown =
            tokens.create(&new("page", &[TokenScope::WorldsRead, TokenScope::Operate]), 1_000).unwrap();
        let caller = tokens.caller(&shown, 1_000).unwrap();
        assert_eq!(opened(&caller), ["worlds:read", "operate"]);
        assert!(TokenScope::ALL.into_iter().all(|scope| Caller::operator().has_scope(scope)));
        assert!(Caller::operator().is_operator() && !caller.is_operator());
    }

    #[test]
    fn only_the_whole_token_is_one_and_none_is_kept() {
        let store = Store::open_in_memory().unwrap();
        let tokens = Tokens::new(&store);
        let shown = tokens.create(&new("a", &[TokenScope::Operate]), 0).unwrap();
        let other = tokens.create(&new("b", &[TokenScope::Operate]), 0).unwrap();
        let (_, secret) = parse(&shown).unwrap();
        assert!(!format!("{:?}", store.tokens().unwrap()).contains(secret));
        let mut wrong = shown.clone();
        wrong.replace_range(shown.len() - 1.., if shown.ends_with('0') { "1" } else { "0" });
        let swapped = format!("throng_b_{secret}");
        for text in [
            "",
            "throng_",
            "throng_a_",
            "a",
            &wrong,
            &swapped,
            &shown[..shown.len() - 1],
            &shown.to_uppercase(),
        ] {
            assert!(matches!(tokens.caller(text, 0), Err(Stranger::Unknown)), "{text}");
        }
        assert_eq!(tokens.caller(&other, 0).unwrap().name, "b");
    }

    #[test]
    fn it_ends_with_its_time_or_when_it_is_revoked() {
        let store = Store::open_in_memory().unwrap();
        let tokens = Tokens::new(&store);
        let brief = NewToken { lifetime_s: Some(60), ..new("brief", &[TokenScope::Operate]) };
        let shown = tokens.create(&brief, 1_000).unwrap();
        assert!(tokens.caller(&shown, 1_059).is_ok());
        assert!(matches!(tokens.caller(&shown, 1_060), Err(Stranger::Expired(name)) if name == "brief"));
        let shown = tokens.create(&new("long", &[TokenScope::Operate]), 1_000).unwrap();
        assert!(tokens.caller(&shown, i64::MAX).is_ok());
        tokens.revoke("long").unwrap();
        assert!(matches!(tokens.caller(&shown, 1_000), Err(Stranger::Unknown)));
        assert_eq!(tokens.revoke("long").unwrap_err().to_string(), "there is no token named \"long\"");
        // Its name may be used again, and the old secret is none of the new one's.
        tokens.create(&new("long", &[TokenScope::Operate]), 1_000).unwrap();
        assert!(matches!(tokens.caller(&shown, 1_000), Err(Stranger::Unknown)));
    }

    #[test]
    fn a_malformed_token_is_refused_with_the_reason() {
        let store = Store::open_in_memory().unwrap();
        let tokens = Tokens::new(&store);
        for name in ["", "Back", "back end", "back_end", "admin.token", &"x".repeat(33)] {
            let refused = tokens.create(&new(name, &[TokenScope::Operate]), 0);
            assert!(matches!(refused, Err(TokenError::Name)), "{name:?}");
        }
        assert!(matches!(tokens.create(&new("a", &[]), 0), Err(TokenError::NoScope)));
        tokens.create(&new("a", &[TokenScope::Operate]), 0).unwrap();
        let twice = tokens.create(&new("a", &[TokenScope::Operate]), 0).unwrap_err();
        assert_eq!(twice.to_string(), "there is already a token named a");
        let scope = "world:read".parse::<TokenScope>().unwrap_err();
        let all = "worlds:read, worlds:write, templates:write, regions.read, regions.write, assets.read, \
                   assets.write, inventory.read, inventory.write, archives, backup, operate";
        assert!(scope.contains(&format!("there are: {all}")), "{scope}");
    }
}
