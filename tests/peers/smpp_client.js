// npm's smpp as a client: node smpp_client.js PORT DESTINATION...
// Binds, submits a text to each destination, waits for the receipts of those that were taken (two where the number
// ends in 9012), unbinds, and prints what it saw as one JSON object.
'use strict';

const smpp = require('smpp');

const [port, ...destinations] = process.argv.slice(2);
const answers = [];
const receipts = [];
const session = smpp.connect({ url: `smpp://127.0.0.1:${port}`, auto_enquire_link_period: 10000 });

function fail(reason) {
  console.error(String(reason));
  process.exit(1);
}

function finishWhenAllCame() {
  if (answers.length < destinations.length || answers.includes(undefined)) return;
  const taken = destinations.filter((_, index) => answers[index].status === 0);
  const owed = taken.length + taken.filter((number) => number.endsWith('9012')).length;
  if (receipts.length < owed) return;
  session.unbind(() => {
    session.close();
    console.log(JSON.stringify({ answers, receipts }));
  });
}

session.on('error', fail);
session.on('deliver_sm', (pdu) => {
  session.send(pdu.response());
  receipts.push({
    id: pdu.receipted_message_id,
    state: pdu.message_state,
    source: pdu.source_addr,
    text: pdu.short_message.message,
  });
  finishWhenAllCame();
});
session.bind_transceiver({ system_id: process.env.SYSTEM_ID || 'npm', password: process.env.PASSWORD || 'secret' }, (bound) => {
  if (bound.command_status !== 0) fail(`bind: ${bound.command_status}`);
  destinations.forEach((destination, index) => {
    const message = { source_addr: 'Npm', destination_addr: destination, registered_delivery: 1 };
    // data_coding 0: left to itself it writes GSM 03.38 and calls it ASCII
    session.submit_sm({ ...message, data_coding: 0, short_message: 'grüße aus npm' }, (pdu) => {
      answers[index] = { status: pdu.command_status, id: pdu.message_id || '' };
      finishWhenAllCame();
    });
  });
});
