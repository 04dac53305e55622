//! Damaged parts of stored instances: checksums that detect them, and the table into which they are moved.

use crate::engine::{EngineError, Session, Sql, values};
use crate::seals::{self, seal_numbered};
use std::fmt;

/// Damaged items kept for the operator; the oldest are dropped first.
pub const SET_ASIDE_MAX: u32 = 1_000;

/// Part of a stored instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Description: its name, its template.
    Row,
    /// Its whole state.
    Image,
    /// Changes since the image.
    Journal,
    /// The time of its last visit.
    Visit,
}

impl Part {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Image => "image",
            Self::Journal => "journal",
            Self::Visit => "visit",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A damaged row that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Id of the instance, in hexadecimal digits: the id itself may be damaged.
    pub instance: String,
    /// The damaged part.
    pub part: Part,
    /// The evidence of the damage.
    pub why: String,
}

const SET_ROW_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, $1, $2, CAST(template || char(10) || name || char(10) || coalesce(hex(owner), '') \
             || char(10) || created_s AS BLOB) FROM instances WHERE instance = $3 RETURNING number",
    postgres: "INSERT INTO instances_set_aside (instance, part, why, content) \
               SELECT instance, $1, $2, convert_to(template || chr(10) || name || chr(10) \
               || coalesce(upper(encode(owner, 'hex')), '') || chr(10) || created_s, 'UTF8') \
               FROM instances WHERE instance = $3 RETURNING number",
};
// Damage may have changed the type of a cell, and SQLite's tables are strict.
const SET_IMAGE_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, $1, $2, coalesce(CAST(state AS BLOB), X'') FROM instance_images WHERE instance = $3 RETURNING number",
    postgres: "INSERT INTO instances_set_aside (instance, part, why, content) \
               SELECT instance, $1, $2, state FROM instance_images WHERE instance = $3 RETURNING number",
};
const SET_JOURNAL_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, $1, $2, coalesce(CAST(state AS BLOB), X'') FROM instance_journal WHERE instance = $3 RETURNING number",
    postgres: "INSERT INTO instances_set_aside (instance, part, why, content) \
               SELECT instance, $1, $2, state FROM instance_journal WHERE instance = $3 RETURNING number",
};
const REMOVE_ROW: Sql = Sql::same("DELETE FROM instances WHERE instance = $1");
const REMOVE_IMAGE: Sql = Sql::same("DELETE FROM instance_images WHERE instance = $1");
const REMOVE_JOURNAL: Sql = Sql::same("DELETE FROM instance_journal WHERE instance = $1");
const FORGET_OLDEST: Sql = Sql::same(
    "DELETE FROM instances_set_aside WHERE number <= (SELECT max(number) FROM instances_set_aside) - $1",
);

/// Moves a part unchanged into the table of damaged ones.
pub(crate) fn set_aside(
    session: &mut Session<'_>,
    key: &[u8],
    part: Part,
    why: &str,
) -> Result<(), EngineError> {
    let (copy, remove) = match part {
        Part::Row => (SET_ROW_ASIDE, REMOVE_ROW),
        Part::Image => (SET_IMAGE_ASIDE, REMOVE_IMAGE),
        Part::Journal => (SET_JOURNAL_ASIDE, REMOVE_JOURNAL),
        Part::Visit => unreachable!("a damaged visit is dropped"),
    };
    let numbers: Vec<i64> = session.query(copy, values![part.as_str(), why, key], |row| row.get(0))?;
    seal_numbered(session, &seals::INSTANCE_ASIDE, &numbers)?;
    session.execute(remove, values![key])?;
    session.execute(FORGET_OLDEST, values![SET_ASIDE_MAX]).map(drop)
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
