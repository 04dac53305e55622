//! Orders of clients that bring things out of their inventories into regions: on to the keepers, and their ends, on the `transfers` thread.
//!
//! The `inventory` thread gives an order, and its end comes when a save or a frame of the region has the outcome, up to seconds later. The thread that has it must not
//! wait for the store or for the hub's lock, so that another one ends orders. As many as `OPEN_MAX` are open at once; more are refused.

use super::keepers::{RestoreOrders, RestoreReply, TakeAnswer};
use super::transfer_figures::{TransferFigures, TransferOutcome};
use crossbeam_channel::{Receiver, Sender, bounded};
use gateway::http::ContentOrders;
use gateway::sessions::Sessions;
use grid::inventory::{WorldAnswer, WorldOrder, WorldOrderEnd, end_world_order};
use grid::uploads::ContentOrder;
use link::CircuitKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use store::Store;
use telemetry::recorder::{Arg, Recorder, Scope, frame_end};
use workplace::{Clock, ThreadError, opaque_debug};

/// Orders without an end, of all clients together.
const OPEN_MAX: usize = 1_024;
/// Text of the alert for an order beyond it.
const BUSY: &str = "The server has too many objects on their way into regions. Please try again in a moment.";

/// The end of an order; the number is 1.
static END: Scope = Scope::new("hub.transfer").arg(Arg::Count).limit_us(1_000_000);

/// Way of orders to the keepers.
pub struct WorldOrders {
    restores: RestoreOrders,
    ended: Sender<EndedOrder>,
    n_open: Arc<AtomicUsize>,
    ends: Arc<OrderEnds>,
}

/// The parts that ends of orders need.
pub struct OrderEnds {
    /// Inventories.
    pub store: Arc<Store>,
    /// The sessions, whose clients hear of the ends.
    pub sessions: Arc<Sessions>,
    /// Counts of ends.
    pub figures: Arc<TransferFigures>,
    /// The clock of the process.
    pub clock: Clock,
}

/// The `transfers` thread.
pub struct TransferThread(JoinHandle<()>);

opaque_debug!(WorldOrders, OrderEnds, TransferThread);

struct EndedOrder {
    circuit: CircuitKey,
    end: WorldOrderEnd,
    answer: WorldAnswer,
}

/// Starts the thread.
///
/// # Errors
/// The system gives no thread.
pub fn start(
    restores: RestoreOrders,
    ends: OrderEnds,
    recorder: Recorder,
) -> Result<(WorldOrders, TransferThread), ThreadError> {
    // Room for all that are open: no end waits for it.
    let (ended, to_end) = bounded(OPEN_MAX);
    let (ends, n_open) = (Arc::new(ends), Arc::new(AtomicUsize::new(0)));
    let thread = {
        let (ends, n_open) = (Arc::clone(&ends), Arc::clone(&n_open));
        std::thread::Builder::new()
            .name("transfers".into())
            .spawn(move || {
                recorder.thread("transfers").install();
                end_orders(&ends, &to_end, &n_open);
            })
            .map_err(|source| ThreadError { name: "transfers", source })?
    };
    Ok((WorldOrders { restores, ended, n_open, ends }, TransferThread(thread)))
}

fn end_orders(ends: &OrderEnds, ended: &Receiver<EndedOrder>, n_open: &AtomicUsize) {
    while let Ok(EndedOrder { circuit, end, answer }) = ended.recv() {
        n_open.fetch_sub(1, Ordering::Relaxed);
        let scope = END.enter(1);
        ends.end(circuit, end, &answer);
        drop(scope);
        frame_end();
    }
}

impl WorldOrders {
    /// Hands an order on. Its client hears of the end, unless the server ends before.
    pub fn order(&self, circuit: CircuitKey, order: WorldOrder) {
        let WorldOrder { region, order, end } = order;
        if self.n_open.fetch_add(1, Ordering::Relaxed) >= OPEN_MAX {
            self.n_open.fetch_sub(1, Ordering::Relaxed);
            self.ends.end(circuit, end, &WorldAnswer::NotSent(BUSY.to_owned()));
            return;
        }
        let ended = self.ended.clone();
        let answer: TakeAnswer = Box::new(move |reply| {
            // The thread lives as long as an order may end.
            drop(ended.send(EndedOrder { circuit, end, answer: answer_of(reply) }));
        });
        self.restores.order_for_client(region, order, answer);
    }
}

impl OrderEnds {
    fn end(&self, circuit: CircuitKey, end: WorldOrderEnd, answer: &WorldAnswer) {
        let outcome = match answer {
            WorldAnswer::Done => TransferOutcome::Done,
            WorldAnswer::Refused(_) => TransferOutcome::Refused,
            WorldAnswer::UnderWay | WorldAnswer::NotSent(_) => TransferOutcome::NotSent,
        };
        let replies = end_world_order(&self.store, end, answer);
        self.sessions.with(|hub| hub.handle_world_end(circuit, &end, replies));
        self.figures.note_order(end.kind, outcome, (self.clock)().since(end.at));
    }
}

impl TransferThread {
    /// Ends the thread, after everything that has orders: keepers, and the `inventory` thread.
    pub fn stop(self) {
        if self.0.join().is_err() {
            tracing::error!("the transfers thread has panicked");
        }
    }
}

/// Way of content of uploads to items in objects.
pub fn content_orders(restores: RestoreOrders) -> ContentOrders {
    ContentOrders::new(move |ContentOrder { region, order }, answer| {
        restores.order_for_client(region, order, Box::new(move |reply| answer(answer_of(reply))));
    })
}

fn answer_of(reply: RestoreReply) -> WorldAnswer {
    match reply {
        RestoreReply::Done => WorldAnswer::Done,
        RestoreReply::Refused(reason) => WorldAnswer::Refused(reason),
        RestoreReply::UnderWay => WorldAnswer::UnderWay,
        RestoreReply::NotSent(why) => WorldAnswer::NotSent(why),
    }
}
