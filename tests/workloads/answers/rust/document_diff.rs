// SPDX-License-Identifier: Apache-2.0
//! What differs between two versions of a document, by a table of all pairs of lines. In the 22nd second someone compares
//! two versions of a very long one.

mod pace;

type Lines = Vec<String>;

fn version(lines: usize, changed_every: usize) -> Lines {
    (0..lines).map(|n| if n % changed_every == 0 { format!("changed {n}") } else { format!("line {n}") }).collect()
}

#[inline(never)]
fn common_lines(old: &Lines, new: &Lines) -> u32 {
    let mut table = vec![vec![0u32; new.len() + 1]; old.len() + 1];
    for i in 0..old.len() {
        for j in 0..new.len() {
            table[i + 1][j + 1] =
                if old[i] == new[j] { table[i][j] + 1 } else { table[i][j + 1].max(table[i + 1][j]) };
        }
    }
    table[old.len()][new.len()]
}

fn main() {
    let stored: Vec<Lines> = (0..30).map(|n| version(15_000, n + 7)).collect();
    let mut common = 0u64;
    pace::steadily(5.0, |number| {
        let lines = if number == 110 { 9_000 } else { 300 };
        let old = &stored[(number % 30) as usize][..lines].to_vec();
        common += u64::from(common_lines(old, &version(lines, 9)));
    })
}
