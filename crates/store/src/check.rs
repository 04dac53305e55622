//! Looks a whole database through, and changes nothing in it.

use crate::appearance;
use crate::damage::hexadecimal;
use crate::engine::{Engine, EngineError, Session, Sql};
use crate::held_objects::damaged;
use crate::instance::{DAMAGED_VISIT, ReadInstances, read_all};
use crate::instance_state::read_states;
use crate::object_damage::{ObjectDamage, ObjectPart};
use crate::region;
use crate::region_objects::{damage, read_rows};
use crate::schema;
use crate::seal_check::SealWalk;
use crate::tables::{TableDigest, digest};
use crate::worn_rows;
use crate::{Store, StoreError, StoreUrl};
use ids::{AgentId, LocalId, Uuid};

/// Problems reported of one kind at most.
const PROBLEMS_MAX: usize = 100;

/// Rows of objects that are looked through at once.
const ROWS_AT_ONCE: i64 = 1_000;

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// Version of the tables.
    pub version: u32,
    /// The version that this program makes; with an earlier one the rest was not looked at.
    pub newest: u32,
    /// True if a copy into it has not ended.
    pub is_half_copied: bool,
    /// Rows of each table.
    pub tables: Vec<TableDigest>,
    /// Sentences on damaged rows, at most a hundred of each kind.
    pub problems: Vec<String>,
}

/// Brings a database's tables up to date; returns the version before and after.
///
/// # Errors
/// [`StoreError`].
pub fn migrate(url: &StoreUrl) -> Result<(u32, u32), StoreError> {
    let store = Store::open_for_maintenance(url, false)?;
    let before = store.inspect()?;
    if before.is_half_copied {
        return Err(StoreError::HalfCopied { url: url.clone() });
    }
    store.migrate_to(schema::newest())?;
    Ok((before.version, schema::newest()))
}

/// Looks through a database that exists.
///
/// # Errors
/// [`StoreError::Open`], [`StoreError::NewerSchema`], [`StoreError::Query`].
pub fn check(url: &StoreUrl) -> Result<CheckReport, StoreError> {
    let store = Store::open_for_maintenance(url, true)?;
    let found = store.inspect()?;
    let mut report = CheckReport {
        version: found.version,
        newest: schema::newest(),
        is_half_copied: found.is_half_copied,
        tables: Vec::new(),
        problems: Vec::new(),
    };
    if found.version == report.newest {
        let is_file = matches!(store.engine(), Engine::Sqlite(_));
        let looked: Result<_, EngineError> = store.snapshot(|session| {
            let mut problems = if is_file { file_problems(session)? } else { Vec::new() };
            problems.extend(instance_problems(session)?);
            problems.extend(object_problems(session)?);
            problems.extend(held_problems(session)?);
            problems.extend(avatar_problems(session)?);
            problems.extend(seal_problems(session)?);
            // Cells that cannot be read are among the problems of the file.
            let tables =
                if problems.is_empty() { digest(session)? } else { digest(session).unwrap_or_default() };
            Ok((tables, problems))
        });
        (report.tables, report.problems) = looked.map_err(StoreError::query("checking", url))?;
    }
    Ok(report)
}

/// SQLite's own look at its pages, indexes and references.
pub(crate) fn file_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let integrity = Sql::same("PRAGMA integrity_check(100)");
    let mut problems = Vec::new();
    let looked = session.query(integrity, &[], |row| {
        problems.extend(Some(row.get::<String>(0)?).filter(|line| line != "ok"));
        Ok(())
    });
    match looked {
        // The look ends with a page that it cannot read.
        Err(why) if why.is_damage() => problems.push(why.to_string()),
        looked => drop(looked?),
    }
    let references = Sql::same("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 100");
    problems.extend(session.query(references, &[], |row| {
        Ok(format!("a row of {} refers to none of {}", row.get::<String>(0)?, row.get::<String>(1)?))
    })?);
    Ok(problems)
}

/// Damaged rows and states of instances.
pub(crate) fn instance_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let ReadInstances { instances, broken, damaged_visits, .. } = read_all(session)?;
    let mut problems: Vec<String> =
        broken.iter().map(|(key, why)| format!("instance {}, row: {why}", hexadecimal(key))).collect();
    problems.extend(damaged_visits.iter().map(|id| format!("instance {id}, visit: {DAMAGED_VISIT}")));
    for listed in instances {
        for (part, state) in read_states(session, listed.instance.id)? {
            if let Err(why) = state {
                problems.push(format!("instance {}, {part}: {why}", listed.instance.id));
            }
        }
    }
    problems.truncate(PROBLEMS_MAX);
    Ok(problems)
}

/// Damaged rows of regions, their objects and their land. Damaged pages are among the problems of the file.
fn object_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let mut problems = Vec::new();
    let regions = match region::read_all(session) {
        Err(why) if why.is_damage() => Vec::new(),
        regions => regions?,
    };
    for (region, row) in regions {
        if let Err(why) = row {
            let damage =
                ObjectDamage { region, object: LocalId(0), part: ObjectPart::Region, why: why.to_owned() };
            problems.push(damage.to_string());
        }
    }
    for part in [ObjectPart::Body, ObjectPart::State, ObjectPart::Land] {
        let mut last = Some(i64::MIN);
        while let Some(before) = last.filter(|_| problems.len() < PROBLEMS_MAX) {
            let read = read_rows(session, part, [before, i64::MAX, ROWS_AT_ONCE], |key, value| {
                problems.extend(value.err().map(|why| damage(part, key, why).to_string()));
            });
            last = match read {
                Err(why) if why.is_damage() => None,
                last => last?,
            };
        }
    }
    problems.truncate(PROBLEMS_MAX);
    Ok(problems)
}

/// Damaged rows of held objects.
fn held_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let mut problems = Vec::new();
    let mut last = Some(-1);
    while let Some(before) = last.filter(|_| problems.len() < PROBLEMS_MAX) {
        last = match damaged(session, before, ROWS_AT_ONCE, |damage| problems.push(damage.to_string())) {
            Err(why) if why.is_damage() => None,
            last => last?,
        };
    }
    problems.truncate(PROBLEMS_MAX);
    Ok(problems)
}

/// Damaged rows of worn objects and of appearances.
fn avatar_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let mut problems = Vec::new();
    let limit = ROWS_AT_ONCE as u32;
    let mut last = Some((AgentId(Uuid::nil()), Uuid::nil()));
    while let Some(before) = last.filter(|_| problems.len() < PROBLEMS_MAX) {
        let read = worn_rows::damaged(session, before, limit, |damage| problems.push(damage.to_string()));
        last = match read {
            Err(why) if why.is_damage() => None,
            last => last?,
        };
    }
    problems.truncate(PROBLEMS_MAX);
    let (n_worn, mut last) = (problems.len(), Some(AgentId(Uuid::nil())));
    while let Some(before) = last.filter(|_| problems.len() - n_worn < PROBLEMS_MAX) {
        let read = appearance::damaged(session, before, limit, |damage| problems.push(damage.to_string()));
        last = match read {
            Err(why) if why.is_damage() => None,
            last => last?,
        };
    }
    problems.truncate(n_worn + PROBLEMS_MAX);
    Ok(problems)
}

/// Damaged rows of the tables that have seals. Damaged pages are among the problems of the file.
fn seal_problems(session: &mut Session<'_>) -> Result<Vec<String>, EngineError> {
    let (mut walk, mut problems) = (SealWalk::default(), Vec::new());
    while let Some(page) = walk.next_page(session)?
        && problems.len() < PROBLEMS_MAX
    {
        problems.extend(page.damages.iter().map(ToString::to_string));
    }
    problems.truncate(PROBLEMS_MAX);
    Ok(problems)
}
