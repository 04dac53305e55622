use super::*;
use crate::instances::ScriptSlot;
use ids::LocalId;

const QUANTA: Quanta = Quanta { owner: 10, script: 100 };

struct Bench {
    queue: RunQueue,
    links: Links,
    instances: Instances,
}

impl Bench {
    /// Scripts of each owner, in these numbers, none of them ready.
    fn new(n_scripts: &[u32]) -> Self {
        let (mut queue, mut links, mut instances) = (RunQueue::new(), Links::NONE, Instances::default());
        queue.grow(n_scripts.len());
        for (owner, &n) in (0..).zip(n_scripts) {
            for _ in 0..n {
                instances.insert(ScriptSlot::new(LocalId(1), 0, owner));
            }
        }
        links.grow(instances.bound());
        Self { queue, links, instances }
    }

    fn push(&mut self, number: u32) {
        self.queue.push_back(&mut self.links, self.instances.slot(number).owner, number);
    }

    /// Runs a slice. Returns the number of the script.
    fn run(&mut self, fuel: i64, stays: bool) -> Option<u32> {
        let (owner, number) = self.queue.take(&mut self.links, &mut self.instances, QUANTA)?;
        self.instances.slot_mut(number).deficit -= fuel;
        if stays {
            self.push(number);
        }
        self.queue.settle(owner, fuel);
        Some(number)
    }
}

#[test]
fn owners_have_equal_shares_whatever_the_number_of_their_scripts() {
    let mut bench = Bench::new(&[1, 30]);
    (0..31).for_each(|number| bench.push(number));
    let mut fuel = [0, 0];
    for n in 0..1_000 {
        let slice = 20 + n % 80;
        let number = bench.run(slice, true).expect("a script");
        fuel[usize::from(number > 0)] += slice;
        assert!((fuel[0] - fuel[1]).abs() < 100 + QUANTA.owner, "{fuel:?}");
    }
}

#[test]
fn an_owner_that_comes_back_still_owes_its_last_slice() {
    let mut bench = Bench::new(&[1, 1]);
    bench.push(0);
    bench.push(1);
    assert_eq!(bench.run(100, false), Some(0));
    assert_eq!(bench.queue.debt(0), -90);
    bench.push(0);
    let mut n = 0;
    while bench.run(10, true) == Some(1) {
        n += 1;
    }
    assert_eq!(n, 10, "slices of the other until it has had as much");
    let mut alone = Bench::new(&[1, 1]);
    alone.push(0);
    alone.run(100, false);
    assert_eq!(alone.queue.debt(0), 0, "no other wanted its fuel");
}

#[test]
fn caused_scripts_come_before_those_of_time() {
    let mut bench = Bench::new(&[6]);
    let Bench { queue, links, .. } = &mut bench;
    queue.push_back(links, 0, 0);
    queue.push_timed(links, 0, 1, 7);
    queue.push_timed(links, 0, 2, 7);
    queue.push_caused(links, 0, 3, 7);
    queue.remove(links, 0, 1);
    queue.push_caused(links, 0, 4, 7);
    queue.push_caused(links, 0, 5, 8);
    let order: Vec<Option<u32>> = (0..7).map(|_| bench.run(1, false)).collect();
    assert_eq!(order, [Some(0), Some(3), Some(4), Some(2), Some(5), None, None]);
}

#[test]
fn the_last_script_of_an_owner_that_runs_can_be_removed_with_others() {
    let mut bench = Bench::new(&[2, 1]);
    (0..3).for_each(|number| bench.push(number));
    let (owner, number) = bench.queue.take(&mut bench.links, &mut bench.instances, QUANTA).expect("a script");
    assert_eq!((owner, number, bench.queue.len()), (0, 0, 2));
    bench.queue.remove(&mut bench.links, 0, 1);
    bench.queue.settle(0, 5);
    assert_eq!(bench.run(1, false), Some(2));
    assert!(bench.queue.is_empty() && bench.run(1, false).is_none());
}
