// A message centre on npm's smpp that ends its links in good order, again and again, with messages in flight.
//
//   node unbinding.js MESSAGES TIMES WINDOW [ANSWER_MS]
//
// Answers each submit_sm after ANSWER_MS. After every MESSAGES of them it sends unbind, as soon as it has WINDOW of them
// to answer: none can be on its way to it then. When the unbind is answered it closes the link. It does so TIMES times.
// Writes a JSON object a line for what comes; the first says where it listens.
const smpp = require('smpp');

const every = Number(process.argv[2]);
const times = Number(process.argv[3]);
const window = Number(process.argv[4]);
const answerMs = Number(process.argv[5] || 300);
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
let taken = 0;
let unbinds = 0;

const server = smpp.createServer((session) => {
  let ending = false;
  let inFlight = 0;
  session.on('error', (error) => say({event: 'error', error: String(error)}));
  session.on('bind_transceiver', (pdu) => session.send(pdu.response({system_id: 'npm'})));
  session.on('submit_sm', (pdu) => {
    taken += 1;
    inFlight += 1;
    const id = `npm-${taken}`;
    say({event: 'submit_sm', id, destination_addr: pdu.destination_addr, after_unbind: ending});
    setTimeout(() => {
      inFlight -= 1;
      session.send(pdu.response({message_id: id}));
    }, answerMs);
    if (taken < (unbinds + 1) * every || inFlight < window || unbinds >= times || ending) return;
    ending = true;
    unbinds += 1;
    say({event: 'unbind', in_flight: inFlight});
    session.unbind((answer) => {
      say({event: 'unbind answered', status: answer.command_status, in_flight: inFlight});
      session.close();
    });
  });
  session.on('enquire_link', (pdu) => session.send(pdu.response()));
  session.on('unbind', (pdu) => {
    session.send(pdu.response());
    session.close();
  });
});

server.listen(0, '127.0.0.1', () => say({event: 'listening', port: server.address().port}));
