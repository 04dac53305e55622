//! The `instances` thread: it carries out what the hub orders, which may take as long as a world takes to be made.

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
            match orders.recv_timeout(LOOK) {
                Ok(order) => {
                    let scope = ORDER.enter(0);
                    instances.carry_out(&order);
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
    fn carry_out(&self, order: &Order) {
        let Order::EnterOwn { session, agent, template } = order;
        match self.enter_own(*session, *agent, template) {
            // Who is on the way has walked through in a moment when they already were.
            Ok(_) | Err(Refusal::Passage(PassageRefusal::OnItsWay | PassageRefusal::NotHere)) => {}
            Err(why) => {
                tracing::warn!(agent = %agent.0, %template, %why, "a portal did not let somebody in");
                self.sessions.with(|hub| hub.notify(*session, &why.to_string()));
            }
        }
    }
}
