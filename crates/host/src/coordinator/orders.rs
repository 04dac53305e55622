//! Travel orders: the check, the request that an order becomes, and its end.

use super::{Coordinator, CoordinatorOutput, RequestOrigin, RequestRefusal};
use crate::registry::{InstanceRequest, NewInstance, RequestId, Visitor};
use ids::{Instant, Uuid};
use link::{PassageRefusal, TravelOrder};

/// A travel order before its check.
#[derive(Clone, Debug)]
pub(super) struct UncheckedOrder {
    pub(super) order: TravelOrder,
    /// Id of the instance that may have to be created for it.
    new_id: Uuid,
    created_s: i64,
}

impl Coordinator {
    /// Takes in a travel order, answered by one [`CoordinatorOutput::EndOrder`] or [`CoordinatorOutput::RefuseOrder`]. `new_id` is the id of
    /// an instance that may have to be created for it, `created_s` the time in seconds since 1970.
    ///
    /// # Panics
    /// If a request or order with this number has no answer yet.
    pub fn handle_travel_order(&mut self, id: RequestId, order: TravelOrder, new_id: Uuid, created_s: i64) {
        let visitor = visitor_of(&order);
        let former = self.unchecked.insert(id, UncheckedOrder { order, new_id, created_s });
        assert!(former.is_none(), "its number has no answer yet: order {}", id.0);
        self.outputs.push_back(CoordinatorOutput::Check(id, visitor));
    }

    /// Answer to [`CoordinatorOutput::Check`]. A void order ends here.
    ///
    /// # Panics
    /// If no check of this order is under way.
    pub fn handle_check(&mut self, now: Instant, id: RequestId, outcome: Result<(), PassageRefusal>) {
        let UncheckedOrder { order, new_id, created_s } =
            self.unchecked.remove(&id).expect("an order is checked once");
        if let Err(why) = outcome {
            return self.end_order(order, Err(why.into()));
        }
        let visitor = visitor_of(&order);
        let request = match &order {
            TravelOrder::EnterOwn { agent, template, .. } => {
                let (template, owner) = (template.to_string(), Some(*agent));
                let new = NewInstance { id: new_id, template, name: None, owner, created_s, maker: None };
                InstanceRequest::EnterOwn { new, visitor }
            }
            &TravelOrder::Enter { world, position, .. } => {
                InstanceRequest::EnterWorld { world, visitor, position }
            }
        };
        self.ask(now, id, request, RequestOrigin::Traveller(order));
    }

    pub(super) fn end_order(&mut self, order: TravelOrder, done: Result<(), RequestRefusal>) {
        let is_by_portal = matches!(order, TravelOrder::EnterOwn { .. });
        self.outputs.push_back(match done {
            Ok(()) => CoordinatorOutput::EndOrder(order),
            // An avatar that is elsewhere has gone on since the order was given; one on its way has, since walking through.
            Err(RequestRefusal::Passage(PassageRefusal::NotHere | PassageRefusal::Elsewhere)) => {
                CoordinatorOutput::EndOrder(order)
            }
            Err(RequestRefusal::Passage(PassageRefusal::OnItsWay)) if is_by_portal => {
                CoordinatorOutput::EndOrder(order)
            }
            Err(why) => CoordinatorOutput::RefuseOrder(order, why.to_string().into()),
        });
    }
}

fn visitor_of(order: &TravelOrder) -> Visitor {
    let circuit = order.circuit();
    let from = match order {
        TravelOrder::EnterOwn { world, .. } => Some(*world),
        TravelOrder::Enter { .. } => None,
    };
    Visitor { session: circuit.session, ticket: Some(circuit.ticket), from }
}
