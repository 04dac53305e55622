//! The `instances` thread: it carries out what the hub orders, which may take as long as a world takes to be made, and sees to it that
//! what has ended, and what templates have given up, is dropped.

use super::{Instances, Refusal};
use crate::serve::ServeError;
use gateway::hub::{Order, PassageRefusal};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;
use telemetry::recorder::{Recorder, Scope, frame_end};

/// Orders that wait; whoever gave more is told to try again.
pub(in crate::serve) const ORDERS_MAX: usize = 1_024;
/// How often it is looked whether the thread shall end.
const LOOK: Duration = Duration::from_millis(100);

/// One order.
static ORDER: Scope = Scope::new("instances.order").limit_us(500_000);

pub(in crate::serve) struct Keeper {
    thread: JoinHandle<()>,
    stop: Arc<()>,
}

pub(in crate::serve) fn keep(
    instances: &Arc<Instances>,
    orders: Receiver<Order>,
    recorder: Recorder,
) -> Result<Keeper, ServeError> {
    let instances = Arc::clone(instances);
    // The thread ends when it is the last that holds it.
    let stop = Arc::new(());
    let goes_on = Arc::downgrade(&stop);
    let run = move || {
        recorder.thread("instances").install();
        while goes_on.strong_count() > 0 {
            // Whoever wants into an instance waits for this thread: it goes on whatever happens.
            instances.survives("instances", || instances.bury());
            instances.survives("instances", || instances.bury_casts());
            match orders.recv_timeout(LOOK) {
                Ok(order) => {
                    let scope = ORDER.enter(0);
                    instances.carry_out_whatever_happens(&order);
                    drop(scope);
                    frame_end();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    };
    let thread = std::thread::Builder::new().name("instances".into()).spawn(run);
    let thread = thread.map_err(|source| ServeError::Thread { name: "instances", source })?;
    Ok(Keeper { thread, stop })
}

impl Keeper {
    /// Ends the thread after the order that it is at.
    pub(in crate::serve) fn stop(self) {
        drop(self.stop);
        if self.thread.join().is_err() {
            tracing::error!("the instances thread has panicked");
        }
    }
}

impl Instances {
    /// A panic costs whom the order is for, and nobody else.
    fn carry_out_whatever_happens(&self, order: &Order) {
        if !self.survives("instances", || self.carry_out(order)) {
            tracing::error!(?order, "an order has panicked");
            let why = "The server has failed. Please try again later.";
            self.survives("instances", || self.sessions.with(|hub| hub.turn_down(order, why)));
        }
    }

    pub(super) fn carry_out(&self, order: &Order) {
        let passed = match order {
            Order::EnterOwn { circuit, world, agent, template } => {
                self.enter_own(*circuit, *world, *agent, template)
            }
            Order::Enter { circuit, world, position } => self.follow(*circuit, *world, *position),
        };
        let by_portal = matches!(order, Order::EnterOwn { .. });
        match passed {
            Ok(_) => self.sessions.with(|hub| hub.end_order(order)),
            // Who is elsewhere has gone on since the order was given; who is on the way, since walking through.
            Err(Refusal::Passage(PassageRefusal::NotHere | PassageRefusal::Elsewhere)) => {
                self.sessions.with(|hub| hub.end_order(order));
            }
            Err(Refusal::Passage(PassageRefusal::OnItsWay)) if by_portal => {
                self.sessions.with(|hub| hub.end_order(order));
            }
            Err(why) => {
                tracing::warn!(?order, %why, "somebody was not let into an instance");
                self.sessions.with(|hub| hub.turn_down(order, &why.to_string()));
            }
        }
    }
}
