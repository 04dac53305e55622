//! The rules of rights as the documentation states them, over plain bits. The server's own functions are not used here: the table compares the two.

/// To give it away.
const TRANSFER: u32 = 1 << 13;
const MODIFY: u32 = 1 << 14;
const COPY: u32 = 1 << 15;
const EXPORT: u32 = 1 << 16;
/// An object whose owner lacks it is locked.
const MOVE: u32 = 1 << 19;
/// Rights that all contents of an object leave to its next owner, in the lowest bits of an item's masks: all of them for an empty object.
const FOLDED: u32 = 0xF;

/// The five masks of an object or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Masks {
    pub(super) base: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) everyone: u32,
    pub(super) next_owner: u32,
}

/// A user by its relation to Ada, the owner of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    Owner,
    Stranger,
    /// Has the group of the object active. There are no groups, so that this grants nothing.
    Member,
    /// May edit the owner's objects.
    Friend,
}

/// The prim that an item goes into, or comes out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prim {
    Closed,
    /// It takes items of all users.
    Open,
    Locked,
}

/// A way by which a thing changes its place or its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Take,
    TakeCopy,
    BuyOriginal,
    BuyCopy,
    /// An object of the inventory comes into the region; *slammed*, if its item has changed hands before.
    Rez {
        is_slammed: bool,
    },
    /// To Eve, an absent user.
    Give {
        is_object: bool,
    },
    /// An item of the actor's inventory goes into a prim of Ada's.
    Drop(Prim),
    /// An item comes out of a prim of Ada's.
    TakeOut(Prim),
}

/// Each place of a thing, and of its copies, after a request: owners and masks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Objects in the region.
    pub(super) in_region: Vec<(&'static str, Masks)>,
    /// Items in prims.
    pub(super) in_prims: Vec<Masks>,
    /// Items of inventories.
    pub(super) owned: Vec<(&'static str, Masks)>,
}

impl Actor {
    pub(super) const ALL: [Self; 4] = [Self::Owner, Self::Stranger, Self::Member, Self::Friend];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Owner => "Ada",
            Self::Stranger => "Bea",
            Self::Member => "Cid",
            Self::Friend => "Dan",
        }
    }
}

impl Masks {
    /// Base, owner, group, everyone and next owner, by letters of rights: v move, m modify, c copy, t transfer, e export.
    pub(super) fn of(letters: [&str; 5]) -> Self {
        let bit = |letter| match letter {
            'v' => MOVE,
            'm' => MODIFY,
            'c' => COPY,
            't' => TRANSFER,
            'e' => EXPORT,
            other => panic!("{other:?} is no right"),
        };
        let [base, owner, group, everyone, next_owner] =
            letters.map(|letters| letters.chars().map(bit).fold(0, |all, bit| all | bit));
        Self { base, owner, group, everyone, next_owner }
    }

    const fn may(&self, right: u32) -> bool {
        self.owner & self.base & right == right
    }

    /// The next owner has its base and owner mask from the mask of the next owner, and others have nothing.
    const fn for_next_owner(self) -> Self {
        let base = self.base & self.next_owner;
        Self { base, owner: base, group: 0, everyone: 0, next_owner: with_a_way_out(self.next_owner, base) }
    }

    /// Any item can be moved. Other masks are within the base.
    const fn movable(self) -> Self {
        let base = self.base | MOVE;
        let owner = self.owner & base;
        Self {
            base,
            owner,
            group: self.group & base & (MOVE | MODIFY | COPY),
            everyone: self.everyone & base & (MOVE | COPY | (EXPORT & owner)),
            next_owner: with_a_way_out(self.next_owner, base),
        }
    }

    /// An object as an item: with the rights that its owner has to it.
    const fn as_item(self) -> Self {
        let rights = self.base & self.owner | MOVE;
        Self {
            base: rights | FOLDED,
            owner: rights | FOLDED,
            group: self.group & rights,
            everyone: self.everyone & rights,
            next_owner: (self.next_owner | MOVE) & rights,
        }
    }

    /// An object of an item that has changed hands: as its owner made it, within the base mask of the item.
    const fn of_slammed(asset: Self, item: Self) -> Self {
        let base = (asset.base | MOVE) & (item.base | MOVE);
        Self { base, owner: base, group: 0, everyone: 0, next_owner: with_a_way_out(item.next_owner, base) }
    }
}

/// The mask of the next owner within a base: it can always be moved, and be copied or given away.
const fn with_a_way_out(next_owner: u32, base: u32) -> u32 {
    let bounded = (next_owner | MOVE) & (base | MOVE);
    if bounded & (COPY | TRANSFER) == 0 { bounded | TRANSFER } else { bounded }
}

/// Places of a thing with these masks after a request of this actor. `asset` has the masks of the object that items of objects name.
pub(super) fn expected(way: Way, masks: Masks, asset: Masks, actor: Actor) -> Places {
    match way {
        Way::Take | Way::TakeCopy | Way::BuyOriginal | Way::BuyCopy => of_object(way, masks, actor),
        Way::Rez { is_slammed } => {
            let object = if is_slammed { Masks::of_slammed(asset, masks) } else { asset };
            let (is_done, stays) = (actor == Actor::Owner, masks.may(COPY));
            Places {
                in_region: is_done.then_some(("Ada", object)).into_iter().collect(),
                owned: (!is_done || stays).then_some(("Ada", masks)).into_iter().collect(),
                ..Places::default()
            }
        }
        Way::Give { .. } => {
            let is_done = actor == Actor::Owner && masks.may(TRANSFER);
            let stays = masks.may(COPY);
            let given = is_done.then(|| ("Eve", masks.movable().for_next_owner()));
            let kept = (!is_done || stays).then_some(("Ada", masks));
            Places { owned: kept.into_iter().chain(given).collect(), ..Places::default() }
        }
        Way::Drop(prim) => {
            let is_done = match (prim, actor) {
                (Prim::Locked, _) => false,
                (_, Actor::Owner) => true,
                (Prim::Closed, Actor::Stranger | Actor::Member) => false,
                (Prim::Open, Actor::Stranger | Actor::Member) | (_, Actor::Friend) => masks.may(TRANSFER),
            };
            let inside = if actor == Actor::Owner { masks } else { masks.for_next_owner() };
            Places {
                in_prims: is_done.then(|| inside.movable()).into_iter().collect(),
                owned: (!is_done || masks.may(COPY)).then_some((actor.name(), masks)).into_iter().collect(),
                ..Places::default()
            }
        }
        Way::TakeOut(prim) => {
            let stays = masks.may(COPY);
            // An item that leaves changes its prim.
            let is_done = actor == Actor::Owner && (stays || prim != Prim::Locked);
            Places {
                in_prims: (!is_done || stays).then_some(masks).into_iter().collect(),
                owned: is_done.then_some(("Ada", masks)).into_iter().collect(),
                ..Places::default()
            }
        }
    }
}

/// Ways of an object of the region.
fn of_object(way: Way, masks: Masks, actor: Actor) -> Places {
    let is_locked = masks.owner & MOVE == 0;
    let is_free = masks.may(COPY | TRANSFER);
    let is_done = match (way, actor) {
        (Way::Take, Actor::Owner) => !is_locked && masks.may(MOVE),
        (Way::Take, Actor::Friend) => !is_locked && masks.may(MOVE | TRANSFER),
        (Way::TakeCopy, Actor::Owner) => masks.may(COPY),
        (Way::TakeCopy, Actor::Friend) => is_free,
        // Nothing is copied for others that its owner could not give away as a copy.
        (Way::TakeCopy, Actor::Stranger | Actor::Member) => {
            masks.everyone & masks.base & COPY != 0 && is_free
        }
        (Way::BuyOriginal, Actor::Stranger | Actor::Member | Actor::Friend) => masks.may(TRANSFER),
        (Way::BuyCopy, Actor::Stranger | Actor::Member | Actor::Friend) => is_free,
        _ => false,
    };
    let untouched = Places { in_region: vec![("Ada", masks)], ..Places::default() };
    if !is_done {
        return untouched;
    }
    let theirs = if actor == Actor::Owner { masks } else { masks.for_next_owner() };
    let item = vec![(actor.name(), theirs.as_item())];
    match way {
        Way::BuyOriginal => Places { in_region: vec![(actor.name(), theirs)], ..untouched },
        Way::Take => Places { in_region: Vec::new(), owned: item, ..untouched },
        _ => Places { owned: item, ..untouched },
    }
}
