// SPDX-License-Identifier: Apache-2.0
//! Calls a step at a steady rate.

use std::time::{Duration, Instant};

pub fn steadily(per_second: f64, mut step: impl FnMut(u64)) -> ! {
    let begin = Instant::now();
    let mut number = 0;
    loop {
        while (number as f64) < begin.elapsed().as_secs_f64() * per_second {
            step(number);
            number += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
