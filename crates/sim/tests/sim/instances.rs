//! Instances created, entered, suspended, resumed, ended, panicking, killed and restarted, while their worlds move between hosts: no user and no
//! acknowledged instance is lost, and a defect of gateway, store or move fails the run.

use sim::{InstanceReport, InstanceSabotage, InstanceScenario, Sabotage};

const SEEDS: u64 = 12;
const MOVING: InstanceScenario = InstanceScenario { seed: 1, hosts: 2, moves: true, sabotage: None };

#[test]
fn no_user_and_no_acknowledged_instance_is_lost_whatever_happens() {
    let mut n_expired = 0;
    for seed in 1..=SEEDS {
        let report = InstanceScenario { seed, ..MOVING }.run();
        let InstanceReport {
            replies,
            suspended,
            resumed,
            admitted,
            expired,
            moves,
            panics,
            kills,
            journalled,
            ..
        } = report;
        let is_busy = replies > 300 && suspended > 5 && resumed > 1 && admitted > 20;
        assert!(is_busy && moves > 10 && panics > 10 && kills > 0 && journalled > 5, "seed {seed}: {report}");
        n_expired += expired;
    }
    assert!(n_expired > SEEDS, "{n_expired} instances of portals have expired");
}

#[test]
fn equal_seeds_make_equal_runs_on_one_host_and_on_several() {
    let scenario = InstanceScenario { seed: 7, ..MOVING };
    assert_eq!(scenario.run(), scenario.run());
    let still = InstanceScenario { seed: 7, hosts: 1, moves: false, sabotage: None };
    assert_eq!(still.run(), still.run());
}

/// States, replies, panics and kills are those of the run in which every world stays.
#[test]
fn moves_change_nothing_but_their_own_number() {
    for seed in [3, 8] {
        let still = InstanceScenario { seed, hosts: 1, moves: false, sabotage: None }.run();
        for hosts in [2, 3] {
            let moving = InstanceScenario { seed, hosts, ..MOVING }.run();
            assert!(moving.moves > 10, "{moving}");
            assert_eq!(InstanceReport { moves: 0, ..moving }, still);
        }
    }
}

#[test]
#[should_panic(expected = "is suspended under a visitor")]
fn a_gateway_that_counts_no_visitors_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::BlindCensus), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "is not durable")]
fn a_row_that_is_not_written_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::LostRow), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "is not that of a world that stays")]
fn a_state_that_is_not_written_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::LostState), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "is not that of a world that stays")]
fn a_saved_state_without_the_last_step_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::StaleImage), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "begins without progress")]
fn progress_that_is_acknowledged_and_not_written_is_noticed() {
    let sabotage = Some(InstanceSabotage::LostJournal);
    let _ = InstanceScenario { seed: 2, sabotage, ..MOVING }.run();
}

#[test]
#[should_panic(expected = "progress is not journalled")]
fn a_journal_that_is_not_written_within_its_second_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::LateJournal), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "the owner of")]
fn an_owner_that_a_restart_loses_is_noticed() {
    let _ = InstanceScenario { sabotage: Some(InstanceSabotage::LostOwner), ..MOVING }.run();
}

#[test]
#[should_panic(expected = "its state hash is")]
fn a_part_that_a_move_leaves_out_is_noticed() {
    let sabotage = Some(InstanceSabotage::Move(Sabotage::FreshPart(*b"NPCS")));
    let _ = InstanceScenario { sabotage, ..MOVING }.run();
}

#[test]
#[should_panic(expected = "without moves")]
fn commands_that_a_move_leaves_behind_are_noticed() {
    let sabotage = Some(InstanceSabotage::Move(Sabotage::LostCommands));
    let _ = InstanceScenario { sabotage, ..MOVING }.run();
}

#[test]
#[should_panic(expected = "without moves")]
fn commands_applied_twice_after_a_move_are_noticed() {
    let sabotage = Some(InstanceSabotage::Move(Sabotage::RepeatedCommands));
    let _ = InstanceScenario { sabotage, ..MOVING }.run();
}
