//! Damaged rows of regions and their objects, and the table into which they are moved.

use crate::engine::{EngineError, Session, Sql, values};
use crate::region_land::LandKey;
use crate::seals::{self, seal_numbered};
use ids::{LocalId, WorldId};
use std::fmt;

/// Damaged rows kept for the operator: those of a whole region. The oldest are dropped first.
pub const OBJECTS_SET_ASIDE_MAX: u32 = 100_000;

/// A kind of rows of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPart {
    /// The region's own row.
    Region,
    /// The fields of an object that change seldom.
    Body,
    /// The fields of an object that change often.
    State,
    /// A linkset that is held, with its ticket in the place of the object.
    HeldObject,
    /// A row of the region's land.
    Land,
}

impl ObjectPart {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Body => "body",
            Self::State => "state",
            Self::HeldObject => "held",
            Self::Land => "land",
        }
    }
}

/// A damaged row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDamage {
    /// Its region.
    pub region: WorldId,
    /// Its object; `LocalId(0)` for the region's own row. Of a row of the land, [`LandKey::code`]. Of a linkset that is held, the ticket.
    pub object: LocalId,
    /// The kind of the row.
    pub part: ObjectPart,
    /// The evidence of the damage.
    pub why: String,
}

/// A row to be set aside, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowAside {
    /// The row, and the reason.
    pub damage: ObjectDamage,
    /// Its value, of a row that is whole and means nothing; `None` of a row with a checksum that does not match. A row that is there with another
    /// value by now, and whole, is a newer one and stays.
    pub value: Option<Vec<u8>>,
}

impl fmt::Display for ObjectDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { region: WorldId(region), object: LocalId(object), part, why } = self;
        match (part, object) {
            (ObjectPart::Region, _) => write!(f, "region {region}, row: {why}"),
            (ObjectPart::HeldObject, ticket) => write!(f, "held object {region}-{ticket}: {why}"),
            (ObjectPart::Land, code) => match LandKey::of_code(*code) {
                Some(key) => write!(f, "{key} of region {region}: {why}"),
                None => write!(f, "region {region}, land: {why}"),
            },
            _ => write!(f, "object {object} of region {region}, {}: {why}", part.as_str()),
        }
    }
}

// Damage may have changed the type of a cell, and SQLite's tables are strict.
const SET_REGION_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT region * 4294967296, $1, $2, coalesce(CAST(state AS BLOB), X'') FROM regions WHERE region = $3 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT region * 4294967296, $1, $2, state FROM regions WHERE region = $3 RETURNING number",
};
const SET_BODY_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT object, $1, $2, coalesce(CAST(value AS BLOB), X'') FROM object_bodies WHERE object = $3 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT object, $1, $2, value FROM object_bodies WHERE object = $3 RETURNING number",
};
const SET_STATE_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT object, $1, $2, coalesce(CAST(value AS BLOB), X'') FROM object_states WHERE object = $3 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT object, $1, $2, value FROM object_states WHERE object = $3 RETURNING number",
};
const SET_HELD_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT held, $1, $2, coalesce(CAST(value AS BLOB), X'') FROM held_objects WHERE held = $3 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT held, $1, $2, value FROM held_objects WHERE held = $3 RETURNING number",
};
const SET_LAND_ASIDE: Sql = Sql {
    sqlite: "INSERT INTO objects_set_aside (object, part, why, content) \
             SELECT land, $1, $2, coalesce(CAST(value AS BLOB), X'') FROM region_land WHERE land = $3 RETURNING number",
    postgres: "INSERT INTO objects_set_aside (object, part, why, content) \
               SELECT land, $1, $2, value FROM region_land WHERE land = $3 RETURNING number",
};
const REMOVE_REGION: Sql = Sql::same("DELETE FROM regions WHERE region = $1");
const REMOVE_BODY: Sql = Sql::same("DELETE FROM object_bodies WHERE object = $1");
const REMOVE_STATE: Sql = Sql::same("DELETE FROM object_states WHERE object = $1");
const REMOVE_HELD: Sql = Sql::same("DELETE FROM held_objects WHERE held = $1");
const REMOVE_LAND: Sql = Sql::same("DELETE FROM region_land WHERE land = $1");
const FORGET_OLDEST: Sql = Sql::same(
    "DELETE FROM objects_set_aside WHERE number <= (SELECT max(number) FROM objects_set_aside) - $1",
);

/// Key of an object's rows.
pub(crate) fn key_of(WorldId(region): WorldId, LocalId(object): LocalId) -> i64 {
    assert!(region < 1 << 31, "regions are shared worlds, whose numbers are below those of instances");
    i64::from(region) << 32 | i64::from(object)
}

/// Object and region of a key.
pub(crate) const fn object_of(key: i64) -> (WorldId, LocalId) {
    (WorldId((key >> 32) as u32), LocalId(key as u32))
}

/// Moves rows unchanged into the table of damaged ones.
pub(crate) fn set_aside(session: &mut Session<'_>, damages: &[ObjectDamage]) -> Result<(), EngineError> {
    for ObjectDamage { region, object, part, why } in damages {
        let (copy, remove, key) = match part {
            ObjectPart::Region => (SET_REGION_ASIDE, REMOVE_REGION, i64::from(region.0)),
            ObjectPart::Body => (SET_BODY_ASIDE, REMOVE_BODY, key_of(*region, *object)),
            ObjectPart::State => (SET_STATE_ASIDE, REMOVE_STATE, key_of(*region, *object)),
            ObjectPart::HeldObject => (SET_HELD_ASIDE, REMOVE_HELD, key_of(*region, *object)),
            ObjectPart::Land => (SET_LAND_ASIDE, REMOVE_LAND, key_of(*region, *object)),
        };
        let numbers: Vec<i64> = session.query(copy, values![part.as_str(), why, key], |row| row.get(0))?;
        seal_numbered(session, &seals::OBJECT_ASIDE, &numbers)?;
        session.execute(remove, values![key])?;
    }
    session.execute(FORGET_OLDEST, values![OBJECTS_SET_ASIDE_MAX]).map(drop)
}
