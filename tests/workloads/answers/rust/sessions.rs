// SPDX-License-Identifier: Apache-2.0
//! Sessions by token in a map behind a mutex; nobody ends one.

mod pace;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

struct Session {
    user: String,
    basket: Vec<u64>,
}

type Sessions = Arc<Mutex<HashMap<String, Session>>>;

#[inline(never)]
fn log_in(sessions: &Sessions, number: u64) {
    let session = Session { user: format!("user-{number}"), basket: vec![number; 90] };
    sessions.lock().unwrap().insert(format!("token-{number:016x}"), session);
}

fn main() {
    let sessions = Sessions::default();
    pace::steadily(4000.0, |number| {
        log_in(&sessions, number);
        if number % 100_000 == 99_999 {
            let all = sessions.lock().unwrap();
            println!("{} {}", all.len(), all.values().map(|s| s.user.len() + s.basket.len()).sum::<usize>());
        }
    });
}
