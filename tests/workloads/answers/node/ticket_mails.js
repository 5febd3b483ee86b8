// SPDX-License-Identifier: Apache-2.0
// Reads the mails that come to a support desk. A mail belongs to a ticket by the references in its header, and a mail that
// was seen before is not read twice.
'use strict';
const crypto = require('node:crypto');
const {steadily} = require('./pace.js');

class ThreadIndex {
  constructor() {
    this.ticketOf = new Map();
    this.duplicates = 0;
  }

  assign(messageId, references, number) {
    if (this.ticketOf.has(messageId)) {
      this.duplicates++;
      return null;
    }
    const known = references.find((reference) => this.ticketOf.has(reference));
    const ticket = known ? this.ticketOf.get(known) : number;
    this.ticketOf.set(messageId, ticket);
    return ticket;
  }
}

class MailReader {
  constructor(index) {
    this.index = index;
    this.words = 0;
  }

  readMail(source, number) {
    const messageId = /^Message-ID: <([^>]+)>/m.exec(source)[1];
    const references = [...source.matchAll(/^References: <([^>]+)>/mg)].map((found) => found[1]);
    this.words += source.split(' ').length;
    return this.index.assign(messageId, references, number);
  }
}

const sentences = Array.from({length: 40}, (_, n) => `Good morning, part ${n * 37} of my order has not arrived yet.\r\n`);

function receiveMail(number) {
  const digest = (n) => crypto.createHash('md5').update(`mail ${n}`).digest('hex');
  const lines = [`From: customer-${number % 7000}@example.org`, `Message-ID: <${digest(number)}@mail.example.org>`,
    `References: <${digest(number - number % 9)}@mail.example.org>`, '', ''];
  let body = '';
  for (let n = 0; n < 60 + number % 50; n++) body += sentences[(number * 13 + n) % sentences.length];
  return Buffer.from(lines.join('\r\n') + body, 'latin1').toString('latin1');
}

const desk = {reader: new MailReader(new ThreadIndex())};
steadily(240, (number) => desk.reader.readMail(receiveMail(number), number));
