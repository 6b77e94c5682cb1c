// Writes what npm `smpp` puts on the wire for each PDU of intents.json: see ../README.md.
const fs = require('fs');
const smpp = require('smpp');

const RENAMED = {destination_port: 'dest_port'};
const octets = (value) => (value && value.hex !== undefined ? Buffer.from(value.hex, 'hex') : value);

function options(intent) {
  const found = {sequence_number: intent.sequence, command_status: intent.status || 0};
  for (const [name, value] of Object.entries(intent.fields)) {
    if (name === 'destinations') {
      found.dest_address = value.map((d) => (d.list
        ? {dest_flag: 2, dl_name: d.list}
        : {dest_flag: 1, dest_addr_ton: d.ton, dest_addr_npi: d.npi, destination_addr: d.number}));
    } else if (name === 'unsuccess_sme') {
      found.unsuccess_sme = value.map((d) => ({
        dest_addr_ton: d.ton, dest_addr_npi: d.npi, destination_addr: d.number, error_status_code: d.status,
      }));
    } else {
      found[name] = octets(value);
    }
  }
  for (const [name, value] of Object.entries(intent.tlvs || {})) found[RENAMED[name] || name] = octets(value);
  return found;
}

const intents = JSON.parse(fs.readFileSync(__dirname + '/intents.json'));
const captured = [];
for (const intent of intents) {
  try {
    const hex = new smpp.PDU(intent.command, options(intent)).toBuffer().toString('hex');
    captured.push({...intent, hex});
  } catch (error) {
    console.error(intent.command, intent.sequence, String(error));
  }
}
process.stdout.write('[\n' + captured.map((row) => '  ' + JSON.stringify(row)).join(',\n') + '\n]\n');
