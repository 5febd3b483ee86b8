// SPDX-License-Identifier: Apache-2.0
//! Lays out receipts for the printers of tills. A receipt is read into elements, each of which knows its parent to ask it for
//! its width, and then every element is given its place.

mod pace;

use std::cell::RefCell;
use std::rc::Rc;

struct Element {
    text: String,
    width: u32,
    top: u32,
    parent: Option<Rc<RefCell<Element>>>,
    children: Vec<Rc<RefCell<Element>>>,
}

#[inline(never)]
fn new_element(text: String, parent: Option<&Rc<RefCell<Element>>>) -> Rc<RefCell<Element>> {
    let element = Rc::new(RefCell::new(Element { text, width: 0, top: 0, parent: parent.cloned(), children: Vec::new() }));
    if let Some(parent) = parent {
        parent.borrow_mut().children.push(element.clone());
    }
    element
}

#[inline(never)]
fn read_receipt(number: u64) -> Rc<RefCell<Element>> {
    let receipt = new_element(format!("receipt {number}"), None);
    receipt.borrow_mut().width = 48;
    for line in 0..4 + number % 9 {
        let row = new_element(String::new(), Some(&receipt));
        new_element(format!("{} x article {}", 1 + line % 3, (number * 7919 + line * 31) % 90_000), Some(&row));
        new_element(format!("{:.2}", (number * 31 + line) as f64 % 97.0), Some(&row));
    }
    receipt
}

fn lay_out(element: &Rc<RefCell<Element>>, top: u32) -> u32 {
    let above = element.borrow().parent.as_ref().map(|parent| parent.borrow().width);
    if let Some(width) = above {
        element.borrow_mut().width = width.saturating_sub(2);
    }
    element.borrow_mut().top = top;
    let children = element.borrow().children.clone();
    let mut height = element.borrow().text.len() as u32 / 40;
    for child in &children {
        height += 1 + lay_out(child, top + height);
    }
    height
}

fn main() {
    let mut printed = 0u64;
    pace::steadily(500.0, |number| {
        let receipt = read_receipt(number);
        printed += u64::from(lay_out(&receipt, 0)) + u64::from(receipt.borrow().top);
        if number % 10_000 == 0 {
            println!("{printed} lines");
        }
    });
}
