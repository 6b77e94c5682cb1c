// npm's smpp as a customer: node esme.js PORT SYSTEM_ID PASSWORD MESSAGES
// MESSAGES is a JSON list of {from, to, text}. Submits one each 20 ms, binds again when the connection ends, and repeats
// the messages without an answer. Prints answers, receipts and phones' messages, each as a line of JSON, until it is ended.
'use strict';

const smpp = require('smpp');

const [port, system_id, password, list] = process.argv.slice(2);
const messages = JSON.parse(list);
const unanswered = new Set(messages.keys());

function print(event) {
  console.log(JSON.stringify(event));
}

function submit(session, number) {
  const { from, to, text } = messages[number];
  const content = text.length > 160 ? { short_message: '', message_payload: text } : { short_message: text };
  const message = { source_addr: from, destination_addr: to, registered_delivery: 1, data_coding: 0, ...content };
  session.submit_sm(message, (pdu) => {
    unanswered.delete(number);
    print({ event: 'answer', number, status: pdu.command_status, id: pdu.message_id || '' });
  });
}

function bind() {
  const session = smpp.connect({ url: `smpp://127.0.0.1:${port}`, auto_enquire_link_period: 10000 });
  const due = [...unanswered];
  let timer;
  session.on('deliver_sm', (pdu) => {
    session.send(pdu.response());
    if (pdu.esm_class & 4) print({ event: 'receipt', id: pdu.receipted_message_id, text: pdu.short_message.message });
    else print({ event: 'phone', from: pdu.source_addr, text: pdu.short_message.message });
  });
  session.on('error', () => {});
  session.on('close', () => {
    clearInterval(timer);
    setTimeout(bind, 200);
  });
  session.bind_transceiver({ system_id, password }, (bound) => {
    if (bound.command_status !== 0) process.exit(1);
    timer = setInterval(() => {
      if (due.length) submit(session, due.shift());
      else clearInterval(timer);
    }, 20);
  });
}

bind();
