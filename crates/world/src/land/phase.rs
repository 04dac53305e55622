//! The land phase: commands that the inbox has left take effect, in their order.

use super::footing::{follow_ground, grounded_slots};
use super::ground_edits::{GroundBudget, GroundWork};
use super::orders::LandOrder;
use super::part::Land;
use crate::{counters::WorldCounters, ground::SolidGround, roster::Roster};
use ids::SessionKey;
use link::{Event, LandEdit, LandEvent, LandRefusal};

/// Other parts of a world that edits of the land change or need.
#[derive(Debug)]
pub(crate) struct LandSurroundings<'a> {
    pub(crate) ground: &'a mut SolidGround,
    pub(crate) roster: &'a mut Roster,
    pub(crate) counters: &'a mut WorldCounters,
    /// The world's source of chance.
    pub(crate) seed: u64,
    /// NPCs walk on the ground, whose paths are known beforehand.
    pub(crate) has_npcs: bool,
    /// Edits cannot be saved: those of users are refused, the node's and operators' are not.
    pub(crate) is_closed: bool,
}

/// Carries out the commands of a tick and empties the list. A world without land refuses them.
pub(crate) fn carry_out_orders(
    mut land: Option<&mut Land>,
    orders: &mut Vec<LandOrder>,
    around: LandSurroundings<'_>,
    events: &mut Vec<Event>,
) {
    if orders.is_empty() {
        return;
    }
    let LandSurroundings { ground, roster, counters, seed, has_npcs, is_closed } = around;
    let edits_ground = orders.iter().any(|order| order.edit.is_of_ground());
    let grounded = if edits_ground { grounded_slots(roster, ground) } else { Vec::new() };
    let is_edited = orders.iter().any(|order| order.edit != LandEdit::Clock);
    if let Some(land) = land.as_deref_mut().filter(|_| is_edited) {
        land.keep_former();
    }
    let mut budget = GroundBudget::default();
    for order in orders.drain(..) {
        let (session, sequence) = (order.session, order.sequence);
        let outcome = match land.as_deref_mut() {
            Some(_) if is_closed && !order.author.is_operator && order.edit != LandEdit::Clock => {
                Err(LandRefusal::NotSaved)
            }
            Some(_) if has_npcs && order.edit.is_of_ground() => Err(LandRefusal::FixedGround),
            Some(land) => land.carry_out(order, ground, &mut budget, seed),
            None => Err(LandRefusal::NoLand),
        };
        match outcome {
            Ok(()) => {
                counters.land += 1;
                if session == SessionKey::NODE {
                    events.push(Event::Land(session, LandEvent::Done { sequence }));
                }
            }
            Err(reason) => {
                counters.land_refused += 1;
                events.push(Event::Land(session, LandEvent::Refused { sequence, reason }));
            }
        }
    }
    let Some(land) = land else { return };
    land.settle();
    ground.water_m = land.estate().levels.water_m;
    if edits_ground {
        follow_ground(roster, ground, &grounded);
    }
}

impl Land {
    fn carry_out(
        &mut self,
        order: LandOrder,
        ground: &mut SolidGround,
        budget: &mut GroundBudget,
        seed: u64,
    ) -> Result<(), LandRefusal> {
        let LandOrder { author, session, at_s, edit, .. } = order;
        self.learn_time(at_s);
        match edit {
            LandEdit::Clock => Ok(()),
            LandEdit::Ground(edit) => {
                let work = GroundWork { terrain: &mut ground.terrain, budget, author, session, seed };
                self.edit_ground(edit, work)
            }
            LandEdit::Parcel(number, edit) => self.edit_one_parcel(author, number, edit),
            LandEdit::Divide { area, id } => self.divide(author, &area, id, budget),
            LandEdit::Join(area) => self.join(author, &area, budget),
            LandEdit::Estate(edit) => self.change_estate(author, edit),
            LandEdit::Replace(new) => self.replace(author, *new, &mut ground.terrain, budget),
        }
    }
}
