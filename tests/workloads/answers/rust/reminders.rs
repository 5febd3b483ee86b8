// SPDX-License-Identifier: Apache-2.0
//! Reminders of a calendar, by the time they are due. One that is moved is put in again, and skipped at its old time, which
//! may be a year from now.

mod pace;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Reminder {
    due: u64,
    version: u32,
    event: u64,
    title: String,
    guests: Vec<String>,
}

#[derive(Default)]
struct Calendar {
    upcoming: BinaryHeap<Reverse<Box<Reminder>>>,
    versions: HashMap<u64, u32>,
    sent: u64,
}

impl Calendar {
    #[inline(never)]
    fn schedule(&mut self, event: u64, due: u64) {
        let version = self.versions.entry(event).or_default();
        *version += 1;
        let guests = (0..8).map(|n| format!("guest-{}@example.com", event * 31 + n)).collect();
        let title = format!("Meeting {event}, moved {version} times");
        self.upcoming.push(Reverse(Box::new(Reminder { due, version: *version, event, title, guests })));
    }

    fn send_due(&mut self, now: u64) {
        while self.upcoming.peek().is_some_and(|next| next.0.due <= now) {
            let Reverse(reminder) = self.upcoming.pop().unwrap();
            if self.versions[&reminder.event] == reminder.version {
                self.sent += reminder.guests.len() as u64;
            }
        }
    }
}

fn main() {
    let mut calendar = Calendar::default();
    pace::steadily(3200.0, |number| {
        let far = if number % 3 == 0 { 200 } else { 40_000_000 + number * 7919 % 1_000_000 };
        calendar.schedule(number * 104_729 % 9_000, number + far);
        calendar.send_due(number);
    })
}
