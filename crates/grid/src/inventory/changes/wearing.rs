//! Worn objects: put on and taken off by the items of the user's inventory, and brought along when an avatar arrives; and the outfit of clothing.
//!
//! ```text
//! WearRequest ─► rows of the store, here ─► WardrobeOrder ─► keeper::Wardrobe ─► keeper of the region ─► world
//! ```
//!
//! An item that is put on has a row ([`store::WornRow`]) before its object is in a world. The item stays, and is not changed by its owner until it is taken off.

use super::{ChangeInventoryError, InventoryParts, InventoryReplies};
use crate::inventory::AssetType;
use assets::AssetKind;
use ids::{AgentId, SessionKey, Uuid, WorldId};
use keeper::{WardrobeOrder, WearItemError, WornObject, worn_of_item};
use link::{ATTACHMENT_POINT_ADDS, ATTACHMENT_POINT_MAX, WornItems};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Item, NewWorn, StoredWearable, WearOutcome, WornRow};

/// Objects that a request puts on, at most: an outfit.
pub const WEAR_MAX: usize = 255;

/// A request about worn objects.
#[derive(Clone, Debug, PartialEq)]
pub enum WearRequest {
    /// The user's avatar has arrived in a world.
    Arrived {
        /// The session.
        session: SessionKey,
        /// The region; `None` for a world without objects of users.
        region: Option<WorldId>,
    },
    /// A session of the user has ended.
    Gone(SessionKey),
    /// The user puts items on.
    PutOn(PutOnRequest),
    /// The user takes items off.
    TakeOff(WornItems),
    /// Clothing and body parts of the user's avatar.
    Outfit(Vec<StoredWearable>),
}

/// A request to put items on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutOnRequest {
    /// The user's session.
    pub session: SessionKey,
    /// The items, at most [`WEAR_MAX`].
    pub items: Vec<WearItem>,
    /// Items that stay on while everything else is taken off.
    pub takes_off_but: Option<Vec<Uuid>>,
    /// Objects that an avatar wears at most.
    pub max: u32,
    /// Time of the request, microseconds since 1970.
    pub at_us: i64,
}

/// An item to be put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WearItem {
    /// The item.
    pub item: Uuid,
    /// Attachment point as clients have it: 0 for the last one, with [`ATTACHMENT_POINT_ADDS`] to wear it beside the objects there.
    pub point: u8,
}

/// Reasons for which an item is not put on. The text follows "It cannot be worn: ".
#[derive(Debug, thiserror::Error)]
enum WearRefusal {
    #[error("it is not in your inventory")]
    Unknown,
    #[error("it is no object")]
    NotObject,
    #[error("there is no attachment point {0}")]
    Point(u8),
    #[error("its content is not on this server")]
    NoContent,
    #[error(transparent)]
    Unfit(#[from] WearItemError),
    #[error("it is on its way into a region")]
    OnItsWay,
    #[error("it has just changed; try again")]
    Changed,
    #[error("you wear {0} objects, and no more are allowed")]
    Full(u32),
    #[error("only {WEAR_MAX} objects can be put on at once")]
    TooMany,
}

/// An item that can be put on.
struct Fitting {
    new: NewWorn,
    worn: WornObject,
    replaces: bool,
}

/// Carries a request out. Orders for the wardrobe are in the replies.
pub(super) fn carry_out(
    parts: InventoryParts<'_>,
    agent: AgentId,
    request: &WearRequest,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let order = match request {
        WearRequest::Arrived { session, region } => {
            let (session, world, worn) = (*session, *region, worn_by(parts, agent)?);
            WardrobeOrder::Arrived { agent, session, world, worn }
        }
        WearRequest::Gone(session) => WardrobeOrder::Gone { agent, session: *session },
        WearRequest::PutOn(request) => return put_on(parts, agent, request),
        WearRequest::TakeOff(items) => WardrobeOrder::TakeOff { agent, items: items.clone() },
        WearRequest::Outfit(worn) => {
            parts.store.save_wearables(agent, worn)?;
            return Ok(InventoryReplies::default());
        }
    };
    Ok(InventoryReplies { wardrobe: vec![order], ..InventoryReplies::default() })
}

/// Worn objects of a user in the store. Unreadable ones are left out, and stay in the store.
fn worn_by(parts: InventoryParts<'_>, agent: AgentId) -> Result<Vec<WornObject>, ChangeInventoryError> {
    let list = parts.store.worn_objects(agent)?;
    for damage in &list.damages {
        tracing::error!(%damage, "a damaged row is set aside; its item is worn no more");
    }
    let read = |row: &WornRow| match WornObject::of_row(row) {
        Ok(worn) => Some(worn),
        Err(why) => {
            tracing::error!(%why, agent = %agent.0, item = %row.item, "a worn object cannot be read");
            None
        }
    };
    Ok(list.rows.iter().filter_map(read).collect())
}

fn put_on(
    parts: InventoryParts<'_>,
    agent: AgentId,
    request: &PutOnRequest,
) -> Result<InventoryReplies, ChangeInventoryError> {
    let n_taken = request.items.len().min(WEAR_MAX);
    let mut refused: Vec<WearRefusal> =
        request.items[n_taken..].iter().map(|_| WearRefusal::TooMany).collect();
    let (mut fitting, mut seen) = (Vec::new(), BTreeSet::new());
    for item in request.items[..n_taken].iter().filter(|item| seen.insert(item.item)) {
        match fit(parts, agent, request, *item)? {
            Ok(fits) => fitting.push(fits),
            Err(why) => refused.push(why),
        }
    }
    let new: Vec<NewWorn> = fitting.iter().map(|fitting| fitting.new.clone()).collect();
    let is_replaced = |item: Uuid, point: u8| {
        let at_point =
            |fitting: &Fitting| fitting.replaces && fitting.worn.point == point && fitting.worn.item != item;
        fitting.iter().any(at_point)
    };
    let is_taken_off = |item: Uuid| request.takes_off_but.as_ref().is_some_and(|kept| !kept.contains(&item));
    let outcomes = if new.is_empty() {
        Vec::new()
    } else {
        let leaves = |item, point| is_taken_off(item) || is_replaced(item, point);
        parts.store.wear_in_place(agent, &new, request.max, leaves)?
    };
    let (mut items, mut again) = (Vec::new(), Vec::new());
    for (Fitting { worn, replaces, .. }, outcome) in fitting.into_iter().zip(outcomes) {
        match outcome {
            WearOutcome::Worn => items.push((worn, replaces)),
            // Its row is newer than the item's content, so that only the row counts.
            WearOutcome::Already => again.push(worn.item),
            WearOutcome::Unknown => refused.push(WearRefusal::Unknown),
            WearOutcome::Changed => refused.push(WearRefusal::Changed),
            WearOutcome::Busy => refused.push(WearRefusal::OnItsWay),
            WearOutcome::Full => refused.push(WearRefusal::Full(request.max)),
        }
    }
    let refusal = refused.first().map(|why| {
        let count =
            if refused.len() == 1 { String::new() } else { format!(" Items refused: {}.", refused.len()) };
        format!("It cannot be worn: {why}.{count}")
    });
    let mut wardrobe = Vec::new();
    if let Some(kept) = &request.takes_off_but {
        wardrobe.push(WardrobeOrder::TakeOff { agent, items: WornItems::AllBut(kept.clone()) });
    }
    if !items.is_empty() {
        wardrobe.push(WardrobeOrder::Wear { agent, items });
    }
    if !again.is_empty() {
        wardrobe.push(WardrobeOrder::WearAgain { agent, items: again });
    }
    Ok(InventoryReplies { refusal, wardrobe, ..InventoryReplies::default() })
}

/// The object of an item as the user would wear it.
fn fit(
    parts: InventoryParts<'_>,
    agent: AgentId,
    request: &PutOnRequest,
    WearItem { item, point }: WearItem,
) -> Result<Result<Fitting, WearRefusal>, ChangeInventoryError> {
    let replaces = point & ATTACHMENT_POINT_ADDS == 0;
    let point = point & !ATTACHMENT_POINT_ADDS;
    if point > ATTACHMENT_POINT_MAX {
        return Ok(Err(WearRefusal::Point(point)));
    }
    let Some(item) = own_item(parts, agent, item)? else { return Ok(Err(WearRefusal::Unknown)) };
    if item.asset_type != AssetKind::Object.number() {
        return Ok(Err(WearRefusal::NotObject));
    }
    let asset = parts.assets.read(item.asset)?.filter(|asset| asset.kind == AssetKind::Object);
    let Some(asset) = asset else { return Ok(Err(WearRefusal::NoContent)) };
    let named = Some(point).filter(|point| *point != 0);
    let (point, object) = match worn_of_item(agent, &item, &asset.bytes, request.session, named) {
        Ok(fits) => fits,
        Err(why) => return Ok(Err(why.into())),
    };
    let worn = WornObject {
        owner: agent,
        item: item.id,
        point,
        revision: request.at_us,
        is_ahead: false,
        object: Arc::new(object),
    };
    let WornRow { point, revision, value, .. } = worn.row();
    Ok(Ok(Fitting { new: NewWorn { item, point, revision, value }, worn, replaces }))
}

/// An item of the user, or the target of a link.
fn own_item(
    parts: InventoryParts<'_>,
    agent: AgentId,
    id: Uuid,
) -> Result<Option<Item>, ChangeInventoryError> {
    let found = parts.store.item(agent, id)?;
    Ok(match found {
        Some(link) if link.asset_type == AssetType::LINK => parts.store.item(agent, link.asset)?,
        found => found,
    })
}

#[cfg(test)]
mod tests;
