//! Instances that portals create, and the quotas of programs.

use super::*;
use crate::instances::driver::ORDERS_MAX;
use link::CircuitKey;
use std::sync::mpsc::TrySendError;

fn own(agent: u128, template: &str) -> TravelOrder {
    TravelOrder::EnterOwn {
        circuit: CircuitKey { session: SessionKey(agent as u64), ticket: 1 },
        world: WorldId(0),
        agent: AgentId(Uuid::from_u128(agent)),
        template: template.into(),
    }
}

impl Node {
    /// A user walks into a portal; the number of orders that were carried out, and the texts of those that were not.
    fn walk_in(&self, agent: u128, template: &str) -> (usize, Vec<String>) {
        let n_before = self.n_orders_done();
        self.instances.mail.send(InstanceMail::Order(own(agent, template))).unwrap();
        self.wait_until("the order is carried out", |node| node.n_orders_done() > n_before);
        let sent = self.crowd.sent();
        (sent.ended.len(), sent.turned_down.clone())
    }

    fn n_orders_done(&self) -> usize {
        let sent = self.crowd.sent();
        sent.ended.len() + sent.turned_down.len()
    }
}

#[test]
fn orders_beyond_the_bound_are_handed_back() {
    let mailbox = InstanceMailbox::new();
    let take_order = mailbox.take_orders();
    assert!((0..ORDERS_MAX).all(|_| take_order(own(1, "Cave")).is_ok()));
    assert!(matches!(take_order(own(1, "Cave")), Err(TrySendError::Full(_))));
    drop(mailbox);
    let mailbox = InstanceMailbox::new();
    let take_order = mailbox.take_orders();
    drop(mailbox);
    assert!(matches!(take_order(own(1, "Cave")), Err(TrySendError::Disconnected(_))));
}

#[test]
fn a_portal_creates_one_instance_for_a_user_which_expires_when_it_is_not_visited() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&["Cave"], 5);
    let node = Node::start(&data, &config);
    assert_eq!(node.walk_in(7, "cave"), (1, Vec::new()));
    assert_eq!(node.walk_in(7, "Cave"), (2, Vec::new()));
    let [own] = node.list()[..] else { panic!("{:?}", node.list()) };
    let (owner, template) = (node.get(own).summary.row.owner, node.get(own).summary.row.template);
    assert_eq!((owner, &*template), (Some(AgentId(Uuid::from_u128(7))), "Cave"));
    let ordered = node.create(1);
    assert_eq!(node.stop(Vec::new()), 0);
    // An hour passes.
    let (long_ago, store) = (1_000_000_000, Store::open(&url(&data)).unwrap());
    store.note_visits(&[(own, long_ago)]).unwrap();
    drop(store);
    config.templates[0].keep = None;
    let node = Node::start(&data, &config);
    node.instances.resume(own).unwrap();
    assert_eq!(node.stop(Vec::new()), 0);
    config.templates[0].keep = Some(Duration::from_secs(3_600));
    let node = Node::start(&data, &config);
    node.wait_until("it has expired", |node| node.list() == [ordered]);
    assert_eq!(node.metric("throng_instances_expired_total"), 1.0);
    assert_eq!(node.walk_in(7, "Cave"), (1, Vec::new()));
    assert_eq!(node.list().len(), 2, "its user gets another one");
}

#[test]
fn portals_leave_room_for_programs_and_for_other_users() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(&["Cave", "Cellar"], 5);
    (config.limits.portal_max, config.limits.per_user_max) = (3, 1);
    let node = Node::start(&data, &config);
    node.walk_in(1, "Cave");
    let (n_done, refused) = node.walk_in(1, "Cellar");
    assert!(n_done == 1 && refused[0].contains("per_user_max"), "{refused:?}");
    node.walk_in(2, "Cave");
    node.walk_in(3, "Cave");
    let (n_done, refused) = node.walk_in(4, "Cave");
    assert!(n_done == 3 && refused[1].contains("portal_percent"), "{refused:?}");
    node.create(1);
    node.create(2);
    assert!(matches!(node.try_to_create(3), Err(Refusal::Instance(InstanceRefusal::Full(5)))));
}

#[test]
fn a_token_has_its_quota_after_a_start_of_the_server_and_until_its_instances_have_ended() {
    let data = tempfile::tempdir().unwrap();
    let create = |node: &Node, id: u128| {
        let maker = Some(Maker { token: "lobby".into(), instances_max: Some(2) });
        node.instances.create(InstanceOrder { maker, ..Node::order(id) })
    };
    let is_full = |done: Result<(Uuid, bool), Refusal>| {
        matches!(done, Err(Refusal::Instance(InstanceRefusal::Quota { max: 2, .. })))
    };
    let node = Node::start(&data, &config(&["Cave"], 5));
    let one = create(&node, 1).unwrap().0;
    create(&node, 2).unwrap();
    assert!(is_full(create(&node, 3)));
    assert!(!create(&node, 2).unwrap().1, "a repeated order is no new one");
    node.create(9);
    assert_eq!(node.stop(Vec::new()), 0);
    let node = Node::start(&data, &config(&["Cave"], 5));
    assert!(is_full(create(&node, 3)));
    node.instances.end(one).unwrap();
    create(&node, 3).unwrap();
    assert!(is_full(create(&node, 4)));
}
