// npm's standardwebhooks as a receiver: reads [secret, [[body, headers], ...]] from the standard input, and prints for
// each request whether its signature is right, for example [true, false].
'use strict';

const { Webhook } = require('standardwebhooks');

const [secret, requests] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const receiver = new Webhook(secret);

function isRight([body, headers]) {
  try {
    receiver.verify(body, headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

console.log(JSON.stringify(requests.map(isRight)));
