//! Edits of the estate: settings and lists.

use super::orders::LandAuthor;
use super::parcel_edits::need_bounded;
use super::part::Land;
use super::rules::LandDeed;
use ids::{AgentId, Uuid};
use link::{
    Estate, EstateEdit, EstateList, LandRefusal, Parcel, ParcelNumber, SPAWN_POINTS_MAX, Telehub, TelehubEdit,
};

impl Land {
    /// Edits the estate.
    ///
    /// # Errors
    /// [`LandRefusal`]; nothing has changed then.
    pub(super) fn change_estate(&mut self, author: LandAuthor, edit: EstateEdit) -> Result<(), LandRefusal> {
        let deed = match edit {
            EstateEdit::Owner(_) => LandDeed::ForceOwner,
            EstateEdit::List { list: EstateList::Managers, .. } => LandDeed::AppointManagers,
            _ => LandDeed::SetEstate,
        };
        self.need_estate_right(author, deed)?;
        let mut estate = self.estate().clone();
        match edit {
            EstateEdit::Name(name) => estate.name = name,
            EstateEdit::Owner(owner) => estate.owner = owner,
            EstateEdit::Region(options) => estate.region = options,
            EstateEdit::Levels(levels) => estate.levels = levels,
            EstateEdit::Sun(sun) => estate.sun = sun,
            EstateEdit::Textures(textures) => estate.textures = textures,
            EstateEdit::Covenant(covenant) => {
                (estate.covenant, estate.covenant_s) = (covenant, self.now_s());
            }
            EstateEdit::Environment(environment) => {
                need_bounded(environment.as_ref())?;
                estate.environment = environment;
            }
            EstateEdit::List { list, id, is_added } => edit_list(&mut estate, list, id, is_added)?,
            EstateEdit::Telehub(edit) => edit_telehub(&mut estate.telehub, edit)?,
        }
        let estate = estate.bounded().filter(Estate::is_sound).ok_or(LandRefusal::Malformed)?;
        self.edit_estate(estate);
        Ok(())
    }

    /// Checks that the author has a right that depends on no parcel.
    pub(super) fn need_estate_right(&self, author: LandAuthor, deed: LandDeed) -> Result<(), LandRefusal> {
        let public = Parcel::new(ParcelNumber::default(), Uuid::nil(), None, 0);
        if self.permits(author, deed, &public) { Ok(()) } else { Err(LandRefusal::NotPermitted) }
    }
}

fn edit_telehub(telehub: &mut Option<Telehub>, edit: TelehubEdit) -> Result<(), LandRefusal> {
    match (edit, telehub) {
        (TelehubEdit::Connect(new), telehub) => *telehub = Some(*new),
        (TelehubEdit::Disconnect, telehub) => *telehub = None,
        (TelehubEdit::AddPoint(_) | TelehubEdit::RemovePoint(_), None) => return Err(LandRefusal::Malformed),
        (TelehubEdit::AddPoint(place), Some(telehub)) => {
            if telehub.spawn_points.len() >= SPAWN_POINTS_MAX {
                return Err(LandRefusal::ListFull);
            }
            let point = telehub.beside(place);
            telehub.spawn_points.push(point);
        }
        (TelehubEdit::RemovePoint(number), Some(telehub)) => {
            let number = usize::from(number);
            if number >= telehub.spawn_points.len() {
                return Err(LandRefusal::Malformed);
            }
            telehub.spawn_points.remove(number);
        }
    }
    Ok(())
}

/// Adds an entry to a list, or removes it. A user is on one of the lists for access only.
fn edit_list(estate: &mut Estate, list: EstateList, id: Uuid, is_added: bool) -> Result<(), LandRefusal> {
    let agent = AgentId(id);
    if id.is_nil() {
        return Err(LandRefusal::Malformed);
    }
    if is_added && list == EstateList::Banned && estate.is_managed_by(agent) {
        return Err(LandRefusal::Protected);
    }
    match list {
        EstateList::Managers => put(&mut estate.managers, list, agent, is_added)?,
        EstateList::Allowed => put(&mut estate.allowed, list, agent, is_added)?,
        EstateList::Banned => put(&mut estate.banned, list, agent, is_added)?,
        EstateList::Groups => put(&mut estate.groups, list, id, is_added)?,
    }
    if is_added && matches!(list, EstateList::Managers | EstateList::Allowed) {
        put(&mut estate.banned, EstateList::Banned, agent, false)?;
    }
    if is_added && list == EstateList::Banned {
        put(&mut estate.allowed, EstateList::Allowed, agent, false)?;
    }
    Ok(())
}

/// Adds to a sorted list, or removes from it.
fn put<T: Ord>(entries: &mut Vec<T>, list: EstateList, entry: T, is_added: bool) -> Result<(), LandRefusal> {
    match (entries.binary_search(&entry), is_added) {
        (Ok(index), false) => drop(entries.remove(index)),
        (Err(_), true) if entries.len() >= list.len_max() => return Err(LandRefusal::ListFull),
        (Err(index), true) => entries.insert(index, entry),
        (Ok(_), true) | (Err(_), false) => {}
    }
    Ok(())
}
