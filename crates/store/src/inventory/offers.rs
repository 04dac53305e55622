//! Offers: things in an inventory that another user has given, until their receiver has answered.
//!
//! The thing is in the receiver's inventory from the transaction on that makes the offer (`gift`). The offer waits until its receiver has been shown it, is open
//! until it is answered, and is kept for a while behind that, so that a request which a client repeats has no second effect.

use super::changes::{InventoryChange, InventoryLimits, InventoryRefusal};
use super::edit::InventoryEdit;
use crate::engine::{EngineError, Row, Session, Sql, values};
use crate::seals;
use crate::{Store, StoreError};
use ids::AgentId;
use uuid::Uuid;

/// Offers that wait for one receiver. A further gift is refused.
pub const OFFERS_WAITING_MAX: u32 = 256;
/// Offers of one receiver in all states. Beyond it the oldest that do not wait are forgotten.
pub const OFFERS_MAX: u32 = 2_048;

/// Time for which an offer can be answered once its receiver was shown it.
const OPEN_S: i64 = 30 * 86_400;
/// Time for which an answered offer is remembered, from its making on.
const ANSWERED_S: i64 = 86_400;

/// States of an offer, as rows have them.
const WAITS: i8 = 0;
const IS_OPEN: i8 = 1;
const IS_ANSWERED: i8 = 2;

/// Kinds of things that are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferKind {
    /// An item.
    Item,
    /// A folder with its content.
    Folder,
    /// A calling card of the giver, which is an item too.
    CallingCard,
}

impl OfferKind {
    const ALL: [Self; 3] = [Self::Item, Self::Folder, Self::CallingCard];

    /// As rows have it.
    const fn number(self) -> i8 {
        match self {
            Self::Item => 0,
            Self::Folder => 1,
            Self::CallingCard => 2,
        }
    }
}

/// A thing that one user offers to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Owner of the inventory that it is in.
    pub receiver: AgentId,
    /// Its item or folder there.
    pub id: Uuid,
    /// The other user.
    pub giver: AgentId,
    /// Transaction of the giver's client.
    pub transaction: Uuid,
    /// Its kind.
    pub kind: OfferKind,
    /// Time of the offer, seconds since 1970.
    pub made_s: i64,
}

/// Outcome of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferAnswered {
    /// The first answer.
    Now {
        /// The offer.
        offer: Offer,
        /// Reason for which the thing stays where it is, if it was to be moved.
        moved: Result<(), InventoryRefusal>,
    },
    /// It was answered before, and stays as it is.
    Before(Offer),
    /// There is no such offer, or not any more.
    Unknown,
}

/// In the order of [`read_offer`].
macro_rules! select_offers {
    ($rest:literal) => {
        concat!(
            "SELECT receiver, offer, giver, transaction_id, kind, made_s, state, checksum, state_checksum \
             FROM inventory_offers ",
            $rest
        )
    };
}

const OFFER: Sql = Sql::same(select_offers!("WHERE receiver = $1 AND offer = $2"));
const WAITING: Sql =
    Sql::same(select_offers!("WHERE receiver = $1 AND state = 0 ORDER BY made_s, offer LIMIT $2"));
const INSERT: Sql = Sql::same(
    "INSERT INTO inventory_offers (receiver, offer, giver, transaction_id, kind, made_s, state, checksum, \
     state_checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
);
const OPEN: Sql = Sql::same(
    "UPDATE inventory_offers SET state = $1, state_checksum = $2 WHERE receiver = $3 AND offer = $4 AND state = $5",
);
const ANSWER: Sql = Sql::same(
    "UPDATE inventory_offers SET state = $1, state_checksum = $2 WHERE receiver = $3 AND offer = $4",
);
const IS_KNOWN: Sql = Sql::same("SELECT made_s FROM inventory_offers WHERE receiver = $1 AND offer = $2");
const FORGET_OLD: Sql = Sql::same(
    "DELETE FROM inventory_offers WHERE receiver = $1 AND (state = 1 AND made_s < $2 OR state = 2 AND made_s < $3)",
);
const COUNT: Sql = Sql::same(
    "SELECT count(*), count(CASE WHEN state = 0 THEN 1 END) FROM inventory_offers WHERE receiver = $1",
);
const FORGET_OLDEST: Sql = Sql::same(
    "DELETE FROM inventory_offers WHERE receiver = $1 AND state <> 0 AND made_s <= \
     (SELECT made_s FROM inventory_offers WHERE receiver = $1 AND state <> 0 ORDER BY made_s LIMIT 1 OFFSET $2)",
);

impl Store {
    /// Offers that their receiver has not been shown, the oldest first. A damaged one is left out: its thing is in the inventory all the same.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn waiting_offers(&self, receiver: AgentId) -> Result<Vec<Offer>, StoreError> {
        let waiting = self.read(|session| {
            session.query(WAITING, values![receiver.0, OFFERS_WAITING_MAX], |row| {
                Ok(read_offer(&row).map(|(offer, _)| offer))
            })
        });
        let waiting = waiting.map_err(StoreError::query("reading offers to", receiver.0))?;
        Ok(waiting.into_iter().flatten().collect())
    }

    /// An offer to a receiver, in whatever state.
    ///
    /// # Errors
    /// [`StoreError::Query`].
    pub fn offer(&self, receiver: AgentId, offer: Uuid) -> Result<Option<Offer>, StoreError> {
        let found = self.read(|session| find_offer(session, receiver, offer));
        let found = found.map_err(StoreError::query("reading the offer", offer))?;
        Ok(found.map(|(offer, _)| offer))
    }

    /// Notes that the receiver has been shown these offers. Those that do not wait stay as they are.
    ///
    /// # Errors
    /// [`StoreError::Query`]; then none is noted, unless the outcome is unknown.
    pub fn open_offers(&self, receiver: AgentId, offers: &[Uuid]) -> Result<(), StoreError> {
        let noted = self.write(|session| {
            for offer in offers {
                let sum = state_checksum(receiver, *offer, IS_OPEN);
                session.execute(OPEN, values![IS_OPEN, sum, receiver.0, offer, WAITS])?;
            }
            Ok(())
        });
        noted.map_err(StoreError::query("noting offers to", receiver.0))
    }

    /// Notes the receiver's answer to an offer, and moves the thing into a folder of the receiver, if one is named. A refused move does not keep the answer from its
    /// effect. The first answer counts.
    ///
    /// # Errors
    /// [`StoreError::UnknownAccount`], [`StoreError::Query`]; then nothing has changed, unless the outcome is unknown.
    pub fn answer_offer(
        &self,
        receiver: AgentId,
        offer: Uuid,
        folder: Option<Uuid>,
        limits: &InventoryLimits,
    ) -> Result<OfferAnswered, StoreError> {
        let answered = self.write(|session| {
            let Some(mut edit) = InventoryEdit::begin(session, receiver, *limits)? else { return Ok(None) };
            let found = find_offer(session, receiver, offer)?;
            let Some((offer, state)) = found else { return Ok(Some(OfferAnswered::Unknown)) };
            if state == IS_ANSWERED {
                return Ok(Some(OfferAnswered::Before(offer)));
            }
            let sum = state_checksum(receiver, offer.id, IS_ANSWERED);
            session.execute(ANSWER, values![IS_ANSWERED, sum, receiver.0, offer.id])?;
            let moved = match folder {
                Some(folder) => edit.apply(session, &relocation(&offer, folder))?.map(drop),
                None => Ok(()),
            };
            Ok(Some(OfferAnswered::Now { offer, moved }))
        });
        let answered = answered.map_err(StoreError::query("answering the offer", offer))?;
        answered.ok_or(StoreError::UnknownAccount(receiver))
    }
}

/// The change that moves an offered thing.
fn relocation(offer: &Offer, folder: Uuid) -> InventoryChange {
    match offer.kind {
        OfferKind::Folder => InventoryChange::MoveFolder { folder: offer.id, parent: folder },
        OfferKind::Item | OfferKind::CallingCard => {
            InventoryChange::MoveItem { item: offer.id, folder, name: None }
        }
    }
}

/// True if the receiver has an offer with this id, in any state, damaged or not.
pub(super) fn is_known(
    session: &mut Session<'_>,
    receiver: AgentId,
    offer: Uuid,
) -> Result<bool, EngineError> {
    Ok(session.query_row(IS_KNOWN, values![receiver.0, offer], |_| Ok(()))?.is_some())
}

/// Adds an offer that waits. False if as many wait as may; then old ones may have been forgotten.
pub(super) fn add(session: &mut Session<'_>, offer: &Offer) -> Result<bool, EngineError> {
    let &Offer { receiver, id, giver, transaction, kind, made_s } = offer;
    session.execute(FORGET_OLD, values![receiver.0, made_s - OPEN_S, made_s - ANSWERED_S])?;
    let read = |row: Row<'_>| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?));
    let (n, n_waiting) = session.query_row(COUNT, values![receiver.0], read)?.unwrap_or_default();
    if n_waiting >= i64::from(OFFERS_WAITING_MAX) {
        return Ok(false);
    }
    if n >= i64::from(OFFERS_MAX) {
        session.execute(FORGET_OLDEST, values![receiver.0, OFFERS_MAX / 4])?;
    }
    let (sum, state_sum) = (checksum(offer), state_checksum(receiver, id, WAITS));
    session.execute(
        INSERT,
        values![receiver.0, id, giver.0, transaction, kind.number(), made_s, WAITS, sum, state_sum],
    )?;
    Ok(true)
}

fn find_offer(
    session: &mut Session<'_>,
    receiver: AgentId,
    offer: Uuid,
) -> Result<Option<(Offer, i8)>, EngineError> {
    Ok(session.query_row(OFFER, values![receiver.0, offer], |row| Ok(read_offer(&row)))?.flatten())
}

/// Of an offer without its state.
fn checksum(offer: &Offer) -> i64 {
    let Offer { receiver, id, giver, transaction, kind, made_s } = offer;
    seals::OFFER.of(values![receiver.0, id, giver.0, transaction, kind.number(), made_s])
}

fn state_checksum(receiver: AgentId, offer: Uuid, state: i8) -> i64 {
    seals::OFFER_STATE.of(values![receiver.0, offer, state])
}

/// An offer and its state; none if it is damaged.
fn read_offer(row: &Row<'_>) -> Option<(Offer, i8)> {
    let number = row.get::<i8>(4).ok()?;
    let kind = OfferKind::ALL.into_iter().find(|kind| kind.number() == number)?;
    let offer = Offer {
        receiver: AgentId(row.get(0).ok()?),
        id: row.get(1).ok()?,
        giver: AgentId(row.get(2).ok()?),
        transaction: row.get(3).ok()?,
        kind,
        made_s: row.get(5).ok()?,
    };
    let state = row.get::<i8>(6).ok()?;
    let sums = [checksum(&offer), state_checksum(offer.receiver, offer.id, state)];
    (row.get(7).ok() == Some(sums[0]) && row.get(8).ok() == Some(sums[1])).then_some((offer, state))
}
