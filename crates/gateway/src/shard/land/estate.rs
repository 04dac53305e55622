//! The window of the region and its estate: methods of EstateOwnerMessage, the covenant, and the operator's form.
//!
//! The world judges who may change the estate. Messages of the estate to its visitors are judged here, since the world has no part in them: the sender
//! manages the estate.

use crate::coverage::{Feature, MessageOutcome};
use crate::land::{ESTATE_NAME, EstateForm, EstateReader, RegionFacts, RegionForm, is_yes, telehub_info};
use crate::mail::Request;
use crate::shard::Shard;
use crate::shard::counters::Refused;
use crate::shard::incoming::{Handled, Incoming};
use ids::{AgentId, LocalId, Uuid};
use link::{
    Audience, Estate, EstateEdit, EstateList, GroundEdit, GroundTextures, LandEdit, LandRefusal, RegionFlags,
    RegionOptions, Sun, Telehub, TelehubEdit, WaterAndLimits,
};
use std::sync::Arc;
use std::time::Duration;
use wire::messages::*;
use wire::text::{VARIABLE1_MAX, from_wire, to_wire};

/// Bits of a change of lists, in pairs of adding and removing.
const LISTS: [(u32, EstateList); 4] = [
    (1 << 2, EstateList::Allowed),
    (1 << 4, EstateList::Groups),
    (1 << 6, EstateList::Banned),
    (1 << 8, EstateList::Managers),
];
/// No lists are to be sent behind the change.
const NO_REPLY: u32 = 1 << 10;
/// Users of one change of lists.
const LISTED_MAX: usize = 64;
/// Longest time until a restart that is ordered: a day.
const RESTART_DELAY_MAX_S: f32 = 86_400.0;
/// Bits of the region that the operator's form changes; the others are not known here.
const GOD_FLAGS: u32 = RegionFlags::ALLOW_DAMAGE.0
    | RegionFlags::ALLOW_LANDMARK.0
    | RegionFlags::ALLOW_SET_HOME.0
    | RegionFlags::BLOCK_TERRAFORM.0
    | RegionFlags::BLOCK_LAND_RESELL.0
    | RegionFlags::PUBLIC.0
    | RegionFlags::BLOCK_FLY.0
    | RegionFlags::ALLOW_DIRECT_TELEPORT.0
    | RegionFlags::RESTRICT_PUSH.0
    | RegionFlags::ALLOW_PARCEL_CHANGES.0;

impl Shard {
    pub(in crate::shard) fn on_covenant(
        &mut self,
        at: &mut Incoming<'_>,
        _: EstateCovenantRequest,
    ) -> Handled {
        let estate = self.estate_of(at);
        let data = EstateCovenantReplyData {
            covenant_id: estate.as_ref().map_or(Uuid::nil(), |estate| estate.covenant),
            covenant_timestamp: estate
                .as_ref()
                .map_or(0, |estate| u32::try_from(estate.covenant_s).unwrap_or(u32::MAX)),
            estate_name: to_wire(estate.as_ref().map_or(ESTATE_NAME, |estate| &*estate.name), VARIABLE1_MAX),
            estate_owner_id: estate
                .as_ref()
                .and_then(|estate| estate.owner)
                .map_or(Uuid::nil(), |owner| owner.0),
        };
        self.answer(at, EstateCovenantReply { data })
    }

    pub(in crate::shard) fn on_estate(&mut self, at: &mut Incoming<'_>, m: EstateOwnerMessage) -> Handled {
        let method = from_wire(&m.method_data.method);
        if method == "getinfo" {
            return self.send_estate(at, &m);
        }
        let Some(estate) = self.estate_of(at) else { return Ok(self.refuse_feature(at, Feature::Estate)) };
        let params: Vec<String> = m.param_list.iter().map(|row| from_wire(&row.parameter)).collect();
        if method == "telehub" {
            return self.on_telehub(at, &estate, &params);
        }
        self.client(at.index).land.note_invoice(m.method_data.invoice);
        match method.as_str() {
            "setregioninfo" => {
                let form = RegionForm::of_params(&params).ok_or(Refused::BadValue)?;
                self.edit_estate(at, EstateEdit::Region(form.over(estate.region)))
            }
            "setregionterrain" => {
                let (levels, sun) = terrain(&params, &estate).ok_or(Refused::BadValue)?;
                self.edit_estate(at, EstateEdit::Levels(levels))?;
                self.edit_estate(at, EstateEdit::Sun(sun))
            }
            // Parameters "CORNER ID" and "CORNER LOW HIGH".
            "texturedetail" => self.collect_textures(at, &estate, &params, texture),
            "textureheights" => self.collect_textures(at, &estate, &params, heights),
            "texturecommit" => match self.client(at.index).land.take_textures() {
                Some(textures) => self.edit_estate(at, EstateEdit::Textures(textures)),
                None => Ok(MessageOutcome::Ignored),
            },
            "estatechangeinfo" => {
                let form = EstateForm::of_params(&params).ok_or(Refused::BadValue)?;
                let mut outcome = MessageOutcome::Ignored;
                for edit in form.edits(estate.region) {
                    outcome = self.edit_estate(at, edit)?;
                }
                Ok(outcome)
            }
            "estatechangecovenantid" => {
                let covenant =
                    params.first().and_then(|id| Uuid::parse_str(id).ok()).ok_or(Refused::BadValue)?;
                self.edit_estate(at, EstateEdit::Covenant(covenant))
            }
            "estateaccessdelta" => self.change_lists(at, &params),
            "terrain" if params.first().is_some_and(|what| what == "bake") => {
                self.edit_land(at, LandEdit::Ground(GroundEdit::Bake))
            }
            // Sender, unused, sender's id, sender's name, text; and sender's name, text.
            "simulatormessage" => self.alert_visitors(at, &estate, params.get(4)),
            "instantmessage" => self.alert_visitors(at, &estate, params.last()),
            "kickestate" => self.send_away(at, &estate, params.first().into_iter(), false),
            "teleporthomeuser" => self.send_away(at, &estate, params.get(1).into_iter(), true),
            "teleporthomeallusers" => {
                let replica = self.client(at.index).place.scene.feed.current();
                let visitors: Vec<String> =
                    replica.entities().map(|(.., slot)| slot.agent.0.to_string()).collect();
                self.send_away(at, &estate, visitors.iter(), true)
            }
            "restart" => self.order_restart(at, &estate, params.first()),
            // The map is drawn when the ground has settled.
            "refreshmapvisibility" => Ok(MessageOutcome::Ignored),
            _ => Ok(self.refuse_feature(at, Feature::Estate)),
        }
    }

    /// Shows and changes the telehub. Objects are named by their local ids.
    fn on_telehub(&mut self, at: &mut Incoming<'_>, estate: &Estate, params: &[String]) -> Handled {
        let (deed, number) = (params.first().map(String::as_str), params.get(1).map(|text| text.trim()));
        let object = number.and_then(|text| text.parse().ok()).map(LocalId);
        let edit = match deed {
            Some("info ui") => {
                self.client(at.index).land.show_telehub();
                return self.answer(at, telehub_info(estate));
            }
            Some("delete") => TelehubEdit::Disconnect,
            Some("spawnpoint remove") => {
                let number = number.and_then(|text| text.parse().ok()).ok_or(Refused::BadValue)?;
                TelehubEdit::RemovePoint(number)
            }
            Some("connect" | "spawnpoint add") => {
                let marked = object.and_then(|object| self.hub_of(at, object));
                let Some(hub) = marked else { return Ok(self.refuse_feature(at, Feature::UnknownObject)) };
                if deed == Some("connect") {
                    TelehubEdit::Connect(Box::new(hub))
                } else {
                    TelehubEdit::AddPoint(hub.position)
                }
            }
            _ => return Err(Refused::BadValue.into()),
        };
        self.client(at.index).land.show_telehub();
        self.edit_estate(at, EstateEdit::Telehub(edit))
    }

    /// An object as a telehub without points of arrival.
    fn hub_of(&mut self, at: &Incoming<'_>, object: LocalId) -> Option<Telehub> {
        let replica = self.client(at.index).place.scene.feed.current();
        let entry = replica.objects().get(object)?;
        let place = replica.objects().motion_in_region(entry);
        Some(Telehub {
            object: entry.body.id,
            name: Arc::clone(&entry.body.names.name),
            position: place.position,
            rotation: place.rotation,
            spawn_points: Vec::new(),
        })
    }

    /// Settings of the region by an operator: flags only, since regions are named and placed by files.
    pub(in crate::shard) fn on_god_region_info(
        &mut self,
        at: &mut Incoming<'_>,
        m: GodUpdateRegionInfo,
    ) -> Handled {
        let Some(estate) = self.estate_of(at) else { return Ok(self.refuse_feature(at, Feature::Land)) };
        let kept = estate.region.flags.0 & !GOD_FLAGS;
        let flags = RegionFlags(m.region_info.region_flags & GOD_FLAGS | kept);
        self.edit_estate(at, EstateEdit::Region(RegionOptions { flags, ..estate.region }))
    }

    /// The estate of the client's region, if it is built on.
    pub(in crate::shard) fn estate_of(&mut self, at: &Incoming<'_>) -> Option<Arc<Estate>> {
        let replica = self.client(at.index).place.scene.feed.current();
        replica.land()?.estate().map(|(estate, _)| Arc::clone(estate))
    }

    fn edit_estate(&mut self, at: &mut Incoming<'_>, edit: EstateEdit) -> Handled {
        self.edit_land(at, LandEdit::Estate(edit))
    }

    /// Settings and lists of the estate, the content of the viewer's window. Lists are for those who manage it.
    fn send_estate(&mut self, at: &mut Incoming<'_>, m: &EstateOwnerMessage) -> Handled {
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        self.client(at.index).land.note_invoice(m.method_data.invoice);
        let client = self.client(at.index);
        let (ticket, place) = (Arc::clone(&client.ticket), Arc::clone(&client.place));
        let replica = place.scene.feed.current();
        let facts = RegionFacts::new(&place, &replica, ticket.agent);
        let reader = EstateReader {
            agent: ticket.agent,
            session_id: ticket.session_id.0,
            transaction: m.agent_data.transaction_id,
            invoice: m.method_data.invoice,
        };
        let estate = self.estate_of(at);
        let name = estate.as_ref().map_or(ESTATE_NAME, |estate| &*estate.name);
        self.reply(at, reader.info(name, estate.as_deref(), &facts));
        if let Some(estate) = estate.filter(|_| facts.is_manager) {
            for list in reader.lists(&estate) {
                self.reply(at, list);
            }
        }
        Ok(MessageOutcome::Done)
    }

    /// Textures come in several messages, and are set by the last one.
    fn collect_textures(
        &mut self,
        at: &mut Incoming<'_>,
        estate: &Estate,
        params: &[String],
        read: fn(&mut GroundTextures, &str) -> Option<()>,
    ) -> Handled {
        let land = &mut self.client(at.index).land;
        let mut textures = land.take_textures().unwrap_or(estate.textures);
        let is_read = params.iter().all(|param| read(&mut textures, param).is_some());
        if is_read {
            land.collect_textures(textures);
            Ok(MessageOutcome::Done)
        } else {
            Err(Refused::BadValue.into())
        }
    }

    /// The parameters are the estate or the sender, the change, and the users.
    fn change_lists(&mut self, at: &mut Incoming<'_>, params: &[String]) -> Handled {
        let [_, change, ids @ ..] = params else { return Err(Refused::BadValue.into()) };
        let change: u32 = change.parse().map_err(|_| Refused::BadValue)?;
        if change & NO_REPLY != 0 {
            self.client(at.index).land.note_invoice(Uuid::nil());
        }
        let mut bits = LISTS.into_iter().flat_map(|(bit, list)| [(bit, list, true), (bit << 1, list, false)]);
        let (_, list, is_added) = bits.find(|(bit, ..)| change & bit != 0).ok_or(Refused::BadValue)?;
        if ids.is_empty() || ids.len() > LISTED_MAX {
            return Err(Refused::BadValue.into());
        }
        let ids: Option<Vec<Uuid>> = ids.iter().map(|id| Uuid::parse_str(id).ok()).collect();
        let mut outcome = MessageOutcome::Ignored;
        for id in ids.ok_or(Refused::BadValue)? {
            outcome = self.edit_estate(at, EstateEdit::List { list, id, is_added })?;
        }
        Ok(outcome)
    }

    /// Sends visitors away, but for those who manage the estate.
    fn send_away<'a>(
        &mut self,
        at: &mut Incoming<'_>,
        estate: &Estate,
        ids: impl Iterator<Item = &'a String>,
        goes_home: bool,
    ) -> Handled {
        let client = self.client(at.index);
        let (agent, world) = (client.ticket.agent, client.place.world());
        if !estate.is_managed_by(agent) {
            return self.refuse_land(at, LandRefusal::NotPermitted);
        }
        let agents: Option<Vec<AgentId>> = ids.map(|id| Uuid::parse_str(id).ok().map(AgentId)).collect();
        let mut agents = agents.filter(|agents| !agents.is_empty()).ok_or(Refused::BadValue)?;
        agents.retain(|agent| !estate.is_managed_by(*agent));
        self.request(at, Request::SendAway { world, agents, goes_home })
    }

    /// Orders a restart of the region's world in a number of seconds; a number below 0 takes the order back.
    fn order_restart(&mut self, at: &mut Incoming<'_>, estate: &Estate, delay: Option<&String>) -> Handled {
        let client = self.client(at.index);
        let (agent, place) = (client.ticket.agent, Arc::clone(&client.place));
        if !place.scene.is_shared {
            return Ok(self.refuse_feature(at, Feature::Estate));
        }
        if !estate.is_managed_by(agent) {
            return self.refuse_land(at, LandRefusal::NotPermitted);
        }
        let seconds = delay.and_then(|text| text.trim().parse::<f32>().ok());
        let seconds = seconds.filter(|seconds| *seconds <= RESTART_DELAY_MAX_S).ok_or(Refused::BadValue)?;
        let delay = (seconds >= 0.0).then(|| Duration::from_secs_f32(seconds));
        self.request(at, Request::Restart { world: place.world(), delay })
    }

    /// Shows a text to all visitors of the region.
    fn alert_visitors(&mut self, at: &mut Incoming<'_>, estate: &Estate, text: Option<&String>) -> Handled {
        let ticket = Arc::clone(&self.client(at.index).ticket);
        if !estate.is_managed_by(ticket.agent) {
            return self.refuse_land(at, LandRefusal::NotPermitted);
        }
        if !self.client(at.index).says.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        let text = text.ok_or(Refused::BadValue)?;
        let text = format!("{} {}: {text}", ticket.first_name, ticket.last_name);
        let world = self.client(at.index).place.world();
        self.show_text(at.now, world, Audience::All, &text, at.out);
        Ok(MessageOutcome::Done)
    }
}

/// Water, limits and sun from the parameters of `setregionterrain`: water, limits of raising and lowering, and the sun of the region, which may be the estate's.
fn terrain(params: &[String], former: &Estate) -> Option<(WaterAndLimits, Sun)> {
    let [water, raise, lower, uses_estate_sun, is_fixed, hour, ..] = params else { return None };
    let number = |text: &str| text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
    // Limits are signed; lowering is below zero.
    let levels = WaterAndLimits {
        water_m: number(water)?,
        raise_m: number(raise)?.abs(),
        lower_m: number(lower)?.abs(),
    };
    let sun = Sun {
        is_fixed: is_yes(is_fixed),
        is_estates: is_yes(uses_estate_sun),
        hour: number(hour).unwrap_or(former.sun.hour),
    };
    Some((levels, sun))
}

/// "NUMBER ID", from the lowest texture (0) to the highest (3).
fn texture(textures: &mut GroundTextures, param: &str) -> Option<()> {
    let (number, id) = param.trim().split_once(' ')?;
    let place = textures.textures.get_mut(number.parse::<usize>().ok()?)?;
    *place = Uuid::parse_str(id.trim()).ok()?;
    Some(())
}

/// "CORNER LOW HIGH", with the corners south-west, north-west, south-east, north-east.
fn heights(textures: &mut GroundTextures, param: &str) -> Option<()> {
    let mut words = param.split_whitespace();
    let corner: usize = words.next()?.parse().ok()?;
    let number = |text: &str| text.parse::<f32>().ok().filter(|number| number.is_finite());
    let (low, high) = (number(words.next()?)?, number(words.next()?)?);
    *textures.low_m.get_mut(corner)? = low;
    *textures.high_m.get_mut(corner)? = high;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textures_and_heights_are_read_by_their_place() {
        let mut textures = GroundTextures::default();
        let id = Uuid::from_u128(9);
        assert_eq!(texture(&mut textures, &format!("2 {id}")), Some(()));
        assert_eq!(heights(&mut textures, "3 12.5 40"), Some(()));
        assert_eq!((textures.textures[2], textures.low_m[3], textures.high_m[3]), (id, 12.5, 40.0));
        for param in ["", "4 1 2", "0", "0 nan 3", "0 1"] {
            assert_eq!(heights(&mut textures, param), None, "{param}");
        }
        assert_eq!(texture(&mut textures, &format!("4 {id}")), None);
    }

    #[test]
    fn the_regions_terrain_is_read_with_its_sun() {
        let params: Vec<String> = ["20", "10.5", "-4", "N", "Y", "12", "Y"].map(str::to_owned).to_vec();
        let former = Estate::new("Hills", None, 5.0);
        let (levels, sun) = terrain(&params, &former).expect("whole");
        assert_eq!(levels, WaterAndLimits { water_m: 20.0, raise_m: 10.5, lower_m: 4.0 });
        assert_eq!(sun, Sun { is_fixed: true, is_estates: false, hour: 12.0 });
        assert_eq!(terrain(&params[..3], &former), None);
    }
}
