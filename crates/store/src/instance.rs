//! Instances: which there are. What is in them is in [`instance_state`](crate::instance_state).
//!
//! A row that is not what was written is moved to `instances_set_aside` with everything that belongs to it, and told of; the others
//! are read as if it were not there.

use crate::instance_state::{Part, SEQUENCE_MAX, highest_sequence, set_aside};
use crate::{Store, StoreError};
use ids::{AgentId, Uuid};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

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
    /// When it was made, in seconds since 1970.
    pub created_s: i64,
}

/// One of those that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it is.
    pub instance: Instance,
    /// Why its state is not to be had, if something is wrong with it.
    pub trouble: Option<String>,
}

/// Something that was not what had been written, and lies aside now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Of which instance, in hexadecimal digits: the id itself may be what is damaged.
    pub instance: String,
    /// What of it.
    pub part: Part,
    /// How that was noticed.
    pub why: String,
}

/// All instances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceList {
    /// Those that can be read, the oldest first.
    pub instances: Vec<Listed>,
    /// Those that cannot.
    pub damages: Vec<Damage>,
    /// Of the latest state that is kept and whole, or instance that was made; states from now on have higher ones.
    pub highest_sequence: u64,
}

impl Store {
    /// Makes an instance known, on the disk before it returns. Its states have higher numbers than `born`, which is a new one: so those of
    /// an earlier instance with this id that somebody still has in hand do not become its own.
    ///
    /// # Errors
    /// [`StoreError::Query`], also when there is one with this id.
    pub fn create_instance(&self, instance: &Instance, born: u64) -> Result<(), StoreError> {
        let Instance { id, template, name, owner, created_s } = instance;
        let born = born.cast_signed();
        let sum = checksum(
            id.as_bytes(),
            template,
            name,
            owner.as_ref().map(|owner| owner.0.as_bytes().as_slice()),
            [*created_s, born],
        );
        self.lock()
            .prepare_cached(
                "INSERT INTO instances (instance, template, name, owner, created_s, born, checksum) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .and_then(|mut insert| {
                insert.execute(params![id, template, name, owner.map(|owner| owner.0), created_s, born, sum])
            })
            .map_err(StoreError::query("making the instance", id))?;
        Ok(())
    }

    /// Forgets an instance with its state. False when there was none. What was set aside of it stays.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then everything is as it was.
    pub fn remove_instance(&self, id: Uuid) -> Result<bool, StoreError> {
        self.lock()
            .prepare_cached("DELETE FROM instances WHERE instance = ?")
            .and_then(|mut delete| delete.execute([id]))
            .map(|n| n > 0)
            .map_err(StoreError::query("removing the instance", id))
    }

    /// All instances that there are, without their states. Damaged rows are set aside.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing was set aside.
    pub fn instances(&self) -> Result<InstanceList, StoreError> {
        let failed = || StoreError::query("listing", "instances");
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(failed())?;
        let (instances, broken, last_born) = read_all(&transaction).map_err(failed())?;
        let mut damages = Vec::new();
        for (key, why) in broken {
            set_aside_all(&transaction, &key, why).map_err(failed())?;
            damages.push(Damage { instance: hexadecimal(&key), part: Part::Row, why: why.to_owned() });
        }
        let highest_sequence = last_born.max(highest_sequence(&transaction).map_err(failed())?);
        transaction.commit().map_err(failed())?;
        Ok(InstanceList { instances, damages, highest_sequence })
    }
}

/// Keys of rows that are damaged, each with what is wrong.
type Broken = Vec<(Vec<u8>, &'static str)>;

/// Also when the last one was made.
fn read_all(connection: &Connection) -> rusqlite::Result<(Vec<Listed>, Broken, u64)> {
    let mut select = connection.prepare_cached(
        "SELECT instance, template, name, owner, created_s, checksum, trouble, born FROM instances \
         ORDER BY created_s, instance",
    )?;
    let mut rows = select.query([])?;
    let (mut instances, mut broken, mut last_born) = (Vec::new(), Broken::new(), 0);
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok((listed, born)) => {
                instances.push(listed);
                last_born = last_born.max(born);
            }
            Err(why) => broken.push((blob(row, 0).unwrap_or_default().to_vec(), why)),
        }
    }
    Ok((instances, broken, last_born))
}

fn read(row: &Row<'_>) -> Result<(Listed, u64), &'static str> {
    let key = blob(row, 0).ok_or("the id is none")?;
    let template: String = row.get(1).map_err(|_| "the name of the template is no text")?;
    let name: String = row.get(2).map_err(|_| "the name is no text")?;
    let owner = blob(row, 3);
    let created_s: i64 = row.get(4).map_err(|_| "the time is none")?;
    let born: i64 = row.get(7).map_err(|_| "the number of its birth is none")?;
    if row.get(5) != Ok(checksum(key, &template, &name, owner, [created_s, born])) {
        return Err("the checksum does not match");
    }
    let born = u64::try_from(born).ok().filter(|born| *born <= SEQUENCE_MAX);
    let born = born.ok_or("the number of its birth is none")?;
    let id = Uuid::from_slice(key).map_err(|_| "the id is none")?;
    let owner = owner.map(Uuid::from_slice).transpose().map_err(|_| "the owner is none")?.map(AgentId);
    // Nothing depends on this text.
    let trouble = row.get(6).unwrap_or_else(|_| Some("It is in trouble.".to_owned()));
    Ok((Listed { instance: Instance { id, template, name, owner, created_s }, trouble }, born))
}

fn blob<'a>(row: &'a Row<'_>, column: usize) -> Option<&'a [u8]> {
    match row.get_ref(column) {
        Ok(ValueRef::Blob(bytes)) => Some(bytes),
        _ => None,
    }
}

/// Moves a row and the states that belong to it, as they are.
fn set_aside_all(connection: &Connection, key: &[u8], why: &str) -> rusqlite::Result<()> {
    for part in [Part::Image, Part::Journal] {
        set_aside(connection, key, part, "its row is damaged")?;
    }
    set_aside(connection, key, Part::Row, why)
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

/// As much of a hash as an integer holds: it guards against accidents, not against whoever can write to the file.
pub(crate) fn first_half(hash: &blake3::Hash) -> i64 {
    let first = hash.as_bytes().first_chunk().expect("a hash has 32 bytes");
    i64::from_le_bytes(*first)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn instance(n: u128) -> Instance {
        Instance {
            id: Uuid::from_u128(n),
            template: "Cave".into(),
            name: format!("Cave {n}"),
            owner: (n % 2 == 1).then(|| AgentId(Uuid::from_u128(1_000 + n))),
            created_s: 1_700_000_000 - n as i64,
        }
    }

    pub(crate) fn store_with(n: u128) -> Store {
        let store = Store::open_in_memory().unwrap();
        (1..=n).for_each(|n| store.create_instance(&instance(n), 0).unwrap());
        store
    }

    fn listed(store: &Store) -> Vec<u128> {
        store.instances().unwrap().instances.iter().map(|listed| listed.instance.id.as_u128()).collect()
    }

    #[test]
    fn instances_are_found_again_the_oldest_first_until_they_are_removed() {
        let store = store_with(3);
        let list = store.instances().unwrap();
        assert_eq!(list.instances[2], Listed { instance: instance(1), trouble: None });
        assert!(list.damages.is_empty());
        assert_eq!(listed(&store), [3, 2, 1]);
        assert!(store.remove_instance(Uuid::from_u128(2)).unwrap());
        assert!(!store.remove_instance(Uuid::from_u128(2)).unwrap());
        assert_eq!(listed(&store), [3, 1]);
        store.create_instance(&instance(3), 1).unwrap_err();
        assert_eq!(listed(&store), [3, 1], "one id is one instance");
    }

    #[test]
    fn a_damaged_row_is_set_aside_with_its_state_and_the_others_are_there() {
        for spoil in [
            "UPDATE instances SET template = 'Castle' WHERE instance = ?",
            "UPDATE instances SET owner = NULL WHERE instance = ?",
            "UPDATE instances SET owner = x'00' WHERE instance = ?",
            "UPDATE instances SET name = CAST(x'FFFE' AS TEXT) WHERE instance = ?",
            "UPDATE instances SET created_s = 0 WHERE instance = ?",
            "UPDATE instances SET born = born + 1 WHERE instance = ?",
            "UPDATE instances SET checksum = 0 WHERE instance = ?",
        ] {
            let store = store_with(3);
            let state = crate::State { id: Uuid::from_u128(1), sequence: 7, bytes: b"whole".to_vec() };
            store.save_instances(&[state]).unwrap();
            assert_eq!(store.lock().execute(spoil, [Uuid::from_u128(1)]).unwrap(), 1, "{spoil}");
            let list = store.instances().unwrap();
            assert_eq!(list.instances.len(), 2, "{spoil}");
            let [damage] = &*list.damages else { panic!("{spoil}: {:?}", list.damages) };
            assert_eq!(
                (damage.instance.as_str(), damage.part),
                ("00000000000000000000000000000001", Part::Row)
            );
            let again = store.instances().unwrap();
            assert!(again.damages.is_empty() && again.instances.len() == 2);
            let kept: Vec<(String, Vec<u8>)> = aside(&store);
            assert_eq!(kept[0], ("image".into(), b"whole".to_vec()), "{spoil}");
            assert_eq!(kept[1].0, "row");
        }
    }

    pub(crate) fn aside(store: &Store) -> Vec<(String, Vec<u8>)> {
        let connection = store.lock();
        let mut select =
            connection.prepare("SELECT part, content FROM instances_set_aside ORDER BY number").unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    }

    #[test]
    fn a_key_that_is_no_id_is_set_aside() {
        let store = store_with(1);
        let insert = "INSERT INTO instances VALUES (x'0102', 'Cave', 'Cave', NULL, 0, 0, NULL, 0)";
        store.lock().execute(insert, []).unwrap();
        let list = store.instances().unwrap();
        assert_eq!((list.instances.len(), list.damages[0].instance.as_str()), (1, "0102"));
    }
}
