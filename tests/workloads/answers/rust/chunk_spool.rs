// SPDX-License-Identifier: Apache-2.0
//! Chunks of a video stream are written to a folder from which another program was to take and remove them.

mod pace;

use std::fs;

#[inline(never)]
fn write_chunk(folder: &str, number: u64) {
    let chunk = vec![number as u8; 64 * 1024];
    fs::write(format!("{folder}/chunk-{number:08}.ts"), chunk).expect("a chunk cannot be written");
}

fn main() {
    let folder = std::env::args().nth(1).expect("the folder");
    pace::steadily(45.0, |number| write_chunk(&folder, number));
}
