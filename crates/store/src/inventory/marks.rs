//! Rows of marks. [`marking`](super::marking) says what a mark is.

use crate::engine::{EngineError, Session, Sql, values};
use ids::{AgentId, HeldKey, Ticket};
use std::collections::BTreeSet;
use uuid::Uuid;

const OF_OWNER: Sql = Sql::same("SELECT item FROM item_marks WHERE owner = $1");
const OF_KEY: Sql = Sql::same("SELECT owner, item FROM item_marks WHERE held = $1");
const RELEASE_KEY: Sql = Sql::same("DELETE FROM item_marks WHERE held = $1");
const RELEASE: Sql = Sql::same("DELETE FROM item_marks WHERE owner = $1 AND item = $2");

/// The marked items of an owner.
pub(crate) fn marked_items(session: &mut Session<'_>, owner: AgentId) -> Result<BTreeSet<Uuid>, EngineError> {
    let items = session.query(OF_OWNER, values![owner.0], |row| row.get(0))?;
    Ok(items.into_iter().collect())
}

/// Owner and id of the item with a mark.
pub(crate) fn marked_item(
    session: &mut Session<'_>,
    key: HeldKey,
) -> Result<Option<(AgentId, Uuid)>, EngineError> {
    let Ticket(number) = key.ticket;
    session.query_row(OF_KEY, values![number], |row| Ok((AgentId(row.get(0)?), row.get(1)?)))
}

/// Takes a mark away.
pub(crate) fn release(session: &mut Session<'_>, key: HeldKey) -> Result<(), EngineError> {
    let Ticket(number) = key.ticket;
    session.execute(RELEASE_KEY, values![number]).map(drop)
}

/// Takes the mark of an item away; false if it has none.
pub(crate) fn release_item(
    session: &mut Session<'_>,
    owner: AgentId,
    item: Uuid,
) -> Result<bool, EngineError> {
    session.execute(RELEASE, values![owner.0, item]).map(|n| n > 0)
}
