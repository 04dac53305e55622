//! Content of items in objects: orders for regions, which the client's answer waits for.

use grid::inventory::WorldAnswer;
use grid::uploads::ContentOrder;
use std::fmt;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Time for which an answer waits. A region is saved within a second, or later if the disk is slow or an archive is on its way into it.
const WAIT: Duration = Duration::from_secs(50);
/// Message when it is over, or the server ends.
const NOT_SAVED: &str = "The region has not been saved yet. If the object shows the new content, that is saved later, unless the server ends before.";

/// Takes the end of an order, on any thread.
pub type TakeContentAnswer = Box<dyn FnOnce(WorldAnswer) + Send>;

/// Way of orders to the keepers of regions.
pub struct ContentOrders(Box<dyn Fn(ContentOrder, TakeContentAnswer) + Send + Sync>);

impl fmt::Debug for ContentOrders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContentOrders").finish()
    }
}

impl ContentOrders {
    /// Hands orders to `send`, which does not wait, and answers each once its content is on the disk.
    pub fn new(send: impl Fn(ContentOrder, TakeContentAnswer) + Send + Sync + 'static) -> Self {
        Self(Box::new(send))
    }

    /// Gives an order, and waits for its end.
    ///
    /// # Errors
    /// A message for the user.
    pub(super) async fn carry_out(&self, order: ContentOrder) -> Result<(), String> {
        let (told, answer) = oneshot::channel();
        // The client may have hung up.
        (self.0)(order, Box::new(move |end| drop(told.send(end))));
        match timeout(WAIT, answer).await {
            Ok(Ok(WorldAnswer::Done)) => Ok(()),
            Ok(Ok(WorldAnswer::Refused(reason))) => Err(reason.text().to_owned()),
            Ok(Ok(WorldAnswer::NotSent(why))) => Err(why),
            Ok(Ok(WorldAnswer::UnderWay) | Err(_)) | Err(_) => Err(NOT_SAVED.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::assets::{AssetKind, SizeLimits};
    use grid::uploads::UploadPurpose;
    use ids::{AgentId, SessionKey, Uuid, WorldId};
    use link::{ContentReplacement, EditRefusal};
    use std::sync::Mutex;

    const NOTECARD: &str =
        "Linden text version 2\n{\nLLEmbeddedItems version 1\n{\ncount 0\n}\nText length 5\nHello}";

    fn order() -> ContentOrder {
        let id = Uuid::from_u128(7);
        let replacement =
            ContentReplacement { session: SessionKey(1), object: id, item: id, asset_type: 7, asset: id };
        let purpose =
            UploadPurpose::TaskContent { region: WorldId(1), replacement, kind: AssetKind::Notecard };
        let finished = purpose.finish(AgentId(id), NOTECARD.into(), &SizeLimits::default());
        finished.expect("a notecard").order.expect("an order for the region")
    }

    /// The result of an order with this end, `None` for none.
    fn ended(end: Option<WorldAnswer>) -> Result<(), String> {
        let end = Mutex::new(end);
        let orders = ContentOrders::new(move |sent, answer| {
            assert_eq!(sent, order());
            if let Some(end) = end.lock().expect("one order").take() {
                answer(end);
            }
        });
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().expect("a runtime");
        runtime.block_on(orders.carry_out(order()))
    }

    #[test]
    fn an_order_is_answered_by_its_end() {
        assert_eq!(ended(Some(WorldAnswer::Done)), Ok(()));
        let refused = ended(Some(WorldAnswer::Refused(EditRefusal::NoItem)));
        assert_eq!(refused, Err(EditRefusal::NoItem.text().to_owned()));
        assert_eq!(ended(Some(WorldAnswer::NotSent("Too many.".into()))), Err("Too many.".to_owned()));
        assert_eq!(ended(None), Err(NOT_SAVED.to_owned()), "the server ends");
    }
}
