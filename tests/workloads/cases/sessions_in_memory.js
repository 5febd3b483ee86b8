// SPDX-License-Identifier: Apache-2.0
// express with express-session's default store; visitors without a cookie get a new session each time.
'use strict';
const express = require('express'), session = require('express-session');
const app = express();
app.use(session({ secret: 'kept elsewhere', resave: false, saveUninitialized: true, cookie: { maxAge: 86400000 } }));
app.get('/catalogue', (req, res) => {
  req.session.viewed = Array.from({ length: 120 }, (_, i) => ({ sku: 'sku-' + i * 7, at: Date.now(), price: 100 + i }));
  req.session.locale = 'en';
  res.json({ ok: true });
});
app.listen(+process.argv[2], '127.0.0.1');
