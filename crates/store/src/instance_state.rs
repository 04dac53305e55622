//! What is in instances: the whole state of each, as of some moment, and behind that a journal of what must not get lost since.
//!
//! Both are bytes to this crate, which sees to it that they are read as they were written, or not at all. Every state has a sequence
//! number, taken when it was copied out of its world. So whoever writes need not do so in order: an earlier state never replaces a
//! later one, and a journal counts only if it is later than the image that it is found with.

use crate::instance::{Damage, first_half, hexadecimal};
use crate::{Store, StoreError};
use ids::Uuid;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use std::fmt;

/// Damaged things that are kept; the oldest go first. An operator who has not looked after so many will not.
pub const SET_ASIDE_MAX: u32 = 1_000;

/// The highest number that a state can have: a higher one is damaged. One a microsecond would come so far in nine years.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 48;

/// What is kept of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What it is: its name, its template.
    Row,
    /// Its whole state.
    Image,
    /// What has changed since.
    Journal,
}

/// A state of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Of which one.
    pub id: Uuid,
    /// When it was taken: of two states of an instance the later one has the higher number.
    pub sequence: u64,
    /// The state.
    pub bytes: Vec<u8>,
}

/// All that is kept of what is in an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceState {
    /// The whole state; none of an instance that nobody has been in.
    pub image: Option<State>,
    /// What has changed since then, or since its beginning.
    pub journal: Option<State>,
    /// What was found damaged, and is set aside now.
    pub damages: Vec<Damage>,
}

impl Part {
    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Image => "image",
            Self::Journal => "journal",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const SAVE_IMAGE: &str = "
INSERT INTO instance_images (instance, sequence, state, checksum)
SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM instances WHERE instance = ?1 AND born < ?2)
ON CONFLICT (instance) DO UPDATE SET sequence = excluded.sequence, state = excluded.state, checksum = excluded.checksum
WHERE excluded.sequence > sequence";

const SAVE_JOURNAL: &str = "
INSERT INTO instance_journal (instance, sequence, state, checksum)
SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM instances WHERE instance = ?1 AND born < ?2)
ON CONFLICT (instance) DO UPDATE SET sequence = excluded.sequence, state = excluded.state, checksum = excluded.checksum
WHERE excluded.sequence > sequence";

impl Store {
    /// Keeps whole states, all of them or none, on the disk before it returns; how many. Journals that they contain are dropped. Left out
    /// are those of instances that have been removed, and those that are earlier than what is kept.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then everything is as it was.
    pub fn save_instances(&self, images: &[State]) -> Result<usize, StoreError> {
        let failed = || StoreError::query("saving", format!("{} instances", images.len()));
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(failed())?;
        let mut n = 0;
        for image in images {
            let save = || {
                let is_kept = write(&mut transaction.prepare_cached(SAVE_IMAGE)?, Part::Image, image)?;
                if is_kept {
                    transaction
                        .prepare_cached("DELETE FROM instance_journal WHERE instance = ? AND sequence <= ?")?
                        .execute(params![image.id, image.sequence.cast_signed()])?;
                }
                Ok(is_kept)
            };
            n += usize::from(save().map_err(StoreError::query("saving the instance", image.id))?);
        }
        transaction.commit().map_err(failed())?;
        Ok(n)
    }

    /// Keeps what has changed in instances, in one transaction, on the disk before it returns; in how many. A journal replaces the
    /// instance's former one; left out is the same as of whole states.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then everything is as it was.
    pub fn journal_instances(&self, journals: &[State]) -> Result<usize, StoreError> {
        let failed = || StoreError::query("journalling", format!("{} instances", journals.len()));
        let mut connection = self.lock();
        let transaction = connection.transaction().map_err(failed())?;
        let mut n = 0;
        {
            let mut save = transaction.prepare_cached(SAVE_JOURNAL).map_err(failed())?;
            for journal in journals {
                let is_kept = write(&mut save, Part::Journal, journal)
                    .map_err(StoreError::query("journalling the instance", journal.id))?;
                n += usize::from(is_kept);
            }
        }
        transaction.commit().map_err(failed())?;
        Ok(n)
    }

    /// What is kept of what is in an instance. What is damaged is set aside and told of. When that was all that there was, or the whole
    /// state, the instance is listed with this trouble from now on, until it is removed.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn instance_state(&self, id: Uuid) -> Result<InstanceState, StoreError> {
        let failed = || StoreError::query("reading the instance", id);
        let mut connection = self.lock();
        let image = read(&connection, Part::Image, id).map_err(failed())?;
        let journal = read(&connection, Part::Journal, id).map_err(failed())?;
        let mut state = InstanceState::default();
        for (part, found) in [(Part::Image, image), (Part::Journal, journal)] {
            match found {
                None => {}
                Some(Ok(found)) if part == Part::Image => state.image = Some(found),
                Some(Ok(found)) => state.journal = Some(found),
                Some(Err(why)) => {
                    let transaction = connection.transaction().map_err(failed())?;
                    mark_and_set_aside(&transaction, id, part, why).map_err(failed())?;
                    transaction.commit().map_err(failed())?;
                    let instance = hexadecimal(id.as_bytes());
                    state.damages.push(Damage { instance, part, why: why.to_owned() });
                }
            }
        }
        if let (Some(image), Some(journal)) = (&state.image, &state.journal)
            && journal.sequence <= image.sequence
        {
            state.journal = None;
        }
        Ok(state)
    }
}

/// False when there is no such instance, or a later state of it.
fn write(save: &mut CachedStatement<'_>, part: Part, state: &State) -> rusqlite::Result<bool> {
    let State { id, sequence, bytes } = state;
    let sequence = sequence.cast_signed();
    let n = save.execute(params![id, sequence, bytes, checksum(part, *id, sequence, bytes)])?;
    Ok(n > 0)
}

fn read(
    connection: &Connection,
    part: Part,
    id: Uuid,
) -> rusqlite::Result<Option<Result<State, &'static str>>> {
    let sql = match part {
        Part::Image => "SELECT sequence, state, checksum FROM instance_images WHERE instance = ?",
        _ => "SELECT sequence, state, checksum FROM instance_journal WHERE instance = ?",
    };
    let mut select = connection.prepare_cached(sql)?;
    let found =
        select.query_row([id], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?, row.get::<_, i64>(2)?)));
    Ok(found.optional()?.map(|(sequence, bytes, sum)| {
        let is_whole = checksum(part, id, sequence, &bytes) == sum;
        match u64::try_from(sequence) {
            Ok(sequence) if is_whole && sequence <= SEQUENCE_MAX => Ok(State { id, sequence, bytes }),
            _ => Err("the checksum does not match"),
        }
    }))
}

/// A journal that is lost costs what has changed since the image, and an instance without an image begins anew without one: only the
/// loss of all that there was is a reason to let nobody in.
fn mark_and_set_aside(connection: &Connection, id: Uuid, part: Part, why: &str) -> rusqlite::Result<()> {
    let is_all = part == Part::Image || {
        let mut select = connection.prepare_cached("SELECT 1 FROM instance_images WHERE instance = ?")?;
        !select.exists([id])?
    };
    if is_all {
        let trouble = format!("Its saved state is damaged and was set aside ({part}: {why}).");
        connection
            .prepare_cached("UPDATE instances SET trouble = ? WHERE instance = ?")?
            .execute(params![trouble, id])?;
    }
    set_aside(connection, id.as_bytes(), part, why)
}

/// Moves what is there of one part, as it is.
pub(crate) fn set_aside(connection: &Connection, key: &[u8], part: Part, why: &str) -> rusqlite::Result<()> {
    let (copy, delete) = match part {
        Part::Row => (
            "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, ?2, ?3, CAST(template || char(10) || name || char(10) || coalesce(hex(owner), '') \
             || char(10) || created_s AS BLOB) FROM instances WHERE instance = ?1",
            "DELETE FROM instances WHERE instance = ?",
        ),
        Part::Image => (
            "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, ?2, ?3, state FROM instance_images WHERE instance = ?1",
            "DELETE FROM instance_images WHERE instance = ?",
        ),
        Part::Journal => (
            "INSERT INTO instances_set_aside (instance, part, why, content) \
             SELECT instance, ?2, ?3, state FROM instance_journal WHERE instance = ?1",
            "DELETE FROM instance_journal WHERE instance = ?",
        ),
    };
    connection.execute(copy, params![key, part.as_str(), why])?;
    connection.execute(delete, [key])?;
    connection.execute(
        "DELETE FROM instances_set_aside WHERE number <= (SELECT max(number) FROM instances_set_aside) - ?",
        [SET_ASIDE_MAX],
    )?;
    Ok(())
}

/// Of the states that are as they were written: a number that is not would put all later ones in the past.
pub(crate) fn highest_sequence(connection: &Connection) -> rusqlite::Result<u64> {
    let of_images = "SELECT instance, sequence FROM instance_images ORDER BY sequence DESC";
    let of_journals = "SELECT instance, sequence FROM instance_journal ORDER BY sequence DESC";
    let image = highest_of(connection, Part::Image, of_images)?;
    Ok(image.max(highest_of(connection, Part::Journal, of_journals)?))
}

/// Mostly the first one is whole, and no other state is read.
fn highest_of(connection: &Connection, part: Part, sql: &str) -> rusqlite::Result<u64> {
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        // The key may be damaged, too.
        let Ok(id) = row.get(0) else { continue };
        if let Some(Ok(state)) = read(connection, part, id)? {
            return Ok(state.sequence);
        }
    }
    Ok(0)
}

fn checksum(part: Part, id: Uuid, sequence: i64, bytes: &[u8]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(part.as_str().as_bytes())
        .update(id.as_bytes())
        .update(&sequence.to_le_bytes())
        .update(bytes);
    first_half(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::tests::{aside, instance, store_with};

    const ONE: Uuid = Uuid::from_u128(1);

    fn state(n: u128, sequence: u64, bytes: &str) -> State {
        State { id: Uuid::from_u128(n), sequence, bytes: bytes.into() }
    }

    /// Bytes of image and journal.
    fn kept(store: &Store, n: u128) -> (Option<String>, Option<String>) {
        let InstanceState { image, journal, damages } = store.instance_state(Uuid::from_u128(n)).unwrap();
        assert_eq!(damages, []);
        let text = |state: State| String::from_utf8(state.bytes).unwrap();
        (image.map(text), journal.map(text))
    }

    #[test]
    fn the_later_state_stands_in_whatever_order_they_come() {
        let store = store_with(1);
        assert_eq!(kept(&store, 1), (None, None));
        store.journal_instances(&[state(1, 1, "first blow")]).unwrap();
        assert_eq!(kept(&store, 1), (None, Some("first blow".into())));
        store.save_instances(&[state(1, 3, "whole")]).unwrap();
        assert_eq!(kept(&store, 1), (Some("whole".into()), None));
        store.journal_instances(&[state(1, 2, "second blow")]).unwrap();
        assert_eq!(kept(&store, 1), (Some("whole".into()), None), "it is in the image");
        store.journal_instances(&[state(1, 4, "third blow")]).unwrap();
        store.save_instances(&[state(1, 2, "old")]).unwrap();
        assert_eq!(kept(&store, 1), (Some("whole".into()), Some("third blow".into())));
        store.journal_instances(&[state(1, 3, "late")]).unwrap();
        assert_eq!(kept(&store, 1).1, Some("third blow".into()));
        assert_eq!(store.instances().unwrap().highest_sequence, 4);
    }

    #[test]
    fn what_was_removed_does_not_come_back() {
        let store = store_with(2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        store.journal_instances(&[state(1, 2, "blow")]).unwrap();
        store.remove_instance(ONE).unwrap();
        store.save_instances(&[state(1, 3, "whole"), state(2, 4, "other")]).unwrap();
        store.journal_instances(&[state(1, 5, "blow")]).unwrap();
        assert_eq!((kept(&store, 1), kept(&store, 2)), ((None, None), (Some("other".into()), None)));
        store.create_instance(&instance(1), 6).unwrap();
        assert_eq!(kept(&store, 1), (None, None));
        assert_eq!(store.instances().unwrap().instances.len(), 2);
    }

    #[test]
    fn what_comes_late_of_one_that_was_removed_does_not_become_its_successors() {
        let store = store_with(1);
        store.remove_instance(ONE).unwrap();
        store.create_instance(&instance(1), 7).unwrap();
        assert_eq!(store.save_instances(&[state(1, 6, "of the former one")]).unwrap(), 0);
        assert_eq!(store.journal_instances(&[state(1, 7, "of the former one")]).unwrap(), 0);
        assert_eq!(kept(&store, 1), (None, None));
        assert_eq!(
            store.instances().unwrap().highest_sequence,
            7,
            "its own have higher ones after a start, too"
        );
        assert_eq!(store.journal_instances(&[state(1, 8, "blow")]).unwrap(), 1);
        assert_eq!(kept(&store, 1).1, Some("blow".into()));
    }

    #[test]
    fn a_damaged_number_does_not_put_all_later_states_in_the_past() {
        let store = store_with(3);
        store.save_instances(&[state(1, 4, "whole"), state(2, 5, "whole")]).unwrap();
        store.journal_instances(&[state(3, 6, "blow")]).unwrap();
        for (table, number) in [("instance_images", i64::MAX - 1), ("instance_journal", -3)] {
            let spoil = format!("UPDATE {table} SET sequence = {number} WHERE sequence > 4");
            assert_eq!(store.lock().execute(&spoil, []).unwrap(), 1);
        }
        assert_eq!(store.instances().unwrap().highest_sequence, 4);
    }

    #[test]
    fn a_damaged_image_is_set_aside_and_marks_its_instance_until_that_is_removed() {
        let store = store_with(2);
        store.save_instances(&[state(1, 1, "whole"), state(2, 2, "other")]).unwrap();
        store.lock().execute("UPDATE instance_images SET state = x'00' WHERE instance = ?", [ONE]).unwrap();
        let damaged = store.instance_state(ONE).unwrap();
        assert_eq!(damaged.image, None);
        assert_eq!(damaged.damages[0].part, Part::Image);
        assert_eq!(kept(&store, 1), (None, None));
        assert_eq!(kept(&store, 2).0, Some("other".into()));
        let trouble = |n: u128| {
            let list = store.instances().unwrap().instances;
            let found = list.into_iter().find(|listed| listed.instance.id == Uuid::from_u128(n));
            found.and_then(|listed| listed.trouble)
        };
        assert!(trouble(1).unwrap().contains("checksum") && trouble(2).is_none());
        assert_eq!(aside(&store), [("image".to_owned(), vec![0])]);
        store.remove_instance(ONE).unwrap();
        store.create_instance(&instance(1), 3).unwrap();
        assert!(trouble(1).is_none());
        assert_eq!(aside(&store).len(), 1);
    }

    #[test]
    fn a_damaged_journal_costs_what_it_held_unless_there_is_nothing_else() {
        let store = store_with(2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        store.journal_instances(&[state(1, 2, "blow"), state(2, 3, "blow")]).unwrap();
        store.lock().execute("UPDATE instance_journal SET sequence = sequence + 1", []).unwrap();
        let damaged = store.instance_state(ONE).unwrap();
        assert_eq!(
            (damaged.image.map(|image| image.bytes), damaged.journal),
            (Some(b"whole".to_vec()), None)
        );
        assert_eq!(damaged.damages[0].part, Part::Journal);
        assert_eq!(store.instance_state(Uuid::from_u128(2)).unwrap().damages.len(), 1);
        let troubles: Vec<bool> =
            store.instances().unwrap().instances.iter().map(|listed| listed.trouble.is_some()).collect();
        assert_eq!(troubles, [true, false], "the second one, which is the older");
    }

    #[test]
    fn states_of_two_instances_are_not_taken_for_each_other() {
        let store = store_with(2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        let swap = "UPDATE instance_images SET instance = ?1 WHERE instance = ?2";
        store.lock().execute(swap, [Uuid::from_u128(2), ONE]).unwrap();
        assert_eq!(store.instance_state(Uuid::from_u128(2)).unwrap().damages.len(), 1);
    }

    #[test]
    fn what_does_not_fit_on_the_disk_changes_nothing_and_fits_later() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("grid.sqlite")).unwrap();
        (1..=3).for_each(|n| store.create_instance(&instance(n), 0).unwrap());
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        let limit = |pages: i64| store.lock().pragma_update(None, "max_page_count", pages).unwrap();
        limit(1);
        let big = "x".repeat(100_000);
        let images = [state(1, 2, "newer"), state(2, 3, &big)];
        let error = store.save_instances(&images).unwrap_err();
        assert!(error.to_string().contains("00000000-0000-0000-0000-000000000002"), "{error}");
        store.journal_instances(&[state(1, 4, "blow"), state(3, 5, &big)]).unwrap_err();
        assert_eq!(kept(&store, 1), (Some("whole".into()), None), "all or nothing");
        limit(1_000_000);
        store.save_instances(&images).unwrap();
        assert_eq!((kept(&store, 1).0, kept(&store, 2).0), (Some("newer".into()), Some(big)));
    }

    #[test]
    fn of_what_is_set_aside_the_oldest_goes_first() {
        let store = store_with(1);
        for n in 1..=SET_ASIDE_MAX + 5 {
            store.save_instances(&[state(1, n.into(), &n.to_string())]).unwrap();
            store.lock().execute("UPDATE instance_images SET checksum = checksum + 1", []).unwrap();
            assert_eq!(store.instance_state(ONE).unwrap().damages.len(), 1);
        }
        let kept = aside(&store);
        assert_eq!((kept.len() as u32, &*kept[0].1), (SET_ASIDE_MAX, &b"6"[..]));
    }
}
