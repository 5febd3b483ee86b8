// SPDX-License-Identifier: Apache-2.0
// Finds the best menu for a week: all combinations of dishes are made and then compared. Kitchens have three dishes for each
// of their five courses, and after 24 seconds there is one with eighteen.
'use strict';

class Menu {
  constructor(dishes, cents, calories) {
    this.dishes = dishes;
    this.cents = cents;
    this.calories = calories;
  }

  with(dish) {
    return new Menu([...this.dishes, dish.name], this.cents + dish.cents, this.calories + dish.calories);
  }
}

function combineCourses(courses) {
  let menus = [new Menu([], 0, 0)];
  for (const course of courses) {
    const longer = [];
    for (const menu of menus) {
      for (const dish of course) longer.push(menu.with(dish));
    }
    menus = longer;
  }
  return menus;
}

function bestMenu(courses) {
  const possible = combineCourses(courses).filter((menu) => menu.calories < 4000);
  return possible.sort((a, b) => a.cents - b.cents || b.calories - a.calories)[0];
}

function kitchen(number, dishes) {
  return Array.from({length: 5}, (_, course) => Array.from({length: dishes}, (_, n) =>
    ({name: `dish ${course}-${n}`, cents: 90 + (number * 31 + n * 17 + course) % 400, calories: 200 + (number + n * 71) % 600})));
}

let planned = 0;
const timer = setInterval(() => {
  const isLarge = process.uptime() > 24;
  if (isLarge) clearInterval(timer);
  bestMenu(kitchen(planned++, isLarge ? 18 : 3));
}, 20);
