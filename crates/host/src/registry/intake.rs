//! Intake of requests. Each request is tried at once; a request that needs room waits, and is retried after a suspension.

use super::requests::Progress;
use super::{InstanceRefusal, InstanceRequest, Registry, RequestId};
use ids::Instant;

/// Maximum number of requests that wait for room; further ones are refused as [`InstanceRefusal::Busy`].
pub const ROOM_WAITERS_MAX: usize = 1_024;
/// Maximum number of evictions for one request, which is then refused: one large world may need the memory of several small ones.
const EVICTIONS_MAX: u32 = 8;

/// Request that waits for room. Waiting requests are retried from the beginning, in order of arrival.
#[derive(Debug)]
pub(super) struct RoomWaiter {
    pub(super) request: RequestId,
    body: InstanceRequest,
    n_tries: u32,
}

impl RoomWaiter {
    const fn new(request: RequestId, body: InstanceRequest) -> Self {
        Self { request, body, n_tries: 0 }
    }
}

impl Registry {
    /// Handles a request; [`Self::poll_reply`] returns its reply at once or later.
    pub fn handle_request(&mut self, now: Instant, id: RequestId, request: InstanceRequest) {
        self.now = now;
        if self.stopping.is_some() {
            self.refuse(id, InstanceRefusal::Stopping);
            return;
        }
        match self.try_request(now, id, &request) {
            Ok(Progress::Taken) => {}
            Ok(Progress::NeedsRoom(_)) => self.wait_for_room(id, request),
            Err(why) => self.refuse(id, why),
        }
    }

    /// Queues a request until a suspension ends.
    pub(super) fn wait_for_room(&mut self, id: RequestId, request: InstanceRequest) {
        if self.room_waiters.len() >= ROOM_WAITERS_MAX {
            self.refuse(id, InstanceRefusal::Busy);
        } else {
            self.room_waiters.push_back(RoomWaiter::new(id, request));
        }
    }

    /// Retries the waiting requests in order, up to the first that still needs room.
    pub(super) fn retry_room_waiters(&mut self, now: Instant) {
        while let Some(mut waiter) = self.room_waiters.pop_front() {
            waiter.n_tries += 1;
            match self.try_request(now, waiter.request, &waiter.body) {
                Ok(Progress::Taken) => {}
                Ok(Progress::NeedsRoom(_)) if waiter.n_tries <= EVICTIONS_MAX => {
                    self.room_waiters.push_front(waiter);
                    return;
                }
                Ok(Progress::NeedsRoom(why)) | Err(why) => self.refuse(waiter.request, why),
            }
        }
    }
}
