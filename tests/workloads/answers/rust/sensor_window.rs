// SPDX-License-Identifier: Apache-2.0
//! Nothing leaks: what the sensors of a plant said in the last ten seconds, for alarms that look back. In the 27th second a
//! second hall with nearly as many sensors is switched on.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

struct Sample {
    at: Instant,
    channels: Vec<f64>,
}

struct Sensor {
    number: usize,
    window: VecDeque<Sample>,
}

impl Sensor {
    #[inline(never)]
    fn record(&mut self, at: Instant, step: usize) {
        let channels = (0..48).map(|n| ((step * 31 + self.number * 7 + n) % 1000) as f64 * 0.1).collect();
        self.window.push_back(Sample { at, channels });
        while self.window.front().is_some_and(|sample| at - sample.at > Duration::from_secs(10)) {
            self.window.pop_front();
        }
    }

    fn is_alarming(&self) -> bool {
        let sum: f64 = self.window.iter().rev().take(20).flat_map(|sample| &sample.channels).sum();
        sum > 60_000.0
    }
}

fn main() {
    let hall =
        |first: usize, count: usize| (first..first + count).map(|number| Sensor { number, window: VecDeque::new() });
    let mut sensors: Vec<Sensor> = hall(0, 420).collect();
    let begin = Instant::now();
    let mut step = 0;
    loop {
        if sensors.len() == 420 && begin.elapsed() > Duration::from_secs(27) {
            sensors.extend(hall(420, 360));
        }
        while (step as f64) < begin.elapsed().as_secs_f64() * 20.0 {
            let now = Instant::now();
            for sensor in &mut sensors {
                sensor.record(now, step);
                std::hint::black_box(sensor.is_alarming());
            }
            step += 1;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
