// A message centre on npm's smpp that sends messages from phones, and repeats each until it is answered ESME_ROK.
//
//   node phones.js MESSAGES.json [PAUSE_MS [MOST]]
//
// The file is a list of objects: name, from, to, text, and for one part of a long message also reference, total, number
// and how (`udh8`, `udh16` or `sar`). One with `gsm` goes in the library's own GSM 03.38, others in UCS-2. They are sent
// in this order, over all links in turn, one each PAUSE_MS, and at most MOST over one link. What is submitted for phones
// is taken, and told. Writes a JSON object a line for what comes; the first says where it listens.
const fs = require('fs');
const smpp = require('smpp');

const waiting = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const pause = Number(process.argv[3] || 5);
const most = Number(process.argv[4] || Infinity);
const say = (line) => process.stdout.write(JSON.stringify({...line, at: Date.now()}) + '\n');
const receivers = [];
let turn = 0;
let ids = 0;

function header(message) {
  if (message.how === 'udh8') return Buffer.from([5, 0, 3, message.reference & 255, message.total, message.number]);
  const {reference} = message;
  return Buffer.from([6, 8, 4, reference >> 8, reference & 255, message.total, message.number]);
}

function pdu(message) {
  const to = {source_addr: message.from, destination_addr: message.to};
  if (message.gsm) return {...to, data_coding: 0, short_message: message.text};
  const made = {...to, data_coding: 8};
  const text = Buffer.from(message.text, 'utf16le').swap16();
  if (!message.how) return {...made, short_message: text};
  if (message.how === 'sar') {
    return {
      ...made,
      short_message: text,
      sar_msg_ref_num: message.reference,
      sar_total_segments: message.total,
      sar_segment_seqnum: message.number,
    };
  }
  return {...made, esm_class: 0x40, short_message: Buffer.concat([header(message), text])};
}

function send() {
  const ready = receivers.filter((each) => each.sent < most);
  const session = ready[(turn += 1) % (ready.length || 1)];
  if (!session || !waiting.length) return;
  const message = waiting.shift();
  session.sent += 1;
  let over = false;
  const end = (status) => {
    if (over) return;
    over = true;
    session.open.delete(end);
    say({event: 'answered', name: message.name, status});
    if (status === 0) return;
    waiting.unshift(message);
    session.sent -= 1;
  };
  session.open.add(end);
  session.deliver_sm(pdu(message), (answer) => end(answer.command_status));
}

const server = smpp.createServer((session) => {
  session.open = new Set();
  session.sent = 0;
  session.on('error', (error) => say({event: 'error', error: String(error)}));
  for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
    session.on(command, (bind) => {
      session.send(bind.response({system_id: 'npm'}));
      if (command !== 'bind_transmitter') receivers.push(session);
    });
  }
  session.on('submit_sm', (request) => {
    const {source_addr: from, destination_addr: to, short_message: text} = request;
    say({event: 'submitted', from, to, text: text.message});
    session.send(request.response({message_id: String((ids += 1))}));
  });
  session.on('enquire_link', (request) => session.send(request.response()));
  session.on('unbind', (request) => {
    session.send(request.response());
    session.close();
  });
  session.on('close', () => {
    const at = receivers.indexOf(session);
    if (at >= 0) receivers.splice(at, 1);
    for (const end of [...session.open]) end(-1);
  });
});

setInterval(send, pause);
server.listen(0, '127.0.0.1', () => say({event: 'listening', port: server.address().port}));
