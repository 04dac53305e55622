//! Sessions of a server that has claimed a PostgreSQL database: the one with the claim, and its members.
//!
//! The lock of the claim does not end the other sessions of a server that was killed: PostgreSQL carries out a COMMIT that it has received, and the next
//! server would read rows that change behind its back. So each session of a server is a *member*: it holds a shared lock beside the claim. A server that has taken
//! the claim waits until all members that it finds are gone, and ends those that stay. A session becomes a member only while no other server has the claim.

use super::connection::Connection;
use super::{EngineError, Value};

const HOLDER: &str = "SELECT coalesce(a.application_name, ''), l.pid FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
     WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = 1414025806::oid \
     AND l.objid = hashtext(coalesce(current_schema(), ''))::oid \
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
/// Marks a session as a member. The first key is "THRS" as a number. Only lists of locks tell of it: no session ever takes this lock for itself.
const JOIN: &str = "SELECT pg_advisory_lock_shared(1414025811, hashtext(coalesce(current_schema(), '')))";
const MEMBERS: &str = "SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = 1414025811::oid \
     AND l.objid = hashtext(coalesce(current_schema(), ''))::oid \
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
const OWN_ID: &str = "SELECT pg_backend_pid()";
const END: &str = "SELECT pg_terminate_backend($1::bigint::int)";

/// Makes a new session a member of the claim of the session with id `claim`.
///
/// # Errors
/// Another server has the claim.
pub(super) fn join(member: &mut Connection, claim: i32) -> Result<(), EngineError> {
    member.query(JOIN, &[])?;
    // Behind the lock: a claimant either sees the member or is seen by it.
    match rival(member)? {
        Some((rival, id)) if id != claim => {
            Err(EngineError::unfit(format!("the database was claimed by {rival}")))
        }
        _ => Ok(()),
    }
}

/// The server that has the claim, if one has it, in words; and the id of its session.
pub(super) fn rival(session: &mut Connection) -> Result<Option<(String, i32)>, EngineError> {
    let rivals = session.query(HOLDER, &[])?;
    let Some(rival) = rivals.first() else { return Ok(None) };
    let (name, id): (String, i32) = (rival.try_get(0)?, rival.try_get(1)?);
    let name = if name.is_empty() { "another server" } else { &name };
    Ok(Some((format!("{name} (PostgreSQL session {id})"), id)))
}

/// Ids of all members, of former claims too.
pub(super) fn members(session: &mut Connection) -> Result<Vec<i32>, EngineError> {
    ids(session, MEMBERS)
}

/// Id of a session, as the lists of locks have it.
pub(super) fn own_id(session: &mut Connection) -> Result<i32, EngineError> {
    ids(session, OWN_ID)?.pop().ok_or_else(|| EngineError::unfit("the session has no id"))
}

/// Tells another session to end. A COMMIT that it carries out comes first.
pub(super) fn end(session: &mut Connection, id: i32) -> Result<(), EngineError> {
    session.query(END, &[Value::Integer(id.into())]).map(drop)
}

fn ids(session: &mut Connection, sql: &'static str) -> Result<Vec<i32>, EngineError> {
    session.query(sql, &[])?.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
