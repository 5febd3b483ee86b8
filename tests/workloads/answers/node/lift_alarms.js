// SPDX-License-Identifier: Apache-2.0
// Watches the lifts of a town: each tells where it is, and its last thirty messages are looked at when it stands still. A
// technician's answer is remembered for the four thousand lifts that were asked about last.
'use strict';
const {steadily} = require('./pace.js');

class LiftState {
  constructor(number) {
    this.number = number;
    this.messages = [];
    this.stood = 0;
  }

  add(message) {
    this.messages.push(message);
    if (this.messages.length > 30) this.messages.shift();
    if (message.speed === 0) this.stood++;
  }
}

class Answers {
  constructor(most) {
    this.most = most;
    this.byLift = new Map();
  }

  remember(lift, text) {
    this.byLift.delete(lift);
    this.byLift.set(lift, text);
    if (this.byLift.size > this.most) this.byLift.delete(this.byLift.keys().next().value);
  }
}

const lifts = Array.from({length: 2200}, (_, n) => new LiftState(n));
const answers = new Answers(4000);

steadily(4000, (number) => {
  const lift = lifts[number * 7 % lifts.length];
  lift.add({floor: number % 23, speed: number * 13 % 11, doors: `doors of ${number} are closed`, at: Date.now()});
  if (number % 9 === 0) answers.remember(number * 31 % 90_000, `Lift ${number} was looked at: ${lift.messages.length} messages`);
});
