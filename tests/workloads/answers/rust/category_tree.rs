// SPDX-License-Identifier: Apache-2.0
//! The tree of a shop's categories is read again all the time. A category and its parent own each other, so no old tree is freed.

mod pace;

use std::cell::RefCell;
use std::rc::Rc;

struct Category {
    name: String,
    articles: Vec<u64>,
    parent: Option<Rc<RefCell<Category>>>,
    children: Vec<Rc<RefCell<Category>>>,
}

#[inline(never)]
fn read_category(parent: Option<Rc<RefCell<Category>>>, depth: u32, number: u64) -> Rc<RefCell<Category>> {
    let category = Rc::new(RefCell::new(Category {
        name: format!("category {number} at depth {depth}"),
        articles: (0..30).map(|n| number * 31 + n).collect(),
        parent,
        children: Vec::new(),
    }));
    if depth < 4 {
        for n in 0..4 {
            let child = read_category(Some(category.clone()), depth + 1, number + n);
            category.borrow_mut().children.push(child);
        }
    }
    category
}

fn main() {
    let mut seen = 0;
    pace::steadily(14.0, |number| {
        let root = read_category(None, 0, number);
        let root = root.borrow();
        seen += root.name.len() + root.articles.len() + root.children.len() + usize::from(root.parent.is_some());
    })
}
