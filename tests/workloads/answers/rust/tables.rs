// SPDX-License-Identifier: Apache-2.0
//! Nothing leaks: a table is replaced every five seconds, the next one built beside the old. `tables MORE`: from the 30th
//! second on it grows by up to MORE percent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn build_table(rows: u64) -> BTreeMap<u64, String> {
    (0..rows).map(|row| (row, format!("row {row:060}"))).collect()
}

fn main() {
    let more: f64 = std::env::args().nth(1).map_or(0.0, |text| text.parse().unwrap());
    let begin = Instant::now();
    let mut table = build_table(200_000);
    loop {
        let age = begin.elapsed().as_secs_f64();
        let added = ((age - 30.0).max(0.0) * 5.0).min(more) / 100.0;
        let next = build_table((200_000.0 * (1.0 + added)) as u64);
        println!("{} rows, {} before", next.len(), table.len());
        table = next;
        std::thread::sleep(Duration::from_secs(if age < 30.0 { 5 } else { 2 }));
    }
}
