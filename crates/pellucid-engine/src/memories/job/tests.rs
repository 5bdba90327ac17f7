use std::fmt::Write;

use expect_test::Expect;
use expect_test::expect;

use super::*;

/// Steps of one job, a line each, and what came of each. The first word is the time.
#[track_caller]
fn check_life(steps: &str, expected: &Expect) {
    let mut job: Option<MemoriesJob> = None;
    let mut shown = String::new();
    for line in steps.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let now: i64 = words[0].parse().unwrap();
        let number = |n: usize| words[n].parse::<i64>().unwrap();
        let holder = |n: usize| Holder { worker: "w", token: words[n] };
        let held = job.clone();
        let held = held.as_ref();
        let outcome = match words[1] {
            "extract" => claimed(take_extraction(held, "s", None, number(2), holder(3), now), &mut job),
            "extract_known" => {
                claimed(take_extraction(held, "s", Some(number(4)), number(2), holder(3), now), &mut job)
            }
            "merge" => claimed(take_consolidation(held, holder(2), now), &mut job),
            "due" => {
                job = Some(due_consolidation(job, ALL, number(2)));
                "due".to_owned()
            }
            "renew" => changed(renewed(held.unwrap(), words[2], now), &mut job),
            "succeed" => changed(succeeded(held.unwrap(), words[2], number(3), now), &mut job),
            "fail" => changed(failed(held.unwrap(), words[2], "why", now), &mut job),
            other => panic!("{other}"),
        };
        let state = job.as_ref().map(|it| {
            let status = it.status.as_str();
            format!(
                "{status} lease {:?} retry {:?} left {} input {:?} done {:?}",
                it.lease_until, it.retry_at, it.retries_left, it.input, it.done
            )
        });
        writeln!(shown, "{line}: {outcome}; {}", state.unwrap_or_default()).unwrap();
    }
    expected.assert_eq(&shown);
}

fn claimed(claim: Claim, job: &mut Option<MemoriesJob>) -> String {
    match claim {
        Claim::Taken(taken) => {
            *job = Some(*taken);
            "taken".to_owned()
        }
        refused => format!("{refused:?}"),
    }
}

fn changed(change: Option<MemoriesJob>, job: &mut Option<MemoriesJob>) -> String {
    let is_own = change.is_some();
    *job = change.or_else(|| job.take());
    (if is_own { "own" } else { "another's" }).to_owned()
}

#[test]
fn a_session_is_extracted_once_for_each_change() {
    check_life(
        "
        0 extract 10 a
        1 extract 10 b
        2 succeed a 10
        3 extract 10 b
        4 extract 20 b
        5 extract_known 20 c 20
        ",
        &expect![[r#"
            0 extract 10 a: taken; running lease Some(3600) retry None left 3 input Some(10) done None
            1 extract 10 b: Held; running lease Some(3600) retry None left 3 input Some(10) done None
            2 succeed a 10: own; done lease None retry None left 3 input Some(10) done Some(10)
            3 extract 10 b: UpToDate; done lease None retry None left 3 input Some(10) done Some(10)
            4 extract 20 b: taken; running lease Some(3604) retry None left 3 input Some(20) done Some(10)
            5 extract_known 20 c 20: UpToDate; running lease Some(3604) retry None left 3 input Some(20) done Some(10)
        "#]],
    );
}

#[test]
fn a_lease_that_ended_is_taken_over() {
    check_life(
        "
        0 extract 10 a
        3599 extract 10 b
        3600 extract 10 b
        3601 succeed a 10
        3602 succeed b 10
        ",
        &expect![[r#"
            0 extract 10 a: taken; running lease Some(3600) retry None left 3 input Some(10) done None
            3599 extract 10 b: Held; running lease Some(3600) retry None left 3 input Some(10) done None
            3600 extract 10 b: taken; running lease Some(7200) retry None left 3 input Some(10) done None
            3601 succeed a 10: another's; running lease Some(7200) retry None left 3 input Some(10) done None
            3602 succeed b 10: own; done lease None retry None left 3 input Some(10) done Some(10)
        "#]],
    );
}

#[test]
fn failures_rest_and_are_given_up_until_something_is_new() {
    check_life(
        "
        0 extract 10 a
        1 fail a
        2 extract 10 b
        3601 extract 10 b
        3602 fail b
        7202 extract 10 c
        7203 fail c
        20000 extract 10 d
        20000 extract 30 d
        ",
        &expect![[r#"
            0 extract 10 a: taken; running lease Some(3600) retry None left 3 input Some(10) done None
            1 fail a: own; failed lease None retry Some(3601) left 2 input Some(10) done None
            2 extract 10 b: Waits { until: 3601 }; failed lease None retry Some(3601) left 2 input Some(10) done None
            3601 extract 10 b: taken; running lease Some(7201) retry None left 2 input Some(10) done None
            3602 fail b: own; failed lease None retry Some(7202) left 1 input Some(10) done None
            7202 extract 10 c: taken; running lease Some(10802) retry None left 1 input Some(10) done None
            7203 fail c: own; failed lease None retry Some(10803) left 0 input Some(10) done None
            20000 extract 10 d: GivenUp; failed lease None retry Some(10803) left 0 input Some(10) done None
            20000 extract 30 d: taken; running lease Some(23600) retry None left 3 input Some(30) done None
        "#]],
    );
}

#[test]
fn extracts_that_come_meanwhile_are_merged_afterwards() {
    check_life(
        "
        0 merge a
        0 due 10
        1 merge a
        2 due 10
        3 renew a
        4 renew b
        5 succeed a 10
        6 merge b
        7 succeed b 11
        8 merge c
        9 due 5
        9 merge c
        10 fail c
        11 merge d
        12 due 6
        12 merge d
        ",
        &expect![[r#"
            0 merge a: UpToDate; 
            0 due 10: due; pending lease None retry None left 3 input Some(10) done Some(0)
            1 merge a: taken; running lease Some(3601) retry None left 3 input Some(10) done Some(0)
            2 due 10: due; running lease Some(3601) retry None left 3 input Some(11) done Some(0)
            3 renew a: own; running lease Some(3603) retry None left 3 input Some(11) done Some(0)
            4 renew b: another's; running lease Some(3603) retry None left 3 input Some(11) done Some(0)
            5 succeed a 10: own; done lease None retry None left 3 input Some(11) done Some(10)
            6 merge b: taken; running lease Some(3606) retry None left 3 input Some(11) done Some(10)
            7 succeed b 11: own; done lease None retry None left 3 input Some(11) done Some(11)
            8 merge c: UpToDate; done lease None retry None left 3 input Some(11) done Some(11)
            9 due 5: due; pending lease None retry None left 3 input Some(12) done Some(11)
            9 merge c: taken; running lease Some(3609) retry None left 3 input Some(12) done Some(11)
            10 fail c: own; failed lease None retry Some(3610) left 2 input Some(12) done Some(11)
            11 merge d: Waits { until: 3610 }; failed lease None retry Some(3610) left 2 input Some(12) done Some(11)
            12 due 6: due; pending lease None retry None left 3 input Some(13) done Some(11)
            12 merge d: taken; running lease Some(3612) retry None left 3 input Some(13) done Some(11)
        "#]],
    );
}
