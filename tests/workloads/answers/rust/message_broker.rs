// SPDX-License-Identifier: Apache-2.0
//! A broker keeps messages for clients that are away, by the client's name. Phones choose a new name when they connect again,
//! and subscribe anew; for the old name messages are kept on.

mod pace;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

struct Publication {
    topic: Arc<str>,
    payload: Vec<u8>,
}

#[derive(Default)]
struct Mailbox {
    online: bool,
    waiting: VecDeque<Publication>,
}

#[derive(Default)]
struct Broker {
    mailboxes: HashMap<String, Mailbox>,
    topics: HashMap<Arc<str>, HashSet<String>>,
    delivered: u64,
}

impl Broker {
    #[inline(never)]
    fn connect(&mut self, client: &str, topic: &str) {
        self.mailboxes.entry(client.to_string()).or_default().online = true;
        self.topics.entry(topic.into()).or_default().insert(client.to_string());
    }

    fn disconnect(&mut self, client: &str) {
        if let Some(mailbox) = self.mailboxes.get_mut(client) {
            mailbox.online = false;
        }
    }

    #[inline(never)]
    fn publish(&mut self, topic: &str, number: u64) {
        let Some((topic, clients)) = self.topics.get_key_value(topic) else { return };
        for client in clients {
            let mailbox = self.mailboxes.get_mut(client).unwrap();
            if mailbox.online {
                self.delivered += 1;
                continue;
            }
            let levels: Vec<u64> = (0..90).map(|n| (number * 7919 + n * 31) % 4000).collect();
            let payload = format!("{{\"topic\":\"{topic}\",\"number\":{number},\"levels\":{levels:?}}}").into_bytes();
            mailbox.waiting.push_back(Publication { topic: topic.clone(), payload });
        }
    }

    fn longest(&self) -> usize {
        self.mailboxes.values().map(|m| m.waiting.iter().map(|p| p.topic.len() + p.payload.len()).sum()).max().unwrap_or(0)
    }
}

fn main() {
    let mut broker = Broker::default();
    let mut last = vec![String::new(); 40];
    pace::steadily(400.0, |number| {
        let topic = format!("stations/{}/level", number % 40);
        if number % 2000 < 40 {
            let place = (number % 40) as usize;
            broker.disconnect(&last[place]);
            last[place] = format!("phone-{number}");
            broker.connect(&last[place], &topic);
        }
        broker.publish(&topic, number);
        if number % 4000 == 0 {
            println!("{} {}", broker.delivered, broker.longest());
        }
    })
}
