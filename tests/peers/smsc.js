// A message centre on npm's smpp: accepts any bind, takes each message, and sends its receipt a moment later.
//
//   node smsc.js [RECEIPT_DELAY_MS] [REFUSE_EVERY] [PORT]
//
// With REFUSE_EVERY it refuses every so many messages with ESME_RSYSERR; 0 takes each message.
// Writes a JSON object a line for what comes; the first says where it listens. Numbers that end in 1 are undelivered,
// with error 042. Who asks for intermediate notifications is told first that a message is on its way.
const smpp = require('smpp');

// What India's registry has operators ask for: C-octet strings by tags of its own.
smpp.addTLV('registered_entity', {id: 0x1400, type: smpp.types.tlv.cstring});
smpp.addTLV('registered_template', {id: 0x1401, type: smpp.types.tlv.cstring});

const receiptDelay = Number(process.argv[2] || 50);
const refuseEvery = Number(process.argv[3] || 0);
const port = Number(process.argv[4] || 0);
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const INTERMEDIATE = 0x20;
const receivers = [];
let taken = 0;
let asked = 0;

function date(moment) {
  const two = (number) => String(number).padStart(2, '0');
  return two(moment.getFullYear() % 100) + two(moment.getMonth() + 1) + two(moment.getDate())
    + two(moment.getHours()) + two(moment.getMinutes());
}

function report(pdu, id, submitted, onTheWay) {
  const delivered = !pdu.destination_addr.endsWith('1');
  const state = onTheWay ? 'ENROUTE' : delivered ? 'DELIVRD' : 'UNDELIV';
  const err = delivered ? '000' : '042';
  const text = `id:${id} sub:001 dlvrd:00${delivered ? 1 : 0} submit date:${date(submitted)} `
    + `done date:${date(new Date())} stat:${state} err:${err} text:`;
  const receiver = receivers[receivers.length - 1];
  if (!receiver) return say({event: 'nobody to report to'});
  receiver.deliver_sm({
    source_addr: pdu.destination_addr,
    destination_addr: pdu.source_addr,
    esm_class: onTheWay ? INTERMEDIATE : smpp.ESM_CLASS.MC_DELIVERY_RECEIPT,
    short_message: text,
    receipted_message_id: id,
    message_state: smpp.MESSAGE_STATE[onTheWay ? 'ENROUTE' : delivered ? 'DELIVERED' : 'UNDELIVERABLE'],
  }, (answer) => say({event: 'receipt answered', id, status: answer.command_status}));
}

function take(session, pdu) {
  asked += 1;
  if (refuseEvery && asked % refuseEvery === 0) {
    say({event: 'refused', destination_addr: pdu.destination_addr});
    return session.send(pdu.response({command_status: smpp.ESME_RSYSERR}));
  }
  const id = `npm-${(taken += 1)}`;
  const where = pdu.message_payload ? 'message_payload' : 'short_message';
  const {udh, message} = pdu[where];
  say({
    event: 'submit_sm',
    id,
    source_addr: pdu.source_addr,
    source: [pdu.source_addr_ton, pdu.source_addr_npi],
    destination_addr: pdu.destination_addr,
    destination: [pdu.dest_addr_ton, pdu.dest_addr_npi],
    esm_class: pdu.esm_class,
    data_coding: pdu.data_coding,
    registered_delivery: pdu.registered_delivery,
    priority_flag: pdu.priority_flag,
    validity_period: pdu.validity_period,
    user_message_reference: pdu.user_message_reference,
    registered: [pdu.registered_entity, pdu.registered_template],
    udh: udh ? Buffer.concat(udh.map((part) => Buffer.from(part))).toString('hex') : null,
    where,
    sar: [pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum],
    text: Buffer.isBuffer(message) ? message.toString('hex') : message,
  });
  session.send(pdu.response({message_id: id}));
  if (pdu.registered_delivery & 0x10) setTimeout(report, receiptDelay / 2, pdu, id, new Date(), true);
  if (pdu.registered_delivery & 1) setTimeout(report, receiptDelay, pdu, id, new Date());
}

const server = smpp.createServer((session) => {
  session.on('error', (error) => say({event: 'error', error: String(error)}));
  for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
    session.on(command, (pdu) => {
      say({event: command, system_id: pdu.system_id, password: pdu.password});
      session.send(pdu.response({system_id: 'npm'}));
      if (command !== 'bind_transmitter') receivers.push(session);
    });
  }
  session.on('submit_sm', (pdu) => take(session, pdu));
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    say({event: 'unbind'});
    session.send(pdu.response());
    session.close();
  });
  session.on('close', () => {
    const at = receivers.indexOf(session);
    if (at >= 0) receivers.splice(at, 1);
  });
});

server.listen(port, '127.0.0.1', () => say({event: 'listening', port: server.address().port}));
