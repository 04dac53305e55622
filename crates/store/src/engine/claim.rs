//! A server's claim to a database: at most one server uses it, whichever data directories its rivals have.
//!
//! - SQLite: a locked file beside the database (`PATH.lock`), which the kernel releases with the process.
//! - PostgreSQL: an advisory lock of a session of its own, by schema. The server releases it with the connection; one to a machine that has
//!   vanished is given up after [`KEEPALIVE`]. A claim that was lost with its session is taken again when the claim is confirmed.
//!
//! The claim begins when the sessions of former servers are gone: see [`members`].
//!
//! Commands (`throng user`, `throng store copy`) take no claim. Behind a pooler that lends a session for each transaction, a claim does not hold.

use super::connection::Connection;
use super::pool::{Attempts, Pool};
use super::{Engine, EngineError, members};
use data_dir::{FileLock, FileLockError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Time for the session of a server that was killed to be noticed by its end, and for its members to finish their statements.
const RELEASE: Duration = Duration::from_secs(1);
/// Time for members that were told to end: a COMMIT that waits for the disk goes on until it is there.
const MEMBERS_END: Duration = Duration::from_secs(10);
/// Idle time, period and number of probes after which the database gives up a connection to a machine that has vanished: one minute.
const KEEPALIVE: &str = "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3; \
                         SET idle_session_timeout = 0";
/// The first key of the lock is "THRN" as a number, the second the schema's hash.
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1414025806, hashtext(coalesce(current_schema(), '')))";
/// Reasons for which a database was not claimed.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// Another server has it: which one, in words.
    Held(String),
    /// The lock of a file.
    File(FileLockError),
    Engine(EngineError),
}

impl From<EngineError> for ClaimError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

/// Held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) enum Claim {
    File(#[expect(dead_code, reason = "held, never looked at")] FileLock),
    Session {
        /// As the database shows it to a rival.
        holder: String,
        session: Box<Mutex<Connection>>,
    },
}

impl Claim {
    /// Claims the database of an engine; `path` is that of an SQLite file.
    pub(crate) fn acquire(engine: &Engine, path: Option<&Path>, holder: &str) -> Result<Self, ClaimError> {
        match (engine, path) {
            (Engine::Postgres(pool), _) => {
                let session = Box::new(Mutex::new(claim_session(pool, holder)?));
                Ok(Self::Session { holder: holder.to_owned(), session })
            }
            (Engine::Sqlite(_), path) => {
                let lock = lock_path(path.expect("an SQLite database has a file"));
                match FileLock::acquire(&lock, holder) {
                    Ok(lock) => Ok(Self::File(lock)),
                    Err(FileLockError::Held { holder, .. }) if holder.is_empty() => {
                        Err(ClaimError::Held("another server".to_owned()))
                    }
                    Err(FileLockError::Held { holder, .. }) => Err(ClaimError::Held(holder)),
                    Err(why) => Err(ClaimError::File(why)),
                }
            }
        }
    }

    /// Makes sure that the database is still claimed: takes it again after the session has ended.
    pub(crate) fn confirm(&self, engine: &Engine) -> Result<(), ClaimError> {
        let (Self::Session { holder, session }, Engine::Postgres(pool)) = (self, engine) else {
            return Ok(());
        };
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        if session.is_broken() || session.batch("SELECT 1").is_err() {
            *session = claim_session(pool, holder)?;
        }
        Ok(())
    }
}

/// The lock file of a database: beside the file that a link leads to.
fn lock_path(database: &Path) -> PathBuf {
    let mut path = database.canonicalize().unwrap_or_else(|_| database.to_owned()).into_os_string();
    path.push(".lock");
    path.into()
}

fn claim_session(pool: &Pool, holder: &str) -> Result<Connection, ClaimError> {
    let mut session = pool.connect_apart(holder)?;
    session.batch(KEEPALIVE)?;
    let mut attempts = Attempts::until(pool, Instant::now() + RELEASE);
    loop {
        if session.query(TRY_LOCK, &[])?[0].try_get::<_, bool>(0).map_err(EngineError::from)? {
            break;
        }
        if !attempts.pause() {
            let rival = members::rival(&mut session)?;
            return Err(ClaimError::Held(rival.map_or_else(|| "another server".to_owned(), |rival| rival.0)));
        }
    }
    pool.set_claim(members::own_id(&mut session)?);
    end_members(pool, &mut session)?;
    Ok(session)
}

/// Waits for the end of all members of former claims. Members of this claim may come meanwhile.
fn end_members(pool: &Pool, session: &mut Connection) -> Result<(), ClaimError> {
    let former: BTreeSet<i32> = members::members(session)?.into_iter().collect();
    let mut left = former.clone();
    for patience in [RELEASE, MEMBERS_END] {
        let mut attempts = Attempts::until(pool, Instant::now() + patience);
        while !left.is_empty() && attempts.pause() {
            left = members::members(session)?.into_iter().filter(|id| former.contains(id)).collect();
        }
        if patience == RELEASE {
            for id in &left {
                members::end(session, *id)?;
            }
        }
    }
    match left.first() {
        None => Ok(()),
        Some(id) => Err(ClaimError::Held(format!("a former server (PostgreSQL session {id} does not end)"))),
    }
}
