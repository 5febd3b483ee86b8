// SPDX-License-Identifier: Apache-2.0
//! Healthy: the book of an exchange. An order is good for seven seconds, or until it is traded; trades of the last ten
//! thousand orders are kept for the tape.

mod pace;

use std::collections::{BTreeMap, HashMap, VecDeque};

struct Order {
    cents: u32,
    trader: String,
    pieces: Vec<u32>,
}

struct Trade {
    _order: u64,
    _cents: u32,
}

#[derive(Default)]
struct Book {
    orders: HashMap<u64, Order>,
    by_price: BTreeMap<u32, Vec<u64>>,
    tape: VecDeque<Trade>,
}

impl Book {
    #[inline(never)]
    fn place(&mut self, number: u64) {
        let cents = 9000 + (number * 104_729 % 2000) as u32;
        let trader = format!("trader {} of the bank {}", number % 9000, number % 70);
        let pieces = (0..180).map(|n| (number * 31 + n) as u32 % 500).collect();
        self.orders.insert(number, Order { cents, trader, pieces });
        self.by_price.entry(cents).or_default().push(number);
    }

    fn take_out(&mut self, number: u64) -> Option<Order> {
        let order = self.orders.remove(&number)?;
        let level = self.by_price.get_mut(&order.cents)?;
        level.retain(|&other| other != number);
        if level.is_empty() {
            self.by_price.remove(&order.cents);
        }
        Some(order)
    }

    fn trade(&mut self, number: u64) {
        let Some(order) = self.take_out(number) else { return };
        self.tape.push_back(Trade { _order: number, _cents: order.cents + order.pieces.len() as u32 % 7 });
        if self.tape.len() > 10_000 {
            self.tape.pop_front();
        }
    }
}

fn main() {
    let mut book = Book::default();
    let mut seen = 0;
    pace::steadily(8000.0, |number| {
        book.place(number);
        if number % 3 == 0 {
            book.trade(number - number * 7 % 900);
        }
        if let Some(order) = number.checked_sub(56_000).and_then(|old| book.take_out(old)) {
            seen += order.trader.len();
        }
    })
}
