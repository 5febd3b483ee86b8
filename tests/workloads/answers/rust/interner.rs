// SPDX-License-Identifier: Apache-2.0
//! Names of browsers are interned, to keep each once; each browser has a number of its own in its name.

mod pace;

use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
struct Interner {
    by_name: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Interner {
    #[inline(never)]
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.by_name.get(name) {
            return known;
        }
        let kept: Arc<str> = name.into();
        self.names.push(kept.clone());
        self.by_name.insert(kept, self.names.len() as u32);
        self.names.len() as u32
    }
}

fn main() {
    let mut interner = Interner::default();
    pace::steadily(11000.0, |number| {
        let name = format!("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Browser/128.{number} (session {:x})", number * 40503);
        if interner.intern(&name) % 1_000_000 == 0 {
            println!("{} names", interner.names.len());
        }
    });
}
