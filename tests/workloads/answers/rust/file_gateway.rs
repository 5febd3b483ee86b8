// SPDX-License-Identifier: Apache-2.0
//! A gateway for files: clients open a transfer, send its pieces and close it. Transfers have numbers, so that a client may
//! ask how far its own has come.

mod pace;

use std::collections::VecDeque;

#[derive(Clone)]
enum Slot {
    Free,
    Open { client: u32, name: [u8; 96], digest: [u32; 32], received: u64 },
}

#[derive(Default)]
struct TransferTable {
    slots: Vec<Slot>,
    open: usize,
}

impl TransferTable {
    #[inline(never)]
    fn begin(&mut self, client: u32, number: u64) -> usize {
        let mut name = [b' '; 96];
        let text = format!("/clients/{client}/outgoing/document-{number}.pdf");
        name[..text.len()].copy_from_slice(text.as_bytes());
        self.slots.push(Slot::Open { client, name, digest: [0; 32], received: 0 });
        self.open += 1;
        self.slots.len() - 1
    }

    fn receive(&mut self, id: usize, piece: &[u8]) {
        if let Slot::Open { digest, received, .. } = &mut self.slots[id] {
            for (n, byte) in piece.iter().enumerate() {
                digest[n % 32] = digest[n % 32].wrapping_mul(31).wrapping_add(u32::from(*byte));
            }
            *received += piece.len() as u64;
        }
    }

    fn finish(&mut self, id: usize) -> u64 {
        let Slot::Open { client, name, digest, received } = std::mem::replace(&mut self.slots[id], Slot::Free) else {
            return 0;
        };
        self.open -= 1;
        received + u64::from(client) + u64::from(digest[7]) + u64::from(name[9])
    }
}

#[derive(Default)]
struct Gateway {
    transfers: TransferTable,
    under_way: VecDeque<usize>,
    finished: u64,
}

fn main() {
    let mut gateway = Gateway::default();
    pace::steadily(4200.0, |number| {
        let piece = vec![(number % 251) as u8; 1000 + (number * 7919 % 2000) as usize];
        let id = gateway.transfers.begin((number % 5000) as u32, number);
        gateway.transfers.receive(id, &piece);
        gateway.under_way.push_back(id);
        if gateway.under_way.len() > 600 {
            let eldest = gateway.under_way.pop_front().unwrap();
            gateway.transfers.receive(eldest, &piece[..500]);
            gateway.finished = gateway.finished.wrapping_add(gateway.transfers.finish(eldest));
        }
        if number % 50_000 == 0 {
            println!("{} open, {}", gateway.transfers.open, gateway.finished);
        }
    });
}
