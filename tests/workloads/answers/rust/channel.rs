// SPDX-License-Identifier: Apache-2.0
//! A channel without a bound: the consumer writes one message of four.

mod pace;

use std::sync::mpsc;

struct Message {
    number: u64,
    body: Box<[u8]>,
}

fn consume(messages: mpsc::Receiver<Message>) {
    pace::steadily(500.0, |_| {
        if let Ok(message) = messages.recv() {
            std::hint::black_box(message.number + u64::from(message.body[0]));
        }
    })
}

fn main() {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || consume(receiver));
    pace::steadily(2000.0, |number| {
        sender.send(Message { number, body: vec![number as u8; 2000].into_boxed_slice() }).unwrap();
    });
}
