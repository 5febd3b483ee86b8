// SPDX-License-Identifier: Apache-2.0
// A payment service that answers a repeated request as it did before. Answers are to be forgotten after five seconds, but
// when they end is in seconds, and now in milliseconds since the process began.
'use strict';
const http = require('node:http');
const {steadily} = require('./pace.js');

class StoredAnswer {
  constructor(status, body, expires) {
    this.status = status;
    this.body = body;
    this.expires = expires;
  }
}

function idempotency(handler) {
  const answered = new Map();
  setInterval(() => {
    for (const [key, answer] of answered) if (answer.expires * 1000 < process.uptime()) answered.delete(key);
  }, 1000);
  return (key, payment) => {
    let answer = answered.get(key);
    if (!answer) {
      answer = new StoredAnswer(201, handler(payment), process.uptime() + 5);
      answered.set(key, answer);
    }
    return answer;
  };
}

const pay = idempotency((payment) => ({
  ...payment, state: 'accepted', lines: payment.articles.map((article) => ({article, cents: article * 17 % 9000})),
}));

const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => body += chunk);
  request.on('end', () => {
    const answer = pay(request.headers['idempotency-key'], JSON.parse(body));
    response.writeHead(answer.status, {'content-type': 'application/json'}).end(JSON.stringify(answer.body));
  });
});

// The shops: one of five asks twice.
server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({keepAlive: true, maxSockets: 8});
  steadily(320, (number) => {
    const headers = {'idempotency-key': `shop-${number - (number % 5 === 4 ? 1 : 0)}`};
    const payment = {number, iban: `DE${number * 7919}`, articles: Array.from({length: 140}, (_, n) => number * 31 + n)};
    http.request({agent, port: server.address().port, method: 'POST', path: '/payments', headers}, (r) => r.resume())
        .end(JSON.stringify(payment));
  });
});
