//! Authenticates a login or refuses it with a reason.

use super::{LoginDenial, LoginRequest};
use crate::attempts::{AttemptLimits, AttemptTable, ClientAddress};
use crate::names::Name;
use crate::password::{Hasher, Passwords, PasswordsError, Remembered};
use crate::users::new_account;
use ids::{AgentId, Incarnation, Instant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::{Account, PasswordHash, Store, StoreError};
use telemetry::recorder::frame_end;
use telemetry::{LockWait, Metrics};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// The operator's settings for logins.
#[derive(Clone, Debug)]
pub struct LoginConfig {
    /// The first login under a free name makes the account. Every client that reaches the port can then make accounts, so the default
    /// is off.
    pub open_registration: bool,
    /// Limits of password attempts.
    pub attempts: AttemptLimits,
    /// Lifetime of a verified login in the cache, during which its password is not hashed again.
    pub remember: Duration,
    /// Terms that users must agree to, or none.
    pub terms: Option<String>,
    /// A notice that users must have read, or none.
    pub notice: Option<String>,
}

impl Default for LoginConfig {
    fn default() -> Self {
        Self {
            open_registration: false,
            attempts: AttemptLimits::default(),
            remember: Remembered::LIFETIME,
            terms: None,
            notice: None,
        }
    }
}

/// The current time, by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Since the process began: limits and lifetimes.
    pub instant: Instant,
    /// Seconds since 1970, for stored times.
    pub unix_s: i64,
}

/// A user with a verified login.
#[derive(Clone, Debug)]
pub struct Authenticated {
    /// The account as it was when the password had been verified.
    pub account: Account,
    /// The account was made by this login.
    pub created: bool,
}

/// Checks logins. One for the node, shared by the HTTP handlers.
#[derive(Debug)]
pub struct LoginService {
    store: Arc<Store>,
    passwords: Passwords,
    config: LoginConfig,
    memory: Mutex<Memory>,
    /// The hash that passwords for names without an account are compared with.
    decoy: PasswordHash,
    /// Of the ids under which limits know names without an account.
    name_key: [u8; 32],
    lock_wait: LockWait,
    /// Taken from the store at the first login, not at the start: a server that crashes at each start uses none up.
    incarnation: OnceCell<Incarnation>,
}

#[derive(Debug)]
struct Memory {
    attempts: AttemptTable,
    remembered: Remembered,
}

impl LoginService {
    /// A service over this store.
    ///
    /// # Errors
    /// If the system has no random numbers for the key of the cache.
    pub fn new(
        store: Arc<Store>,
        passwords: Passwords,
        config: LoginConfig,
    ) -> Result<Self, getrandom::Error> {
        let remembered = Remembered::new(random()?, config.remember);
        let decoy = Hasher::decoy(passwords.cost(), random()?, random()?);
        let memory = Mutex::new(Memory { attempts: AttemptTable::new(config.attempts), remembered });
        let (name_key, lock_wait) = (random()?, LockWait::default());
        let incarnation = OnceCell::new();
        Ok(Self { store, passwords, config, memory, decoy, name_key, lock_wait, incarnation })
    }

    /// Counts waits for its lock in `throng_lock_wait_seconds` with the label `system`.
    #[must_use]
    pub fn with_metrics(self, metrics: &Metrics, system: &str) -> Self {
        Self { lock_wait: LockWait::new(metrics, system), ..self }
    }

    /// Authenticates a request. Costs microseconds if the login is cached, else a place in the queue of [`Passwords`].
    ///
    /// A request that is dropped while it waits stays charged as a failed attempt.
    ///
    /// # Errors
    /// [`LoginDenial`].
    pub async fn authenticate(
        &self,
        now: Now,
        peer: impl Into<ClientAddress>,
        request: &LoginRequest,
    ) -> Result<Authenticated, LoginDenial> {
        let peer = peer.into();
        if let Some(terms) = self.config.terms.as_ref().filter(|_| !request.agrees_to_terms) {
            return Err(LoginDenial::Terms(terms.clone()));
        }
        if let Some(notice) = self.config.notice.as_ref().filter(|_| !request.has_read_notice) {
            return Err(LoginDenial::Notice(notice.clone()));
        }
        let name = Name::parse(&request.first, &request.last);
        let account = match &name {
            Ok(name) => self.store.account_by_name(&name.first, &name.last).map_err(internal)?,
            Err(_) => None,
        };
        let agent = match &account {
            Some(account) => account.agent,
            None => self.stand_in(request, name.as_ref().ok()),
        };
        self.memory().attempts.begin(now.instant, peer, agent)?;
        match account {
            Some(account) => self.verify(now, peer, request, account).await,
            None if self.config.open_registration => {
                let name = name
                    .and_then(|name| name.check_unreserved().map(|()| name))
                    .map_err(LoginDenial::Name)?;
                self.register(now, peer, request, name).await
            }
            None => self.refuse_unknown(request).await,
        }
    }

    /// The incarnation of this process's gateway, which the keys of its sessions contain. The first call waits for the store.
    ///
    /// # Errors
    /// [`LoginDenial::Internal`] if the store fails or has no incarnation left; the next call tries again.
    pub async fn incarnation(&self) -> Result<Incarnation, LoginDenial> {
        let begin = || async {
            let store = Arc::clone(&self.store);
            let begun = tokio::task::spawn_blocking(move || {
                let begun = store.begin_gateway();
                frame_end();
                begun
            });
            let incarnation = begun.await.map_err(internal)?.map_err(internal)?;
            tracing::info!(incarnation = incarnation.0, "the first login begins a life of the gateway");
            Ok(incarnation)
        };
        self.incarnation.get_or_try_init(begin).await.copied()
    }

    /// Refuses a login to an account that does not exist after the work that a wrong password costs: the time of the answer leaks
    /// nothing about existing names.
    async fn refuse_unknown(&self, request: &LoginRequest) -> Result<Authenticated, LoginDenial> {
        self.passwords.verify(request.digest, self.decoy.clone()).await.map_err(unqueued)?;
        Err(LoginDenial::BadCredentials)
    }

    /// The id under which limits know a name without an account: all spellings of a name that an account may have are one, as for
    /// accounts, so that the number of attempts leaks nothing about existing names.
    fn stand_in(&self, request: &LoginRequest, name: Option<&Name>) -> AgentId {
        let (first, last) = match name {
            Some(name) => (&name.first, &name.last),
            None => (&request.first, &request.last),
        };
        let name = format!("{} {}", first.to_lowercase(), last.to_lowercase());
        let hash = blake3::keyed_hash(&self.name_key, name.as_bytes());
        let (id, _) = hash.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
        AgentId(Uuid::from_bytes(*id))
    }

    /// Drops the cached login of a user that was banned or has a new password. A changed password voids it anyway, and a ban is looked
    /// up at each login; this frees the entry at once.
    pub fn forget(&self, agent: AgentId) {
        self.memory().remembered.forget(agent);
    }

    /// Drops all cached logins, for their memory: the next login of each user hashes its password again.
    pub fn forget_all(&self) {
        self.memory().remembered.clear();
    }

    /// Logins that wait for the passwords thread, for metrics.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.passwords.waiting()
    }

    async fn verify(
        &self,
        now: Now,
        peer: ClientAddress,
        request: &LoginRequest,
        account: Account,
    ) -> Result<Authenticated, LoginDenial> {
        let (agent, digest) = (account.agent, &request.digest);
        let known = self.memory().remembered.contains(now.instant, agent, digest, &account.password_hash);
        let account = if known {
            account
        } else {
            if !self.passwords.verify(*digest, account.password_hash.clone()).await.map_err(unqueued)? {
                return Err(LoginDenial::BadCredentials);
            }
            // The queue may have been long: a ban or a new password of meanwhile counts.
            let fresh = self.store.account(agent).map_err(internal)?.ok_or(LoginDenial::BadCredentials)?;
            if fresh.password_hash != account.password_hash {
                return Err(LoginDenial::BadCredentials);
            }
            fresh
        };
        let mut memory = self.memory();
        memory.attempts.succeed(now.instant, peer, agent);
        if let Some(reason) = account.ban_reason {
            memory.remembered.forget(agent);
            return Err(LoginDenial::Banned(reason));
        }
        if !known {
            memory.remembered.insert(now.instant, agent, digest, &account.password_hash);
        }
        Ok(Authenticated { account, created: false })
    }

    /// Makes the account. The attempt stays charged to the address, which limits how many accounts one can make.
    async fn register(
        &self,
        now: Now,
        peer: ClientAddress,
        request: &LoginRequest,
        name: Name,
    ) -> Result<Authenticated, LoginDenial> {
        if request.digest.is_of_nothing() {
            return Err(LoginDenial::BadCredentials);
        }
        let hash = self.passwords.hash(request.digest).await.map_err(unqueued)?;
        let new = new_account(&name, hash, now.unix_s).map_err(internal)?;
        let store = Arc::clone(&self.store);
        // The commit waits for the disk, which an async thread must not.
        let made = tokio::task::spawn_blocking(move || {
            let made = store.create_account(&new).and_then(|()| store.account(new.agent));
            // The runtime marks idle time of its workers, but not of these threads.
            frame_end();
            made
        });
        match made.await.map_err(internal)? {
            Ok(account) => {
                let account = account.ok_or(LoginDenial::Internal)?;
                let agent = account.agent;
                self.memory().remembered.insert(now.instant, agent, &request.digest, &account.password_hash);
                tracing::info!(agent = %agent.0, first = account.first, last = account.last, "account made at its first login");
                Ok(Authenticated { account, created: true })
            }
            // Another login was faster, perhaps a second click of the same user.
            Err(StoreError::NameTaken { first, last }) => {
                let account = self.store.account_by_name(&first, &last).map_err(internal)?;
                self.verify(now, peer, request, account.ok_or(LoginDenial::Internal)?).await
            }
            Err(error) => Err(internal(error)),
        }
    }

    /// Both tables are caches of recent events; a panic elsewhere leaves them usable.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.lock_wait.lock(&self.memory).unwrap_or_else(PoisonError::into_inner)
    }
}

fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn unqueued(error: PasswordsError) -> LoginDenial {
    match error {
        PasswordsError::Full => LoginDenial::Busy,
        PasswordsError::Stopped => LoginDenial::Draining,
        PasswordsError::Damaged(_) | PasswordsError::Random(_) => internal(error),
    }
}

fn internal(error: impl std::error::Error + 'static) -> LoginDenial {
    tracing::error!(error = &error as &dyn std::error::Error, "a login failed on our side");
    LoginDenial::Internal
}

#[cfg(test)]
mod tests;
