use super::*;

const REMOTE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);

fn batch_of(count: u8) -> SendBatch {
    let mut batch = SendBatch::new();
    for i in 0..count {
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[i; 10]);
    }
    batch
}

/// Answers flushes from a script and records which datagrams (by their first byte) were taken.
fn flush_by_script(batch: &mut SendBatch, script: &[Result<usize, Errno>]) -> (FlushStatus, Vec<u8>) {
    let mut script = script.iter();
    let mut taken = Vec::new();
    let status = batch.flush_through(|arena, bursts| {
        let answer = *script.next().expect("no call after the end of the script");
        if let Ok(count) = answer {
            let datagrams = bursts[..count].iter().flat_map(|burst| burst.split());
            taken.extend(datagrams.map(|datagram| arena[datagram.start]));
        }
        answer
    });
    assert_eq!(script.next(), None, "the whole script was played");
    (status, taken)
}

#[test]
fn partial_sends_go_on_where_they_stopped() {
    let mut batch = batch_of(5);
    let (status, taken) = flush_by_script(&mut batch, &[Ok(2), Err(Errno::INTR), Ok(3)]);
    assert_eq!((status, taken), (FlushStatus::Done, vec![0, 1, 2, 3, 4]));
    assert_eq!((batch.counters().sent, batch.counters().sent_bytes), (5, 50));
    assert!(batch.is_empty());
}

#[test]
fn a_full_socket_keeps_the_rest_for_the_next_flush() {
    let mut batch = batch_of(5);
    let (status, _) = flush_by_script(&mut batch, &[Ok(2), Err(Errno::AGAIN)]);
    assert_eq!((status, batch.len(), batch.arena.len()), (FlushStatus::Blocked, 3, 30));
    batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[9; 10]);
    let (status, taken) = flush_by_script(&mut batch, &[Ok(4)]);
    assert_eq!((status, taken), (FlushStatus::Done, vec![2, 3, 4, 9]));
}

#[test]
fn refused_datagrams_are_counted_and_passed_over() {
    let mut batch = batch_of(4);
    let script = [Err(Errno::PERM), Ok(1), Err(Errno::NOBUFS), Ok(1)];
    let (status, taken) = flush_by_script(&mut batch, &script);
    assert_eq!((status, taken), (FlushStatus::Done, vec![1, 3]));
    let dropped: Vec<_> = SendDrop::ALL.iter().map(|&reason| batch.counters().dropped(reason)).collect();
    assert_eq!(dropped, [1, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn abandoned_datagrams_are_counted() {
    let mut batch = batch_of(3);
    let (status, _) = flush_by_script(&mut batch, &[Err(Errno::AGAIN)]);
    assert_eq!(status, FlushStatus::Blocked);
    batch.abandon();
    assert!(batch.is_empty());
    assert_eq!(batch.counters().dropped(SendDrop::Abandoned), 3);
}

#[test]
fn no_call_carries_more_than_a_batch() {
    let mut batch = batch_of(200);
    let mut sizes = Vec::new();
    let status = batch.flush_through(|_, bursts| {
        sizes.push(bursts.len());
        Ok(bursts.len())
    });
    assert_eq!((status, sizes), (FlushStatus::Done, vec![64, 64, 64, 8]));
}

#[test]
fn a_writer_that_appends_nothing_adds_nothing() {
    let mut batch = SendBatch::new();
    assert_eq!(batch.push_with(REMOTE, Ipv4Addr::UNSPECIFIED, |_| 7), 7);
    assert!(batch.is_empty());
}

#[test]
#[should_panic(expected = "flush a send batch before")]
fn pushing_into_a_full_batch_is_a_mistake_of_the_caller() {
    let mut batch = SendBatch::new();
    for _ in 0..=SendBatch::DATAGRAMS_MAX {
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[1]);
    }
}

/// A batch that merges, with these datagrams to one client: `(first byte, length)`.
fn merged(datagrams: &[(u8, usize)]) -> SendBatch {
    let mut batch = SendBatch { segments: true, ..SendBatch::new() };
    for &(byte, len) in datagrams {
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &vec![byte; len]);
    }
    batch
}

#[test]
fn equal_datagrams_and_a_shorter_last_one_are_one_burst() {
    let batch = merged(&[(0, 100), (1, 100), (2, 40), (3, 40), (4, 100)]);
    let bursts: Vec<_> = batch.pending.iter().map(|burst| (burst.segment, burst.count())).collect();
    // A shorter one ends a burst, a longer one begins another.
    assert_eq!(bursts, [(100, 3), (40, 1), (100, 1)]);
    assert_eq!(batch.len(), 5);
}

#[test]
fn other_clients_and_other_addresses_of_ours_are_other_bursts() {
    let mut batch = merged(&[(0, 10)]);
    batch.push(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 10), Ipv4Addr::UNSPECIFIED, &[1; 10]);
    batch.push(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 10), Ipv4Addr::LOCALHOST, &[2; 10]);
    assert_eq!(batch.pending.len(), 3);
}

#[test]
fn a_burst_holds_what_the_kernel_takes() {
    let many = merged(&[(0, 10); Burst::SEGMENTS_MAX + 1]);
    assert_eq!(many.pending.iter().map(Burst::count).collect::<Vec<_>>(), [Burst::SEGMENTS_MAX, 1]);
    let large = merged(&[(0, 1_200); 60]);
    assert_eq!(large.pending.iter().map(Burst::count).collect::<Vec<_>>(), [54, 6]);
}

#[test]
fn a_burst_counts_its_datagrams() {
    let mut batch = merged(&[(0, 10), (1, 10), (2, 5), (3, 10)]);
    let (status, taken) = flush_by_script(&mut batch, &[Ok(2)]);
    assert_eq!((status, taken), (FlushStatus::Done, vec![0, 1, 2, 3]));
    let counters = batch.counters();
    assert_eq!((counters.sent, counters.sent_bytes, counters.segmented), (4, 35, 3));
    assert!(batch.is_empty());
}

#[test]
fn a_refused_burst_is_tried_datagram_by_datagram() {
    let mut batch = merged(&[(0, 10), (1, 10), (2, 5)]);
    let script = [Err(Errno::IO), Ok(1), Err(Errno::PERM), Ok(1)];
    let (status, taken) = flush_by_script(&mut batch, &script);
    assert_eq!((status, taken), (FlushStatus::Done, vec![0, 2]));
    let counters = batch.counters();
    assert_eq!((counters.sent, counters.segmented, counters.bursts_refused), (2, 0, 1));
    assert_eq!(counters.dropped(SendDrop::NotPermitted), 1);
}

#[test]
fn a_burst_for_which_there_is_no_memory_is_not_tried_again() {
    let mut batch = merged(&[(0, 10), (1, 10), (2, 5)]);
    let (status, _) = flush_by_script(&mut batch, &[Err(Errno::NOBUFS)]);
    assert_eq!(status, FlushStatus::Done);
    assert_eq!(batch.counters().dropped(SendDrop::NoBuffers), 3);
}

#[test]
fn an_address_that_refuses_bursts_repeatedly_gets_none() {
    let mut batch = merged(&[]);
    for n in 1..=REFUSALS_MAX {
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[0; 10]);
        batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[1; 10]);
        let (status, taken) = flush_by_script(&mut batch, &[Err(Errno::IO), Ok(2)]);
        assert_eq!((status, taken.len()), (FlushStatus::Done, 2));
        assert_eq!(batch.segments, n < REFUSALS_MAX);
    }
    batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[0; 10]);
    batch.push(REMOTE, Ipv4Addr::UNSPECIFIED, &[1; 10]);
    assert_eq!(batch.pending.len(), 2);
}

#[test]
fn a_blocked_burst_is_kept_whole() {
    let mut batch = merged(&[(0, 10), (1, 10), (2, 20), (3, 20)]);
    let (status, _) = flush_by_script(&mut batch, &[Ok(1), Err(Errno::AGAIN)]);
    assert_eq!((status, batch.len(), batch.arena.len()), (FlushStatus::Blocked, 2, 40));
    let (status, taken) = flush_by_script(&mut batch, &[Ok(1)]);
    assert_eq!((status, taken), (FlushStatus::Done, vec![2, 3]));
}
