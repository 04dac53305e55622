//! Teleports by landmarks: the asset has the place. The hub knows the regions.

use super::Shard;
use super::counters::Refused;
use super::incoming::{Handled, Incoming};
use crate::coverage::MessageOutcome;
use crate::mail::{AssetRequest, FromShard, Request};
use assets::{Asset, read_landmark};
use wire::messages::*;

impl Shard {
    /// The null landmark is home.
    pub(super) fn on_teleport_landmark(
        &mut self,
        at: &mut Incoming<'_>,
        m: TeleportLandmarkRequest,
    ) -> Handled {
        let landmark = m.info.landmark_id;
        if landmark.is_nil() {
            return self.request(at, Request::TeleportHome);
        }
        if !self.client(at.index).asks.try_spend(at.now) {
            return Err(Refused::Flood.into());
        }
        self.serve_asset(at, AssetRequest::Landmark(landmark))
    }

    /// Follows a landmark that was read, or ends the wait of the client.
    pub(super) fn follow_landmark(&mut self, at: &Incoming<'_>, asset: Option<&Asset>) -> Handled {
        let landmark = asset.and_then(|asset| read_landmark(&asset.bytes).ok());
        let key = self.client(at.index).key();
        self.mail.push(FromShard::Request(key, Request::TeleportLandmark(landmark)));
        Ok(if landmark.is_some() { MessageOutcome::Done } else { MessageOutcome::Refused })
    }
}
