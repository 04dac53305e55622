//! Questions about parcels, answered from the replicas.

use super::number_of;
use crate::coverage::{Feature, MessageOutcome};
use crate::land::{ParcelProperties, RequestResult, Selection, bare_parcel, missing_parcel, prims_by_owner};
use crate::mail::{Request, pages};
use crate::places::Place;
use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use glam::{Vec2, Vec3};
use grid::inventory::LIBRARY_OWNER;
use ids::{AgentId, Uuid};
use link::{AccessEntry, LandingKind, Parcel, ParcelFlags, ParcelNumber, ReturnKinds, SQUARE_M};
use replicate::Replica;
use replicate::objects::ObjectEntry;
use std::collections::BTreeSet;
use std::sync::Arc;
use wire::llsd::Llsd;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, to_wire};

/// Rows of ParcelAccessListReply in one datagram: 24 bytes each.
const ACCESS_PER_REPLY: usize = 45;
/// Rows of ParcelObjectOwnersReply in one datagram: 22 bytes each.
const OWNERS_PER_REPLY: usize = 50;
/// Objects of ForceObjectSelect in one datagram, and of one request.
const SELECTED_PER_MESSAGE: usize = 250;
const SELECTED_MAX: usize = 1_000;
/// Number of requests that a selection counts as: it looks at all objects of the region.
const SELECTION_COST: f32 = 40.0;
/// Flags of a list of banned users.
const BANNED: u32 = 1 << 1;

impl Shard {
    pub(in crate::shard) fn on_parcel_properties(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelPropertiesRequest,
    ) -> Handled {
        let asked = m.parcel_data;
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let Some(land) = replica.land() else {
            return self.request(at, Request::ParcelProperties { sequence_id: asked.sequence_id });
        };
        self.spend_ask(at)?;
        let found = land.parcel_at(Vec2::new(asked.west, asked.south));
        let Some(known) = found else {
            let missing = missing_parcel(&place, &replica, asked.sequence_id);
            return Ok(self.push_answer(at, missing));
        };
        // The eastern and northern borders of an area belong to the squares beyond.
        let inner = |border: f32, first: f32| (border - 0.1).max(first);
        let corners = [(asked.east, asked.south), (asked.west, asked.north), (asked.east, asked.north)];
        let is_other = |(x, y): (f32, f32)| {
            let at = Vec2::new(inner(x, asked.west), inner(y, asked.south));
            land.parcel_at(at).is_some_and(|other| other.parcel.number != known.parcel.number)
        };
        let selection = Selection {
            sequence_id: asked.sequence_id,
            is_snapped: asked.snap_selection,
            result: if corners.into_iter().any(is_other) {
                RequestResult::Several
            } else {
                RequestResult::One
            },
        };
        let properties = ParcelProperties::new(&place, &replica, &known.parcel, selection);
        Ok(self.push_answer(at, properties.to_llsd()))
    }

    pub(in crate::shard) fn on_parcel_properties_by_id(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelPropertiesRequestByID,
    ) -> Handled {
        let sequence_id = m.parcel_data.sequence_id;
        let place = Arc::clone(&self.client(at.index).place);
        if place.scene.feed.current().land().is_none() {
            return self.request(at, Request::ParcelProperties { sequence_id });
        }
        self.spend_ask(at)?;
        // No parcel has the number 0.
        let number = number_of(m.parcel_data.local_id).unwrap_or_default();
        Ok(self.push_answer(at, super::properties_of(&place, number, sequence_id)))
    }

    /// Takes one of the client's requests, before its answer is looked up.
    fn spend_ask(&mut self, at: &Incoming<'_>) -> Result<(), Refused> {
        self.client(at.index).asks.try_spend(at.now).then_some(()).ok_or(Refused::Flood)
    }

    /// Puts an answer into the client's queue.
    fn push_answer(&mut self, at: &Incoming<'_>, body: Llsd) -> MessageOutcome {
        self.push_properties(at.index, body);
        MessageOutcome::Done
    }

    pub(in crate::shard) fn on_parcel_dwell(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelDwellRequest,
    ) -> Handled {
        let place = Arc::clone(&self.client(at.index).place);
        let agent_data = ParcelDwellReplyAgentData { agent_id: self.client(at.index).ticket.agent.0 };
        let replica = place.scene.feed.current();
        let (local_id, parcel_id) = if replica.land().is_some() {
            let known = self.parcel_of(at, m.data.local_id);
            (m.data.local_id, known.map_or(Uuid::nil(), |known| known.parcel.id))
        } else {
            (i32::from(bare_parcel(&place).number.0), place.parcel_id)
        };
        self.answer(
            at,
            ParcelDwellReply { agent_data, data: ParcelDwellReplyData { local_id, parcel_id, dwell: 0.0 } },
        )
    }

    /// The lists of a parcel are for its owner and the estate; other users get an empty one.
    pub(in crate::shard) fn on_parcel_access_list(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelAccessListRequest,
    ) -> Handled {
        let asked = m.data;
        let agent_id = self.client(at.index).ticket.agent.0;
        let known = self.parcel_of(at, asked.local_id);
        let may_see = self.seems_to_manage(at, known.as_ref());
        let list: Arc<[AccessEntry]> = match known.filter(|_| may_see) {
            Some(known) if asked.flags == BANNED => Arc::clone(&known.parcel.banned),
            Some(known) => Arc::clone(&known.parcel.allowed),
            None => Arc::default(),
        };
        let row = |entry: &AccessEntry| ParcelAccessListReplyList {
            id: entry.agent.0,
            time: i32::try_from(entry.expires_s).unwrap_or(i32::MAX),
            flags: asked.flags,
        };
        for page in pages(&list, ACCESS_PER_REPLY) {
            let data = ParcelAccessListReplyData {
                agent_id,
                sequence_id: asked.sequence_id,
                flags: asked.flags,
                local_id: asked.local_id,
            };
            self.reply(at, ParcelAccessListReply { data, list: page.iter().map(row).collect() });
        }
        Ok(MessageOutcome::Done)
    }

    pub(in crate::shard) fn on_parcel_info(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelInfoRequest,
    ) -> Handled {
        // All parcels of the node are looked at.
        self.spend_ask(at)?;
        let parcel_id = m.data.parcel_id;
        let here = Arc::clone(&self.client(at.index).place);
        let others = self.places.iter().filter(|place| place.id != here.id);
        let data = std::iter::once(&here).chain(others).find_map(|place| parcel_info(place, parcel_id));
        let Some(data) = data else { return Ok(self.refuse_feature(at, Feature::UnknownParcel)) };
        let agent_data = ParcelInfoReplyAgentData { agent_id: self.client(at.index).ticket.agent.0 };
        self.answer(at, ParcelInfoReply { agent_data, data })
    }

    pub(in crate::shard) fn on_parcel_object_owners(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelObjectOwnersRequest,
    ) -> Handled {
        self.spend_ask(at)?;
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let owners: Vec<(AgentId, u32)> = if replica.land().is_some() {
            let number = number_of(m.parcel_data.local_id).unwrap_or_default();
            prims_by_owner(&place, &replica, number).into_iter().collect()
        } else {
            // All static objects belong to the grid's operator.
            let n = place.ground().n_objects();
            if n == 0 { Vec::new() } else { vec![(AgentId(LIBRARY_OWNER), n)] }
        };
        let row = |(owner, n_prims): &(AgentId, u32)| ParcelObjectOwnersReplyData {
            owner_id: owner.0,
            is_group_owned: false,
            count: n_prims.cast_signed(),
            online_status: replica.of_agent(*owner).is_some(),
        };
        for page in pages(&owners, OWNERS_PER_REPLY) {
            self.reply(at, ParcelObjectOwnersReply { data: page.iter().map(row).collect() });
        }
        Ok(MessageOutcome::Done)
    }

    /// Marks objects of a parcel in the client. Looks at all objects of the region, within the client's share of requests.
    pub(in crate::shard) fn on_parcel_select_objects(
        &mut self,
        at: &mut Incoming<'_>,
        m: ParcelSelectObjects,
    ) -> Handled {
        let Some(known) = self.parcel_of(at, m.parcel_data.local_id) else {
            return Ok(self.refuse_feature(at, Feature::UnknownParcel));
        };
        if !self.client(at.index).asks.try_spend_many(at.now, SELECTION_COST) {
            return Err(Refused::Flood.into());
        }
        let kinds = ReturnKinds(m.parcel_data.return_type);
        let listed: BTreeSet<Uuid> = m.return_ids.iter().map(|row| row.return_id).collect();
        let place = Arc::clone(&self.client(at.index).place);
        let replica = place.scene.feed.current();
        let is_on_parcel = |entry: &ObjectEntry| {
            let here = replica.land().and_then(|land| land.parcel_at(entry.position.truncate()));
            here.is_some_and(|here| here.parcel.number == known.parcel.number)
        };
        let roots = replica.objects().entries().filter(|(_, entry)| entry.prim.parent.0 == 0);
        let of_kinds = roots.filter(|(_, entry)| is_of_kinds(entry, &known.parcel, kinds, &listed));
        let chosen = of_kinds.filter(|(_, entry)| is_on_parcel(entry)).take(SELECTED_MAX);
        let chosen: Vec<ForceObjectSelectData> =
            chosen.map(|(id, _)| ForceObjectSelectData { local_id: id.0 }).collect();
        for (n, page) in pages(&chosen, SELECTED_PER_MESSAGE).enumerate() {
            let header = ForceObjectSelectHeader { reset_list: n == 0 };
            self.reply(at, ForceObjectSelect { header, data: page.to_vec() });
        }
        Ok(MessageOutcome::Done)
    }
}

/// True if an object is of any of these kinds on a parcel.
fn is_of_kinds(entry: &ObjectEntry, parcel: &Parcel, kinds: ReturnKinds, listed: &BTreeSet<Uuid>) -> bool {
    let ownership = &entry.body.ownership;
    let is_owners = parcel.is_of(ownership.owner);
    let group = parcel.settings.group;
    let is_groups = !is_owners && !group.is_nil() && ownership.group == group;
    kinds.any(ReturnKinds::OWNER) && is_owners
        || kinds.any(ReturnKinds::GROUP) && is_groups
        || kinds.any(ReturnKinds::OTHER) && !is_owners && !is_groups
        || kinds.any(ReturnKinds::LISTED) && listed.contains(&ownership.owner.0)
}

/// What search results and landmarks show of the parcel with an id, if the place has it.
fn parcel_info(place: &Place, id: Uuid) -> Option<ParcelInfoReplyData> {
    let replica = place.scene.feed.current();
    let (parcel, at) = match replica.land() {
        Some(land) => {
            let known = land.parcel_of_id(id)?;
            (Parcel::clone(&known.parcel), middle_of(&replica, known.parcel.number))
        }
        None if place.parcel_id == id => {
            let middle_m = place.ground().size_m as f32 / 2.0;
            (bare_parcel(place), Vec2::splat(middle_m))
        }
        None => return None,
    };
    let settings = &parcel.settings;
    let is_landing = replica.land().is_some() && settings.landing.kind == LandingKind::Point;
    let edited_m = replica.land().and_then(|land| land.edited_height(at));
    let ground_m = edited_m.unwrap_or_else(|| place.ground().terrain.height(at.x, at.y));
    let at = if is_landing && settings.landing.at != Vec3::ZERO {
        settings.landing.at
    } else {
        at.extend(ground_m)
    };
    let area = i32::try_from(parcel.area_m2()).unwrap_or(i32::MAX);
    let for_sale = settings.flags.any(ParcelFlags::FOR_SALE);
    Some(ParcelInfoReplyData {
        parcel_id: id,
        owner_id: parcel.owner.map_or(Uuid::nil(), |owner| owner.0),
        name: to_wire(&settings.name, VARIABLE1_MAX),
        desc: to_wire(&settings.description, VARIABLE1_MAX),
        actual_area: area,
        billable_area: area,
        global_x: place.handle.x_m() as f32 + at.x,
        global_y: place.handle.y_m() as f32 + at.y,
        global_z: at.z,
        sim_name: to_wire(place.name(), VARIABLE1_MAX),
        snapshot_id: settings.snapshot,
        sale_price: if for_sale { settings.sale.price.cast_signed() } else { 0 },
        ..ParcelInfoReplyData::default()
    })
}

/// The middle of a square of a parcel, half of whose squares come before it.
fn middle_of(replica: &Replica, number: ParcelNumber) -> Vec2 {
    let Some(land) = replica.land() else { return Vec2::ZERO };
    let side = usize::from(land.side()).max(1);
    let n_squares = land.parcel(number).map_or(0, |known| known.parcel.n_squares as usize);
    let mut own = land.squares().iter().enumerate().filter(|(_, square)| **square == number);
    let index = own.nth(n_squares / 2).map_or(0, |(index, _)| index);
    (Vec2::new((index % side) as f32, (index / side) as f32) + 0.5) * SQUARE_M as f32
}
