//! A look at the [seals](crate::seals) of all rows, a page after the other.
//!
//! Rows with cells that cannot be read are among the damaged ones, and do not end the look.

use crate::damage::hexadecimal;
use crate::engine::{EngineError, Row, Session, Value};
use crate::schema;
use crate::seals::{SEALS, Seal};
use crate::tables::{StoreTable, TABLES, TableCell};
use ids::{AgentId, Uuid};
use std::fmt;

/// Columns that name the owner of a row.
const OWNERS: [&str; 3] = ["owner", "agent", "receiver"];
/// Table of the steps that have made the others. Its texts are known, so that it needs no seals.
const STEPS: &str = "schema_version";

/// A damaged row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowDamage {
    /// Its table.
    pub table: &'static str,
    /// Its key without the owner.
    pub id: String,
    /// Its name, as far as it has one that can be read.
    pub name: String,
    /// Its owner.
    pub owner: Option<AgentId>,
    /// The evidence of the damage.
    pub why: String,
}

/// `row 3b3f… of inventory_items "Blue hat" of …: the checksum does not match`
impl fmt::Display for RowDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, id, name, owner, why } = self;
        write!(f, "row {id} of {table}")?;
        if !name.is_empty() {
            write!(f, " {name:?}")?;
        }
        if let Some(AgentId(owner)) = owner {
            write!(f, " of {owner}")?;
        }
        write!(f, ": {why}")
    }
}

/// A part of the look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SealedPage {
    /// Damaged rows.
    pub damages: Vec<RowDamage>,
    /// Rows that were looked at.
    pub rows: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A look under way.
#[derive(Debug)]
pub struct SealWalk {
    /// The tables that are left.
    tables: std::slice::Iter<'static, StoreTable>,
    at: Option<SealedTable>,
    are_steps_checked: bool,
}

impl Default for SealWalk {
    fn default() -> Self {
        Self { tables: TABLES.iter(), at: None, are_steps_checked: false }
    }
}

/// The table that a look is at.
#[derive(Debug)]
struct SealedTable {
    table: &'static StoreTable,
    seals: Vec<SealPlaces>,
    /// Key of the last row that was looked at.
    after: Option<Vec<TableCell>>,
}

/// Places of a seal and of the covered columns.
#[derive(Debug)]
struct SealPlaces {
    seal: &'static Seal,
    at: usize,
    covered: Vec<usize>,
}

impl SealPlaces {
    fn new(seal: &'static Seal, table: &StoreTable) -> Self {
        let place = |name: &str| {
            let found = table.columns().iter().position(|column| *column == name);
            found.unwrap_or_else(|| panic!("table {} has the column {name}", table.name()))
        };
        Self { seal, at: place(seal.column), covered: seal.columns().map(place).collect() }
    }

    /// The evidence of damage.
    fn damage(&self, cells: &[Option<TableCell>]) -> Option<String> {
        let covered: Option<Vec<Value<'_>>> =
            self.covered.iter().map(|at| cells[*at].as_ref().map(TableCell::value)).collect();
        let sum = covered.map(|covered| TableCell::Integer(self.seal.of(&covered)));
        (sum.is_none() || sum != cells[self.at]).then(|| match self.seal.column {
            "checksum" => "the checksum does not match".to_owned(),
            column => format!("{column} does not match"),
        })
    }
}

impl SealWalk {
    /// The next part; none behind the last one.
    pub(crate) fn next_page(&mut self, session: &mut Session<'_>) -> Result<Option<SealedPage>, EngineError> {
        if !self.are_steps_checked {
            self.are_steps_checked = true;
            return match step_page(session) {
                // Damaged pages are among the problems of the file.
                Err(why) if why.is_damage() => Ok(Some(SealedPage::default())),
                page => page.map(Some),
            };
        }
        let Some(mut at) = self.at.take().or_else(|| self.next_table()) else { return Ok(None) };
        let mut page = SealedPage::default();
        let n_columns = at.table.columns().len();
        let read = |row: Row<'_>| {
            let cell = |at| row.value(at).ok().map(TableCell::from);
            Ok((0..n_columns).map(cell).collect::<Vec<_>>())
        };
        let rows = match at.table.query_page(session, at.after.as_deref(), read) {
            Err(why) if why.is_damage() => return Ok(Some(page)),
            rows => rows?,
        };
        page.rows = rows.len();
        for cells in &rows {
            page.bytes += cells.iter().flatten().map(TableCell::n_bytes).sum::<usize>() as u64;
            let mut whys = at.seals.iter().filter_map(|places| places.damage(cells)).peekable();
            if whys.peek().is_some() {
                let why = whys.collect::<Vec<_>>().join(", ");
                page.damages.push(damage_of(at.table, cells, why));
            }
        }
        // Behind a key that cannot be read the table cannot be gone through.
        let last: Option<Vec<TableCell>> =
            rows.last().and_then(|cells| cells[..at.table.n_keys()].iter().cloned().collect());
        if let Some(last) = last
            && rows.len() == at.table.page()
        {
            at.after = Some(last);
            self.at = Some(at);
        }
        Ok(Some(page))
    }

    fn next_table(&mut self) -> Option<SealedTable> {
        self.tables.find_map(|table| {
            let seals = SEALS.iter().filter(|seal| seal.table == table.name());
            let seals: Vec<SealPlaces> = seals.map(|seal| SealPlaces::new(seal, table)).collect();
            (!seals.is_empty()).then_some(SealedTable { table, seals, after: None })
        })
    }
}

/// The rows of the steps.
fn step_page(session: &mut Session<'_>) -> Result<SealedPage, EngineError> {
    let damaged = schema::damaged_steps(session)?;
    let damage = |version: u32| RowDamage {
        table: STEPS,
        id: version.to_string(),
        name: String::new(),
        owner: None,
        why: "it does not have the name of this step".to_owned(),
    };
    let rows = schema::newest() as usize;
    Ok(SealedPage { damages: damaged.into_iter().map(damage).collect(), rows, bytes: 0 })
}

fn damage_of(table: &'static StoreTable, cells: &[Option<TableCell>], why: String) -> RowDamage {
    let columns = table.columns();
    let cell = |name: &str| {
        let at = columns.iter().position(|column| *column == name)?;
        cells[at].as_ref()
    };
    let text = |name: &str| match cell(name) {
        Some(TableCell::Text(text)) => text.as_str(),
        _ => "",
    };
    let name = match table.name() {
        "accounts" => format!("{} {}", text("first_name"), text("last_name")),
        "jobs" => format!("{} {}", text("kind"), text("subject")),
        _ => text("name").to_owned(),
    };
    let owner = OWNERS.iter().find_map(|name| match cell(name) {
        Some(TableCell::Blob(id)) => Uuid::from_slice(id).ok().map(AgentId),
        _ => None,
    });
    // An owner is named as one, unless it is the whole key.
    let key = (0..table.n_keys()).filter(|at| table.n_keys() == 1 || !OWNERS.contains(&columns[*at]));
    let id = key.map(|at| cells[at].as_ref().map_or_else(|| "?".to_owned(), describe));
    RowDamage {
        table: table.name(),
        id: id.collect::<Vec<_>>().join(" "),
        name: name.trim().to_owned(),
        owner,
        why,
    }
}

/// A cell of a key, for messages.
fn describe(cell: &TableCell) -> String {
    match cell {
        TableCell::Blob(bytes) => {
            Uuid::from_slice(bytes).map_or_else(|_| hexadecimal(bytes), |id| id.to_string())
        }
        TableCell::Text(text) => text.clone(),
        TableCell::Integer(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests;
