//! Edits of parcels: settings, lists, owners, borders.

use super::ground_edits::GroundBudget;
use super::orders::LandAuthor;
use super::parcels::SquareRect;
use super::part::{Land, ObjectReturn};
use super::rules::LandDeed;
use ids::{AgentId, Uuid};
use link::{
    ACCESS_MAX, AccessEntry, AccessList, ENVIRONMENT_MAX, Environment, LandRect, LandRefusal, LandSale,
    LandingKind, Parcel, ParcelEdit, ParcelFlags, ParcelNumber, ParcelSettings, RegionFlags, ReturnKinds,
    SQUARE_M,
};

/// Owners in one order to return objects, as many as a message has.
const OWNERS_MAX: usize = 255;

impl Land {
    /// Edits a parcel.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing has changed then.
    pub(super) fn edit_one_parcel(
        &mut self,
        author: LandAuthor,
        number: ParcelNumber,
        edit: ParcelEdit,
    ) -> Result<(), LandRefusal> {
        match edit {
            ParcelEdit::Settings(settings) => self.set_parcel(author, number, *settings),
            ParcelEdit::Access { list, is_first, entries } => {
                self.set_access(author, number, list, is_first, entries)
            }
            ParcelEdit::AutoReturn { minutes } => {
                self.need_right(author, LandDeed::SetParcel, number)?;
                let minutes = minutes.min(Parcel::AUTO_RETURN_MAX_MIN);
                self.edit_parcel(number, |parcel| parcel.auto_return_min = minutes);
                Ok(())
            }
            ParcelEdit::Environment(environment) => {
                self.need_right(author, LandDeed::SetParcel, number)?;
                need_bounded(environment.as_ref())?;
                self.edit_parcel(number, |parcel| parcel.environment = environment);
                Ok(())
            }
            ParcelEdit::Release => self.give_to_estate(author, LandDeed::Release, number),
            ParcelEdit::Reclaim => self.give_to_estate(author, LandDeed::Reclaim, number),
            ParcelEdit::Buy { price, area_m2 } => self.sell(author, number, price, area_m2),
            ParcelEdit::ForceOwner(owner) => {
                self.need_right(author, LandDeed::ForceOwner, number)?;
                if owner == Some(AgentId(Uuid::nil())) {
                    return Err(LandRefusal::Malformed);
                }
                self.change_owner(number, owner);
                Ok(())
            }
            ParcelEdit::ReturnObjects { kinds, owners } => self.return_objects(author, number, kinds, owners),
        }
    }

    /// Makes a part of a parcel another one.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing has changed then.
    pub(super) fn divide(
        &mut self,
        author: LandAuthor,
        area: &LandRect,
        id: Uuid,
        budget: &mut GroundBudget,
    ) -> Result<(), LandRefusal> {
        let rect = self.squares_to_scan(area, budget)?;
        let number = self.parcels.only_parcel_of(rect)?.number;
        self.need_right(author, LandDeed::DivideAndJoin, number)?;
        self.parcels.divide(number, rect, id)?;
        self.has_new_restrictions = true;
        Ok(())
    }

    /// Joins all parcels of an area to the largest of them. Of equal ones that with the lowest number counts as the largest.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing has changed then.
    pub(super) fn join(
        &mut self,
        author: LandAuthor,
        area: &LandRect,
        budget: &mut GroundBudget,
    ) -> Result<(), LandRefusal> {
        let mut others = self.parcels.parcels_of(self.squares_to_scan(area, budget)?);
        let known = others.iter().filter_map(|&number| self.parcels.get(number));
        let largest = known.max_by_key(|parcel| (parcel.n_squares, std::cmp::Reverse(parcel.number)));
        let Parcel { number, owner, .. } = *largest.ok_or(LandRefusal::NoArea)?;
        others.remove(&number);
        if others.is_empty() {
            return Err(LandRefusal::OneParcel);
        }
        self.need_right(author, LandDeed::DivideAndJoin, number)?;
        let is_of_owner =
            |other: &ParcelNumber| self.parcels.get(*other).is_some_and(|other| other.owner == owner);
        if !others.iter().all(is_of_owner) {
            return Err(LandRefusal::SeveralOwners);
        }
        self.parcels.join(number, &others);
        self.has_new_restrictions = true;
        Ok(())
    }

    /// The parcel, if the author may do it there.
    fn need_right(
        &self,
        author: LandAuthor,
        deed: LandDeed,
        number: ParcelNumber,
    ) -> Result<&Parcel, LandRefusal> {
        let parcel = self.parcels.get(number).ok_or(LandRefusal::UnknownParcel)?;
        if self.permits(author, deed, parcel) { Ok(parcel) } else { Err(LandRefusal::NotPermitted) }
    }

    fn set_parcel(
        &mut self,
        author: LandAuthor,
        number: ParcelNumber,
        settings: ParcelSettings,
    ) -> Result<(), LandRefusal> {
        let parcel = self.need_right(author, LandDeed::SetParcel, number)?;
        let mut settings = settings.bounded(self.size_m()).ok_or(LandRefusal::Malformed)?;
        let landing = settings.landing;
        let is_elsewhere = landing.kind == LandingKind::Point
            && landing.at != glam::Vec3::ZERO
            && self.parcels.parcel_of_point(landing.at.x, landing.at.y) != Some(number);
        if is_elsewhere {
            return Err(LandRefusal::LandingElsewhere);
        }
        let offers = |settings: &ParcelSettings| settings.flags.any(ParcelFlags::FOR_SALE);
        let is_new_offer =
            offers(&settings) && (!offers(&parcel.settings) || settings.sale != parcel.settings.sale);
        if is_new_offer && !self.permits(author, LandDeed::Sell, parcel) {
            return Err(LandRefusal::ResaleBlocked);
        }
        let lists = ParcelFlags::USE_ACCESS_LIST.union(ParcelFlags::USE_BAN_LIST);
        if !self.estate().region.flags.any(RegionFlags::ALLOW_PARCEL_ACCESS) {
            let former = ParcelFlags(parcel.settings.flags.0 & lists.0);
            settings.flags = settings.flags.without(lists).union(former);
        }
        self.edit_parcel(number, |parcel| parcel.settings = settings);
        Ok(())
    }

    fn set_access(
        &mut self,
        author: LandAuthor,
        number: ParcelNumber,
        list: AccessList,
        is_first: bool,
        entries: Vec<AccessEntry>,
    ) -> Result<(), LandRefusal> {
        let parcel = self.need_right(author, LandDeed::SetParcel, number)?;
        if !self.estate().region.flags.any(RegionFlags::ALLOW_PARCEL_ACCESS) {
            return Err(LandRefusal::AccessBlocked);
        }
        let (former, flag) = match list {
            AccessList::Allowed => (&parcel.allowed, ParcelFlags::USE_ACCESS_LIST),
            AccessList::Banned => (&parcel.banned, ParcelFlags::USE_BAN_LIST),
        };
        let now_s = self.now_s();
        let mut listed: Vec<AccessEntry> = if is_first { Vec::new() } else { former.to_vec() };
        listed.retain(|entry| entry.holds_at(now_s));
        for entry in entries {
            // Clients send a null entry for an empty list.
            if entry.agent.0.is_nil() || parcel.is_of(entry.agent) || !entry.holds_at(now_s) {
                continue;
            }
            match listed.binary_search_by_key(&entry.agent, |listed| listed.agent) {
                Ok(index) => listed[index] = entry,
                Err(_) if listed.len() >= ACCESS_MAX => return Err(LandRefusal::ListFull),
                Err(index) => listed.insert(index, entry),
            }
        }
        self.edit_parcel(number, |parcel| {
            let flags = parcel.settings.flags.without(flag);
            parcel.settings.flags = if listed.is_empty() { flags } else { flags.union(flag) };
            match list {
                AccessList::Allowed => parcel.allowed = listed.into(),
                AccessList::Banned => parcel.banned = listed.into(),
            }
        });
        Ok(())
    }

    fn give_to_estate(
        &mut self,
        author: LandAuthor,
        deed: LandDeed,
        number: ParcelNumber,
    ) -> Result<(), LandRefusal> {
        self.need_right(author, deed, number)?;
        self.change_owner(number, self.estate().owner);
        Ok(())
    }

    fn sell(
        &mut self,
        author: LandAuthor,
        number: ParcelNumber,
        price: u32,
        area_m2: u32,
    ) -> Result<(), LandRefusal> {
        let parcel = self.parcels.get(number).ok_or(LandRefusal::UnknownParcel)?;
        let LandSale { price: asked, buyer } = parcel.settings.sale;
        let agent = author.agent.ok_or(LandRefusal::NotForSale)?;
        let is_offered = parcel.settings.flags.any(ParcelFlags::FOR_SALE)
            && (buyer.is_nil() || buyer == agent.0)
            && !parcel.is_of(agent);
        if !is_offered {
            return Err(LandRefusal::NotForSale);
        }
        if (price, area_m2) != (asked, parcel.area_m2()) {
            return Err(LandRefusal::OfferChanged);
        }
        if price > 0 {
            return Err(LandRefusal::NoCurrency);
        }
        self.change_owner(number, Some(agent));
        Ok(())
    }

    /// Gives a parcel another owner, who begins without the group and the offer of the former one.
    fn change_owner(&mut self, number: ParcelNumber, owner: Option<AgentId>) {
        let now_s = self.now_s();
        self.edit_parcel(number, |parcel| {
            (parcel.owner, parcel.claimed_s) = (owner, now_s);
            parcel.settings.group = Uuid::nil();
            parcel.settings.sale = LandSale::default();
            parcel.settings.flags = parcel.settings.flags.without(ParcelFlags::OF_SALE);
        });
    }

    fn return_objects(
        &mut self,
        author: LandAuthor,
        number: ParcelNumber,
        kinds: ReturnKinds,
        owners: Vec<AgentId>,
    ) -> Result<(), LandRefusal> {
        let parcel = self.parcels.get(number).ok_or(LandRefusal::UnknownParcel)?;
        if owners.len() > OWNERS_MAX {
            return Err(LandRefusal::Malformed);
        }
        // All users may take back their own objects.
        let are_own = kinds == ReturnKinds::LISTED && owners.iter().all(|&owner| Some(owner) == author.agent);
        if !are_own && !self.permits(author, LandDeed::ReturnObjects, parcel) {
            return Err(LandRefusal::NotPermitted);
        }
        if self.returns.len() >= self.returns_max {
            return Err(LandRefusal::Busy);
        }
        self.returns.push(ObjectReturn { by: author.agent, parcel: number, kinds, owners });
        Ok(())
    }

    /// The squares of an area, whose parcels the tick still has time to look at.
    fn squares_to_scan(&self, area: &LandRect, budget: &mut GroundBudget) -> Result<SquareRect, LandRefusal> {
        budget.need()?;
        let rect = self.squares_of_area(area)?;
        budget.charge(u64::from(rect.east - rect.west) * u64::from(rect.north - rect.south));
        Ok(rect)
    }

    /// The squares of an area in metres, whose borders are rounded to squares.
    fn squares_of_area(&self, area: &LandRect) -> Result<SquareRect, LandRefusal> {
        let side = self.parcels.side();
        let border = |metres: f32| {
            let square = (metres / SQUARE_M as f32).round();
            // False for a NaN.
            (square >= 0.0 && square <= f32::from(side)).then_some(square as u16).ok_or(LandRefusal::NoArea)
        };
        let LandRect { west, south, east, north } = *area;
        let rect = SquareRect {
            west: border(west)?,
            south: border(south)?,
            east: border(east)?,
            north: border(north)?,
        };
        if rect.west < rect.east && rect.south < rect.north { Ok(rect) } else { Err(LandRefusal::NoArea) }
    }
}

/// Refuses an environment that is too long.
pub(super) fn need_bounded(environment: Option<&Environment>) -> Result<(), LandRefusal> {
    let is_bounded = environment.is_none_or(|environment| environment.bytes.len() <= ENVIRONMENT_MAX);
    if is_bounded { Ok(()) } else { Err(LandRefusal::Malformed) }
}
