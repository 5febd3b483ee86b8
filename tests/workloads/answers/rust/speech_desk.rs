// SPDX-License-Identifier: Apache-2.0
//! Writes down what callers say. A call has a lattice of the words it may have been for its last words, and lasts six seconds;
//! a campaign on television brings more callers, from the half minute on.

mod pace;

use std::collections::VecDeque;

#[derive(Clone)]
struct Hypothesis {
    words: Vec<u32>,
    score: f32,
}

struct Call {
    ends: f64,
    lattice: Vec<Vec<Hypothesis>>,
    text: Vec<u32>,
}

impl Call {
    #[inline(never)]
    fn listen(&mut self, sound: u64) {
        let before = self.lattice.last().cloned().unwrap_or_else(|| vec![Hypothesis { words: vec![0], score: 0.0 }]);
        let mut next = Vec::with_capacity(24);
        for hypothesis in before.iter().take(8) {
            for word in 0..3 {
                let mut words = hypothesis.words.clone();
                words.push((sound * 31 + word) as u32 % 40_000);
                next.push(Hypothesis { words, score: hypothesis.score - (sound % 97 + word) as f32 });
            }
        }
        next.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.text.push(next[0].words[next[0].words.len() - 1]);
        self.lattice.push(next);
    }
}

#[derive(Default)]
struct Desk {
    calls: VecDeque<Call>,
    written: usize,
}

impl Desk {
    fn answer_call(&mut self, now: f64) {
        self.calls.push_back(Call { ends: now + 6.0, lattice: Vec::new(), text: Vec::new() });
    }

    fn hear(&mut self, now: f64, sound: u64) {
        while self.calls.front().is_some_and(|call| call.ends < now) {
            self.written += self.calls.pop_front().map_or(0, |call| call.text.len());
        }
        for (number, call) in self.calls.iter_mut().enumerate() {
            call.listen(sound * 131 + number as u64);
        }
    }
}

fn callers_per_second(now: f64) -> f64 {
    (44.0 + (now - 30.0).max(0.0) * 2.5).min(80.0)
}

fn main() {
    let mut desk = Desk::default();
    let mut due = 0.0;
    pace::steadily(10.0, |tick| {
        let now = tick as f64 / 10.0;
        due += callers_per_second(now) / 10.0;
        while due >= 1.0 {
            desk.answer_call(now);
            due -= 1.0;
        }
        desk.hear(now, tick);
        if tick % 100 == 0 {
            println!("{} words of {} calls", desk.written, desk.calls.len());
        }
    });
}
