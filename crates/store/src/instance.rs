//! Rows of instances. Their states are in [`instance_state`](crate::instance_state).
//!
//! A damaged row is moved to `instances_set_aside` with everything that belongs to it, and reported; the others are read without it.

use crate::damage::{Damage, Part, hexadecimal, set_aside};
use crate::engine::{EngineError, Row, Session, Sql, Value, values};
use crate::instance_state::{SEQUENCE_MAX, highest_sequence, trouble_checksum};
use crate::tables::first_half;
use crate::token::world_checksum;
use crate::{Store, StoreError};
use ids::{AgentId, Uuid};

/// A world made from a template, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Stable id.
    pub id: Uuid,
    /// Name of the template, which the configuration may not have any more.
    pub template: String,
    /// Its own name.
    pub name: String,
    /// Account whose own it is.
    pub owner: Option<AgentId>,
    /// Time of its creation, in seconds since 1970.
    pub created_s: i64,
}

/// Creator of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstanceOrigin {
    /// The operator.
    Operator,
    /// A program with the token of this name.
    Token(String),
    /// A portal; the time of the first visit, seconds since 1970.
    Portal {
        /// See [`Listed::visited_s`].
        visited_s: i64,
    },
}

/// One of those that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The instance.
    pub instance: Instance,
    /// Reason for which its state is unavailable, if it is damaged.
    pub trouble: Option<String>,
    /// Name of the token with which it was created.
    pub maker: Option<String>,
    /// Last visit, seconds since 1970, of an instance that a portal created. A damaged time is none.
    pub visited_s: Option<i64>,
}

/// All instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceList {
    /// Readable rows, the oldest first.
    pub instances: Vec<Listed>,
    /// Damaged rows.
    pub damages: Vec<Damage>,
    /// Of the latest state that is kept and whole, or instance that was made; states from now on have higher ones.
    pub highest_sequence: u64,
}

const INSERT: Sql = Sql::same(
    "INSERT INTO instances (instance, template, name, owner, created_s, born, checksum, trouble_checksum) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
);
const REMOVE: Sql = Sql::same("DELETE FROM instances WHERE instance = $1");
const ALL: Sql = Sql::same(
    "SELECT i.instance, i.template, i.name, i.owner, i.created_s, i.checksum, i.trouble, i.born, t.token, p.visited_s, \
     p.checksum, t.checksum FROM instances i LEFT JOIN api_worlds t ON t.instance = i.instance \
     LEFT JOIN portal_instances p ON p.instance = i.instance ORDER BY i.created_s, i.instance",
);
const INSERT_MAKER: Sql = Sql::same(
    "INSERT INTO api_worlds (instance, token, checksum) VALUES ($1, $2, $3) \
     ON CONFLICT (instance) DO UPDATE SET token = excluded.token, checksum = excluded.checksum",
);
const REMOVE_MAKER: Sql = Sql::same("DELETE FROM api_worlds WHERE instance = $1");
const INSERT_VISIT: Sql =
    Sql::same("INSERT INTO portal_instances (instance, visited_s, checksum) VALUES ($1, $2, $3)");
const UPDATE_VISIT: Sql =
    Sql::same("UPDATE portal_instances SET visited_s = $1, checksum = $2 WHERE instance = $3");
const REMOVE_VISIT: Sql = Sql::same("DELETE FROM portal_instances WHERE instance = $1");

impl Store {
    /// Makes an instance known, with its creator, on the disk before it returns. Its states have higher numbers than `born`, which is a new one: so states
    /// of an earlier instance with this id that are still on their way do not become its own.
    ///
    /// # Errors
    /// [`StoreError::Query`], also when there is one with this id.
    pub fn create_instance(
        &self,
        instance: &Instance,
        born: u64,
        origin: &InstanceOrigin,
    ) -> Result<(), StoreError> {
        let Instance { id, template, name, owner, created_s } = instance;
        let (owner, born) = (owner.map(|owner| owner.0), born.cast_signed());
        let sum = checksum(
            id.as_bytes(),
            template,
            name,
            owner.as_ref().map(|owner| owner.as_bytes().as_slice()),
            [*created_s, born],
        );
        self.write(|session| {
            let trouble_sum = trouble_checksum(*id, None);
            session.execute(INSERT, values![id, template, name, owner, created_s, born, sum, trouble_sum])?;
            match origin {
                InstanceOrigin::Operator => session.execute(REMOVE_MAKER, values![id]),
                InstanceOrigin::Token(token) => {
                    session.execute(INSERT_MAKER, values![id, token, world_checksum(*id, token)])
                }
                InstanceOrigin::Portal { visited_s } => {
                    session.execute(REMOVE_MAKER, values![id])?;
                    session.execute(INSERT_VISIT, values![id, visited_s, visit_checksum(*id, *visited_s)])
                }
            }
        })
        .map(drop)
        .map_err(StoreError::query("making the instance", id))
    }

    /// Writes the last visits of instances that portals created, in one transaction: seconds since 1970. Left out are instances that have
    /// been removed, and those that no portal created.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then everything is as it was.
    pub fn note_visits(&self, visits: &[(Uuid, i64)]) -> Result<(), StoreError> {
        self.write(|session| {
            visits.iter().try_for_each(|(id, visited_s)| {
                let sum = visit_checksum(*id, *visited_s);
                session.execute(UPDATE_VISIT, values![visited_s, sum, id]).map(drop)
            })
        })
        .map_err(StoreError::query("noting visits of", format_args!("{} instances", visits.len())))
    }

    /// Forgets an instance with its state. False when there was none. Its set-aside parts stay.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then everything is as it was.
    pub fn remove_instance(&self, id: Uuid) -> Result<bool, StoreError> {
        self.write(|session| {
            session.execute(REMOVE_MAKER, values![id])?;
            session.execute(REMOVE, values![id])
        })
        .map(|n| n > 0)
        .map_err(StoreError::query("removing the instance", id))
    }

    /// All instances that there are, without their states. Damaged rows are set aside.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing was set aside.
    pub fn instances(&self) -> Result<InstanceList, StoreError> {
        let list = self.write(|session| {
            let ReadInstances { instances, broken, damaged_visits, last_born } = read_all(session)?;
            let mut damages = Vec::new();
            for (key, why) in broken {
                set_aside_all(session, &key, why)?;
                damages.push(Damage { instance: hexadecimal(&key), part: Part::Row, why: why.to_owned() });
            }
            for id in damaged_visits {
                session.execute(REMOVE_VISIT, values![id])?;
                let instance = hexadecimal(id.as_bytes());
                damages.push(Damage { instance, part: Part::Visit, why: DAMAGED_VISIT.to_owned() });
            }
            let highest_sequence = last_born.max(highest_sequence(session)?);
            Ok(InstanceList { instances, damages, highest_sequence })
        });
        list.map_err(StoreError::query("listing", "instances"))
    }
}

/// Evidence of a damaged visit.
pub(crate) const DAMAGED_VISIT: &str =
    "the checksum of its last visit does not match: the instance is kept until it is ended";

/// All instances, as far as they can be read.
#[derive(Debug, Default)]
pub(crate) struct ReadInstances {
    pub(crate) instances: Vec<Listed>,
    /// Keys of damaged rows, each with the evidence.
    pub(crate) broken: Vec<(Vec<u8>, &'static str)>,
    /// Instances whose last visit is damaged.
    pub(crate) damaged_visits: Vec<Uuid>,
    /// The highest number of a birth.
    last_born: u64,
}

pub(crate) fn read_all(session: &mut Session<'_>) -> Result<ReadInstances, EngineError> {
    let mut all = ReadInstances::default();
    session.query(ALL, &[], |row| {
        match read(row) {
            Ok((listed, born)) => {
                if listed.visited_s.is_none() && !matches!(row.value(9), Ok(Value::Null)) {
                    all.damaged_visits.push(listed.instance.id);
                }
                all.instances.push(listed);
                all.last_born = all.last_born.max(born);
            }
            // A key that is damaged, too, finds no row that belongs to it.
            Err(why) => all.broken.push((blob(&row, 0).unwrap_or_default().to_vec(), why)),
        }
        Ok(())
    })?;
    Ok(all)
}

fn read(row: Row<'_>) -> Result<(Listed, u64), &'static str> {
    let key = blob(&row, 0).ok_or("the id is none")?;
    let template: String = row.get(1).map_err(|_| "the name of the template is no text")?;
    let name: String = row.get(2).map_err(|_| "the name is no text")?;
    let owner = blob(&row, 3);
    let created_s: i64 = row.get(4).map_err(|_| "the time is none")?;
    let born: i64 = row.get(7).map_err(|_| "the number of its birth is none")?;
    if row.get(5).ok() != Some(checksum(key, &template, &name, owner, [created_s, born])) {
        return Err("the checksum does not match");
    }
    let born = u64::try_from(born).ok().filter(|born| *born <= SEQUENCE_MAX);
    let born = born.ok_or("the number of its birth is none")?;
    let id = Uuid::from_slice(key).map_err(|_| "the id is none")?;
    let owner = owner.map(Uuid::from_slice).transpose().map_err(|_| "the owner is none")?.map(AgentId);
    // Nothing depends on this text; its checksum is looked at by checks only.
    let trouble = row.get(6).unwrap_or_else(|_| Some("It is in trouble.".to_owned()));
    let maker = row.get::<Option<String>>(8).ok().flatten();
    let maker = maker.filter(|token| row.get(11).ok() == Some(world_checksum(id, token)));
    let visit = row.get::<Option<i64>>(9).ok().flatten().zip(row.get::<Option<i64>>(10).ok().flatten());
    let visited_s = visit.filter(|&(s, sum)| sum == visit_checksum(id, s)).map(|(visited_s, _)| visited_s);
    let instance = Instance { id, template, name, owner, created_s };
    Ok((Listed { instance, trouble, maker, visited_s }, born))
}

fn blob<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    match row.value(column) {
        Ok(Value::Blob(bytes)) => Some(bytes),
        _ => None,
    }
}

/// Moves a row and the states that belong to it, as they are.
fn set_aside_all(session: &mut Session<'_>, key: &[u8], why: &str) -> Result<(), EngineError> {
    for part in [Part::Image, Part::Journal] {
        set_aside(session, key, part, "its row is damaged")?;
    }
    set_aside(session, key, Part::Row, why)
}

fn checksum(
    key: &[u8],
    template: &str,
    name: &str,
    owner: Option<&[u8]>,
    [created_s, born]: [i64; 2],
) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for part in [b"instance".as_slice(), key, template.as_bytes(), name.as_bytes(), owner.unwrap_or_default()]
    {
        // With its length, so that nothing can move from one part to the next.
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.update(&created_s.to_le_bytes());
    // Rows from before there was such a number were written without.
    if born != 0 {
        hasher.update(&born.to_le_bytes());
    }
    first_half(&hasher.finalize())
}

fn visit_checksum(id: Uuid, visited_s: i64) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"visit").update(id.as_bytes()).update(&visited_s.to_le_bytes());
    first_half(&hasher.finalize())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{TestDatabase, on_both_engines, tamper};

    on_both_engines! {
        instances_are_listed_from_the_oldest_until_they_are_removed,
        a_damaged_row_is_set_aside_with_its_state_and_the_others_are_there,
        a_key_that_is_no_id_is_set_aside,
        creators_and_last_visits_are_listed_until_the_instance_is_removed,
        a_damaged_visit_is_told_once_and_the_instance_kept,
    }

    pub(crate) fn instance(n: u128) -> Instance {
        Instance {
            id: Uuid::from_u128(n),
            template: "Cave".into(),
            name: format!("Cave {n}"),
            owner: (n % 2 == 1).then(|| AgentId(Uuid::from_u128(1_000 + n))),
            created_s: 1_700_000_000 - n as i64,
        }
    }

    /// With instances 1 to `n`.
    pub(crate) fn store_with(database: &TestDatabase, n: u128) -> Store {
        let store = database.open();
        (1..=n).for_each(|n| store.create_instance(&instance(n), 0, &InstanceOrigin::Operator).unwrap());
        store
    }

    fn listed(store: &Store) -> Vec<u128> {
        store.instances().unwrap().instances.iter().map(|listed| listed.instance.id.as_u128()).collect()
    }

    fn instances_are_listed_from_the_oldest_until_they_are_removed(database: &TestDatabase) {
        let store = store_with(database, 3);
        let list = store.instances().unwrap();
        assert_eq!(
            list.instances[2],
            Listed { instance: instance(1), trouble: None, maker: None, visited_s: None }
        );
        assert!(list.damages.is_empty());
        assert_eq!(listed(&store), [3, 2, 1]);
        assert!(store.remove_instance(Uuid::from_u128(2)).unwrap());
        assert!(!store.remove_instance(Uuid::from_u128(2)).unwrap());
        assert_eq!(listed(&store), [3, 1]);
        store.create_instance(&instance(3), 1, &InstanceOrigin::Operator).unwrap_err();
        assert_eq!(listed(&store), [3, 1], "one id is one instance");
    }

    fn a_damaged_row_is_set_aside_with_its_state_and_the_others_are_there(database: &TestDatabase) {
        const SPOILS: &[Sql] = &[
            Sql::same("UPDATE instances SET template = 'Castle' WHERE instance = $1"),
            Sql::same("UPDATE instances SET owner = NULL WHERE instance = $1"),
            Sql {
                sqlite: "UPDATE instances SET owner = x'00' WHERE instance = $1",
                postgres: "UPDATE instances SET owner = '\\x00' WHERE instance = $1",
            },
            // PostgreSQL lets no text in that is not UTF-8.
            Sql {
                sqlite: "UPDATE instances SET name = CAST(x'FFFE' AS TEXT) WHERE instance = $1",
                postgres: "UPDATE instances SET name = name || '\u{FFFD}' WHERE instance = $1",
            },
            Sql::same("UPDATE instances SET created_s = 0 WHERE instance = $1"),
            Sql::same("UPDATE instances SET born = born + 1 WHERE instance = $1"),
            Sql::same("UPDATE instances SET checksum = 0 WHERE instance = $1"),
        ];
        let store = store_with(database, 3);
        for (sequence, &spoil) in (7..).zip(SPOILS) {
            let state = crate::State { id: Uuid::from_u128(1), sequence, bytes: b"whole".to_vec() };
            store.save_instances(&[state]).unwrap();
            assert_eq!(tamper(&store, spoil, values![Uuid::from_u128(1)]), 1, "{spoil:?}");
            let list = store.instances().unwrap();
            assert_eq!(list.instances.len(), 2, "{spoil:?}");
            let [damage] = &*list.damages else { panic!("{spoil:?}: {:?}", list.damages) };
            assert_eq!(
                (damage.instance.as_str(), damage.part),
                ("00000000000000000000000000000001", Part::Row)
            );
            let again = store.instances().unwrap();
            assert!(again.damages.is_empty() && again.instances.len() == 2);
            let kept: Vec<(String, Vec<u8>)> = aside(&store);
            let [image, row] = kept.last_chunk().expect("two parts are aside");
            assert_eq!(*image, ("image".into(), b"whole".to_vec()), "{spoil:?}");
            assert_eq!(row.0, "row");
            store.create_instance(&instance(1), 0, &InstanceOrigin::Operator).unwrap();
        }
        let (_, row) = aside(&store).remove(1);
        let row = String::from_utf8(row).unwrap();
        assert_eq!(row, "Castle\nCave 1\n000000000000000000000000000003E9\n1699999999", "in both engines");
    }

    pub(crate) fn aside(store: &Store) -> Vec<(String, Vec<u8>)> {
        let select = Sql::same("SELECT part, content FROM instances_set_aside ORDER BY number");
        store.read(|session| session.query(select, &[], |row| Ok((row.get(0)?, row.get(1)?)))).unwrap()
    }

    fn a_key_that_is_no_id_is_set_aside(database: &TestDatabase) {
        let store = store_with(database, 1);
        let insert = Sql::same(
            "INSERT INTO instances (instance, template, name, created_s, checksum) VALUES ($1, 'Cave', 'Cave', 0, 0)",
        );
        tamper(&store, insert, values![[1, 2]]);
        let list = store.instances().unwrap();
        assert_eq!((list.instances.len(), list.damages[0].instance.as_str()), (1, "0102"));
    }

    /// Creators and last visits of all instances.
    fn origins(store: &Store) -> Vec<(u128, Option<String>, Option<i64>)> {
        let list = store.instances().unwrap().instances;
        list.into_iter().map(|one| (one.instance.id.as_u128(), one.maker, one.visited_s)).collect()
    }

    fn creators_and_last_visits_are_listed_until_the_instance_is_removed(database: &TestDatabase) {
        let store = store_with(database, 1);
        let token = |name: &str| InstanceOrigin::Token(name.into());
        let portal = InstanceOrigin::Portal { visited_s: 50 };
        store.create_instance(&instance(2), 0, &token("backend")).unwrap();
        store.create_instance(&instance(3), 0, &portal).unwrap();
        store.note_visits(&[1, 2, 3, 4].map(|n| (Uuid::from_u128(n), 70 + n as i64))).unwrap();
        let backend = Some("backend".to_owned());
        assert_eq!(origins(&store), [(3, None, Some(73)), (2, backend, None), (1, None, None)]);
        for n in [2, 3] {
            assert!(store.remove_instance(Uuid::from_u128(n)).unwrap());
        }
        // Nothing of the former creators is left for these.
        store.create_instance(&instance(2), 1, &portal).unwrap();
        store.create_instance(&instance(3), 1, &token("other")).unwrap();
        let other = Some("other".to_owned());
        assert_eq!(origins(&store), [(3, other, None), (2, None, Some(50)), (1, None, None)]);
    }

    fn a_damaged_visit_is_told_once_and_the_instance_kept(database: &TestDatabase) {
        let store = database.open();
        store.create_instance(&instance(1), 0, &InstanceOrigin::Portal { visited_s: 50 }).unwrap();
        tamper(&store, Sql::same("UPDATE portal_instances SET visited_s = 0"), values![]);
        assert_eq!(crate::check(&database.url).unwrap().problems.len(), 1);
        let list = store.instances().unwrap();
        assert_eq!((list.damages.len(), list.damages[0].part), (1, Part::Visit));
        assert_eq!(origins(&store), [(1, None, None)]);
        assert!(store.instances().unwrap().damages.is_empty());
    }
}
