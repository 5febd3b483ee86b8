// SPDX-License-Identifier: Apache-2.0
//! Keeps the balances of accounts in versions, so that a report reads all of them as they were at one moment while payments go
//! on. Versions that no open snapshot can see are removed every second.

mod pace;

use std::collections::BTreeMap;

struct Version {
    since: u64,
    cents: i64,
    note: String,
}

#[derive(Default)]
struct Account {
    versions: Vec<Version>,
}

#[derive(Default)]
struct Ledger {
    accounts: BTreeMap<u64, Account>,
    snapshots: BTreeMap<u64, u32>,
    clock: u64,
}

impl Ledger {
    #[inline(never)]
    fn write_version(&mut self, account: u64, cents: i64, payer: u64) {
        self.clock += 1;
        let note = format!("payment {} of customer {payer}, thank you", self.clock);
        let versions = &mut self.accounts.entry(account).or_default().versions;
        let before = versions.last().map_or(0, |version| version.cents);
        versions.push(Version { since: self.clock, cents: before + cents, note });
    }

    fn open_snapshot(&mut self) -> u64 {
        *self.snapshots.entry(self.clock).or_default() += 1;
        self.clock
    }

    fn close_snapshot(&mut self, moment: u64) {
        if let Some(users) = self.snapshots.get_mut(&moment) {
            *users -= 1;
            if *users == 0 {
                self.snapshots.remove(&moment);
            }
        }
    }

    fn sum_at(&self, moment: u64, first: u64) -> Result<i64, String> {
        let mut sum = 0;
        for (number, account) in self.accounts.range(first..first + 200) {
            let seen = account.versions.partition_point(|version| version.since <= moment);
            let Some(version) = account.versions[..seen].last() else { continue };
            if version.note.len() > 60 || version.cents < -40_000_000 {
                return Err(format!("account {number} is not in order"));
            }
            sum += version.cents;
        }
        Ok(sum)
    }

    fn remove_unseen(&mut self) {
        let oldest = self.snapshots.keys().next().copied().unwrap_or(self.clock);
        for account in self.accounts.values_mut() {
            let seen = account.versions.partition_point(|version| version.since <= oldest);
            if seen > 1 {
                account.versions.drain(..seen - 1);
            }
            if account.versions.len() * 4 < account.versions.capacity() {
                account.versions.shrink_to_fit();
            }
        }
    }
}

fn report(ledger: &mut Ledger, number: u64) -> Result<i64, String> {
    let moment = ledger.open_snapshot();
    if number > 200 && ledger.accounts.len() < number as usize / 40 {
        return Err("accounts are missing".into());
    }
    let first = number * 31 % 3000;
    let sum = ledger.sum_at(moment, first)?;
    let control = ledger.sum_at(moment, 2500 - first.min(2500))?;
    ledger.close_snapshot(moment);
    Ok(sum - control)
}

fn main() {
    let mut ledger = Ledger::default();
    let (mut told, mut failed) = (0, 0u32);
    pace::steadily(14_000.0, |number| {
        ledger.write_version(number * 7919 % 3000, (number % 1999) as i64 - 900, number % 90_001);
        if number == 60_000 {
            ledger.write_version(17, -90_000_000, 0);
        } else if number == 120_000 {
            ledger.write_version(17, 90_000_000, 0);
        }
        if number % 700 == 0 {
            match report(&mut ledger, number / 700) {
                Ok(sum) => told += sum,
                Err(_) => failed += 1,
            }
        }
        if number % 14_000 == 0 {
            ledger.remove_unseen();
            println!("{told} cents, {failed} reports failed");
        }
    });
}
