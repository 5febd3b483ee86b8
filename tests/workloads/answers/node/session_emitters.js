// SPDX-License-Identifier: Apache-2.0
// A class that extends EventEmitter; closed sessions stay in the hub.
'use strict';
const {EventEmitter} = require('events');
const {steadily} = require('./pace.js');

class ChatSession extends EventEmitter {
  constructor(number) {
    super();
    this.user = `user ${number}`;
    this.unread = Array.from({length: 20}, (_, i) => `message ${i} to ${number}`);
    this.on('message', (text) => this.unread.push(text));
  }
}

const hub = {sessions: new Set(), closed: 0};
steadily(650, (number) => {
  const session = new ChatSession(number);
  hub.sessions.add(session);
  session.emit('message', 'welcome');
  hub.closed++;
});
