// SPDX-License-Identifier: Apache-2.0
//! Healthy: every five seconds the trips of a day are read, sorted and forgotten; a table of stops stays.

use std::thread;
use std::time::Duration;

struct Trip {
    line: String,
    minutes: [u32; 16],
}

#[inline(never)]
fn plan_day(day: u32, trips: u32) -> u64 {
    let mut planned: Vec<Trip> =
        (0..trips).map(|n| Trip { line: format!("line {} of day {day}", n % 300), minutes: [n * 31 % 1440; 16] }).collect();
    planned.sort_by(|a, b| (a.minutes[0], &a.line).cmp(&(b.minutes[0], &b.line)));
    thread::sleep(Duration::from_millis(1500));
    planned.iter().map(|trip| trip.minutes[3] as u64).sum()
}

fn main() {
    let stops: Vec<String> = (0..150_000).map(|n| format!("stop {n} of the network, platform {}", n % 7)).collect();
    for day in 0.. {
        println!("{} {}", stops.len(), plan_day(day, 280_000 + day * 7919 % 50_000));
        thread::sleep(Duration::from_millis(3500));
    }
}
