// SPDX-License-Identifier: Apache-2.0
//! Small uploads for 20 seconds, each forgotten; then one of 600 MiB is read into a vector that doubles.

use std::io::Read;
use std::time::{Duration, Instant};

fn read_upload(megabytes: u64) -> usize {
    let mut all = Vec::new();
    std::io::repeat(7).take(megabytes << 20).read_to_end(&mut all).unwrap();
    all.len()
}

fn main() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        std::hint::black_box(read_upload(6));
        std::thread::sleep(Duration::from_millis(400));
    }
    println!("{}", read_upload(600));
}
