//! States of instances: an image (the whole state at some moment), and a journal of the durable changes since.
//!
//! Both are bytes to this crate, which guarantees that they are read as they were written, or not at all. Every state has a sequence
//! number, assigned when it was copied out of its world, so writers need no order: an earlier state never replaces a later one, and a
//! journal counts only if it is later than the image beside it.

use crate::damage::{Damage, Part, hexadecimal, set_aside};
use crate::engine::{EngineError, Session, Sql, values};
use crate::seals;
use crate::tables::first_half;
use crate::{Store, StoreError};
use ids::Uuid;

/// The highest number that a state can have: a higher one is damaged. One a microsecond would come so far in nine years.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 48;

/// A state of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Instance.
    pub id: Uuid,
    /// Order: of two states of an instance the later one has the higher number.
    pub sequence: u64,
    /// The state.
    pub bytes: Vec<u8>,
}

/// Stored state of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceState {
    /// Whole state; `None` if no visitor has been in the instance.
    pub image: Option<State>,
    /// Changes since then, or since its creation.
    pub journal: Option<State>,
    /// Damaged parts, set aside by this read.
    pub damages: Vec<Damage>,
}

// The row of the instance is locked against removal in PostgreSQL, where transactions run side by side.
macro_rules! save_state {
    ($table:literal) => {
        Sql {
            sqlite: concat!(
                "INSERT INTO ", $table, " AS kept (instance, sequence, state, checksum) \
                 SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT 1 FROM instances WHERE instance = $1 AND born < $2) \
                 ON CONFLICT (instance) DO UPDATE SET sequence = excluded.sequence, state = excluded.state, \
                 checksum = excluded.checksum WHERE excluded.sequence > kept.sequence"
            ),
            postgres: concat!(
                "INSERT INTO ", $table, " AS kept (instance, sequence, state, checksum) \
                 SELECT instance, $2::bigint, $3::bytea, $4::bigint FROM instances WHERE instance = $1 AND born < $2 \
                 FOR KEY SHARE \
                 ON CONFLICT (instance) DO UPDATE SET sequence = excluded.sequence, state = excluded.state, \
                 checksum = excluded.checksum WHERE excluded.sequence > kept.sequence"
            ),
        }
    };
}

const SAVE_IMAGE: Sql = save_state!("instance_images");
const SAVE_JOURNAL: Sql = save_state!("instance_journal");
const DROP_JOURNAL: Sql = Sql::same("DELETE FROM instance_journal WHERE instance = $1 AND sequence <= $2");

const REPLACE_IMAGE: Sql =
    Sql::same("UPDATE instance_images SET state = $1, checksum = $2 WHERE instance = $3 AND sequence = $4");
const REPLACE_JOURNAL: Sql =
    Sql::same("UPDATE instance_journal SET state = $1, checksum = $2 WHERE instance = $3 AND sequence = $4");

// One statement each: between two, another connection could replace an image and drop the journal that it contains.
const STATES: Sql = Sql {
    sqlite: "SELECT 0, sequence, state, checksum FROM instance_images WHERE instance = $1 \
             UNION ALL SELECT 1, sequence, state, checksum FROM instance_journal WHERE instance = $1",
    postgres: "SELECT 0::bigint, sequence, state, checksum FROM instance_images WHERE instance = $1 \
               UNION ALL SELECT 1::bigint, sequence, state, checksum FROM instance_journal WHERE instance = $1",
};
const HAS_IMAGE: Sql = Sql::same("SELECT sequence FROM instance_images WHERE instance = $1");
const SET_TROUBLE: Sql =
    Sql::same("UPDATE instances SET trouble = $1, trouble_checksum = $2 WHERE instance = $3");
const IMAGE_SEQUENCES: Sql = Sql::same("SELECT instance FROM instance_images ORDER BY sequence DESC");
const JOURNAL_SEQUENCES: Sql = Sql::same("SELECT instance FROM instance_journal ORDER BY sequence DESC");

impl Store {
    /// Saves whole states durably, all or none, and returns their number. Journals that they contain are dropped. States of removed
    /// instances, and states earlier than the stored one, are left out.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn save_instances(&self, images: &[State]) -> Result<usize, StoreError> {
        self.save("saving", images, |session, image| {
            let is_kept = write(session, SAVE_IMAGE, Part::Image, image)?;
            if is_kept {
                session.execute(DROP_JOURNAL, values![image.id, image.sequence.cast_signed()])?;
            }
            Ok(is_kept)
        })
    }

    /// Saves changes of instances durably in one transaction, and returns their number. A journal replaces the instance's former one;
    /// the same are left out as of whole states.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    pub fn journal_instances(&self, journals: &[State]) -> Result<usize, StoreError> {
        self.save("journalling", journals, |session, journal| {
            write(session, SAVE_JOURNAL, Part::Journal, journal)
        })
    }

    /// Writes the same state in other bytes: its sequence number stays. False when a later state has come meanwhile, or the instance
    /// was removed; then nothing has changed.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then nothing has changed.
    ///
    /// # Panics
    /// When `part` is the row or the visit, which are no states.
    pub fn replace_state(&self, part: Part, state: &State) -> Result<bool, StoreError> {
        let replace = match part {
            Part::Image => REPLACE_IMAGE,
            Part::Journal => REPLACE_JOURNAL,
            Part::Row | Part::Visit => panic!("the {part} of an instance is no state"),
        };
        let State { id, sequence, bytes } = state;
        let sequence = sequence.cast_signed();
        let sum = checksum(part, *id, sequence, bytes);
        self.write(|session| session.execute(replace, values![bytes, sum, id, sequence]))
            .map(|n| n > 0)
            .map_err(StoreError::query("replacing a state of the instance", id))
    }

    fn save(
        &self,
        doing: &'static str,
        states: &[State],
        mut save: impl FnMut(&mut Session<'_>, &State) -> Result<bool, EngineError>,
    ) -> Result<usize, StoreError> {
        // Subject of an error; `None` for one of the transaction.
        let mut at = None;
        let saved = self.write(|session| {
            let mut n = 0;
            for state in states {
                at = Some(state.id);
                n += usize::from(save(session, state)?);
            }
            at = None;
            Ok(n)
        });
        saved.map_err(|source| match at {
            Some(id) => StoreError::query(doing, format_args!("the instance {id}"))(source),
            None => StoreError::query(doing, format_args!("{} instances", states.len()))(source),
        })
    }

    /// Reads an instance's state. Damaged parts are set aside and reported. If the image or everything was damaged, the instance is
    /// listed with this trouble until it is removed.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn instance_state(&self, id: Uuid) -> Result<InstanceState, StoreError> {
        let failed = || StoreError::query("reading the instance", id);
        let found = self.read(|session| read_states(session, id)).map_err(failed())?;
        let mut state = InstanceState::default();
        for (part, found) in found {
            match found {
                Ok(found) if part == Part::Image => state.image = Some(found),
                Ok(found) => state.journal = Some(found),
                Err(why) => {
                    self.write(|session| mark_and_set_aside(session, id, part, why)).map_err(failed())?;
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
fn write(session: &mut Session<'_>, save: Sql, part: Part, state: &State) -> Result<bool, EngineError> {
    let State { id, sequence, bytes } = state;
    let sequence = sequence.cast_signed();
    let n = session.execute(save, values![id, sequence, bytes, checksum(part, *id, sequence, bytes)])?;
    Ok(n > 0)
}

/// A state as it was written, or how its damage was noticed.
pub(crate) type ReadState = Result<State, &'static str>;

/// Stored parts of an instance, the image first.
pub(crate) fn read_states(
    session: &mut Session<'_>,
    id: Uuid,
) -> Result<Vec<(Part, ReadState)>, EngineError> {
    session.query(STATES, values![id], |row| {
        let part = if row.get::<i64>(0)? == 0 { Part::Image } else { Part::Journal };
        let (sequence, bytes): (i64, Vec<u8>) = (row.get(1)?, row.get(2)?);
        let is_whole = checksum(part, id, sequence, &bytes) == row.get::<i64>(3)?;
        let state = match u64::try_from(sequence) {
            Ok(sequence) if is_whole && sequence <= SEQUENCE_MAX => Ok(State { id, sequence, bytes }),
            _ => Err("the checksum does not match"),
        };
        Ok((part, state))
    })
}

/// A lost journal costs the changes since the image, and an instance without an image restarts empty: only the loss of the whole state
/// is a reason to refuse visitors.
fn mark_and_set_aside(session: &mut Session<'_>, id: Uuid, part: Part, why: &str) -> Result<(), EngineError> {
    let is_all = part == Part::Image || session.query(HAS_IMAGE, values![id], |_| Ok(()))?.is_empty();
    if is_all {
        let trouble = format!("Its saved state is damaged and was set aside ({part}: {why}).");
        session.execute(SET_TROUBLE, values![trouble, trouble_checksum(id, Some(trouble.as_str())), id])?;
    }
    set_aside(session, id.as_bytes(), part, why)
}

/// Highest number of undamaged states: a damaged number would put all later ones in the past.
pub(crate) fn highest_sequence(session: &mut Session<'_>) -> Result<u64, EngineError> {
    let image = highest_of(session, Part::Image, IMAGE_SEQUENCES)?;
    Ok(image.max(highest_of(session, Part::Journal, JOURNAL_SEQUENCES)?))
}

/// Mostly the first one is whole, and no other state is read.
fn highest_of(session: &mut Session<'_>, part: Part, sql: Sql) -> Result<u64, EngineError> {
    // A key may be damaged, too.
    let ids = session.query(sql, &[], |row| Ok(row.get::<Uuid>(0).ok()))?;
    for id in ids.into_iter().flatten() {
        for (found, state) in read_states(session, id)? {
            if let (true, Ok(state)) = (found == part, state) {
                return Ok(state.sequence);
            }
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

/// Of the reason for which an instance's state is unavailable.
pub(crate) fn trouble_checksum(id: Uuid, trouble: Option<&str>) -> i64 {
    seals::TROUBLE.of(values![id, trouble])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InstanceOrigin;
    use crate::damage::SET_ASIDE_MAX;
    use crate::instance::tests::{aside, instance, store_with};
    use crate::testing::{TestDatabase, on_both_engines, tamper};

    on_both_engines! {
        the_later_state_stands_in_whatever_order_they_come,
        what_was_removed_does_not_come_back,
        what_comes_late_of_one_that_was_removed_does_not_become_its_successors,
        a_damaged_number_does_not_put_all_later_states_in_the_past,
        a_damaged_image_is_set_aside_and_marks_its_instance_until_that_is_removed,
        a_damaged_journal_costs_what_it_held_unless_there_is_nothing_else,
        a_state_is_replaced_unless_a_later_one_has_come,
        states_of_two_instances_are_not_taken_for_each_other,
        of_what_is_set_aside_the_oldest_goes_first,
    }

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

    fn the_later_state_stands_in_whatever_order_they_come(database: &TestDatabase) {
        let store = store_with(database, 1);
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

    fn a_state_is_replaced_unless_a_later_one_has_come(database: &TestDatabase) {
        let store = store_with(database, 2);
        store.save_instances(&[state(1, 3, "whole"), state(2, 4, "other")]).unwrap();
        store.journal_instances(&[state(1, 5, "blow")]).unwrap();
        assert!(store.replace_state(Part::Image, &state(1, 3, "anew")).unwrap());
        assert!(store.replace_state(Part::Journal, &state(1, 5, "blow anew")).unwrap());
        assert_eq!(kept(&store, 1), (Some("anew".into()), Some("blow anew".into())));
        assert!(!store.replace_state(Part::Image, &state(2, 3, "late")).unwrap());
        assert!(!store.replace_state(Part::Journal, &state(2, 4, "of nothing")).unwrap());
        assert_eq!(kept(&store, 2), (Some("other".into()), None));
        assert_eq!(store.instances().unwrap().highest_sequence, 5);
    }

    fn what_was_removed_does_not_come_back(database: &TestDatabase) {
        let store = store_with(database, 2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        store.journal_instances(&[state(1, 2, "blow")]).unwrap();
        store.remove_instance(ONE).unwrap();
        store.save_instances(&[state(1, 3, "whole"), state(2, 4, "other")]).unwrap();
        store.journal_instances(&[state(1, 5, "blow")]).unwrap();
        assert_eq!((kept(&store, 1), kept(&store, 2)), ((None, None), (Some("other".into()), None)));
        store.create_instance(&instance(1), 6, &InstanceOrigin::Operator).unwrap();
        assert_eq!(kept(&store, 1), (None, None));
        assert_eq!(store.instances().unwrap().instances.len(), 2);
    }

    fn what_comes_late_of_one_that_was_removed_does_not_become_its_successors(database: &TestDatabase) {
        let store = store_with(database, 1);
        store.remove_instance(ONE).unwrap();
        store.create_instance(&instance(1), 7, &InstanceOrigin::Operator).unwrap();
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

    fn a_damaged_number_does_not_put_all_later_states_in_the_past(database: &TestDatabase) {
        let store = store_with(database, 3);
        store.save_instances(&[state(1, 4, "whole"), state(2, 5, "whole")]).unwrap();
        store.journal_instances(&[state(3, 6, "blow")]).unwrap();
        let of_image = Sql::same("UPDATE instance_images SET sequence = $1 WHERE sequence > 4");
        let of_journal = Sql::same("UPDATE instance_journal SET sequence = $1 WHERE sequence > 4");
        for (spoil, number) in [(of_image, i64::MAX - 1), (of_journal, -3)] {
            assert_eq!(tamper(&store, spoil, values![number]), 1);
        }
        assert_eq!(store.instances().unwrap().highest_sequence, 4);
    }

    fn a_damaged_image_is_set_aside_and_marks_its_instance_until_that_is_removed(database: &TestDatabase) {
        let store = store_with(database, 2);
        store.save_instances(&[state(1, 1, "whole"), state(2, 2, "other")]).unwrap();
        let spoil = Sql::same("UPDATE instance_images SET state = $1 WHERE instance = $2");
        tamper(&store, spoil, values![[0], ONE]);
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
        store.create_instance(&instance(1), 3, &InstanceOrigin::Operator).unwrap();
        assert!(trouble(1).is_none());
        assert_eq!(aside(&store).len(), 1);
    }

    fn a_damaged_journal_costs_what_it_held_unless_there_is_nothing_else(database: &TestDatabase) {
        let store = store_with(database, 2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        store.journal_instances(&[state(1, 2, "blow"), state(2, 3, "blow")]).unwrap();
        tamper(&store, Sql::same("UPDATE instance_journal SET sequence = sequence + 1"), &[]);
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

    fn states_of_two_instances_are_not_taken_for_each_other(database: &TestDatabase) {
        let store = store_with(database, 2);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        let swap = Sql::same("UPDATE instance_images SET instance = $1 WHERE instance = $2");
        tamper(&store, swap, values![Uuid::from_u128(2), ONE]);
        assert_eq!(store.instance_state(Uuid::from_u128(2)).unwrap().damages.len(), 1);
    }

    #[test]
    fn a_state_too_large_for_the_disk_changes_nothing_and_fits_later() {
        // The bound that PostgreSQL has is its disk.
        let store = store_with(&TestDatabase::sqlite(), 3);
        store.save_instances(&[state(1, 1, "whole")]).unwrap();
        let limit = |sql| store.read(|session| session.batch(Sql::same(sql))).unwrap();
        limit("PRAGMA max_page_count = 1");
        let big = "x".repeat(100_000);
        let images = [state(1, 2, "newer"), state(2, 3, &big)];
        let error = store.save_instances(&images).unwrap_err();
        assert!(error.to_string().contains("00000000-0000-0000-0000-000000000002"), "{error}");
        store.journal_instances(&[state(1, 4, "blow"), state(3, 5, &big)]).unwrap_err();
        assert_eq!(kept(&store, 1), (Some("whole".into()), None), "all or nothing");
        limit("PRAGMA max_page_count = 1000000");
        store.save_instances(&images).unwrap();
        assert_eq!((kept(&store, 1).0, kept(&store, 2).0), (Some("newer".into()), Some(big)));
    }

    fn of_what_is_set_aside_the_oldest_goes_first(database: &TestDatabase) {
        let store = store_with(database, 1);
        for n in 1..=SET_ASIDE_MAX + 5 {
            store.save_instances(&[state(1, n.into(), &n.to_string())]).unwrap();
            tamper(&store, Sql::same("UPDATE instance_images SET checksum = checksum + 1"), &[]);
            assert_eq!(store.instance_state(ONE).unwrap().damages.len(), 1);
        }
        let kept = aside(&store);
        assert_eq!((kept.len() as u32, &*kept[0].1), (SET_ASIDE_MAX, &b"6"[..]));
    }
}
