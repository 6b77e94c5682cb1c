// Writes the deliver_sm of texts from phones as npm `smpp` puts them on the wire: see ../README.md.
const smpp = require('smpp');

const PHONE = {source_addr_ton: 1, source_addr_npi: 1, source_addr: '447700900123', destination_addr: '3388'};
const LONG = 'Long texts come in parts, and €uros are {two} septets. '.repeat(6);
const WIDE = 'Длинный текст 😀 по частям. '.repeat(8);
const captured = [];

function write(name, text, parts) {
  const pdus = parts.map((fields, place) => new smpp.PDU('deliver_sm', {sequence_number: place + 1, ...PHONE, ...fields}));
  captured.push({name, text, pdus: pdus.map((pdu) => pdu.toBuffer().toString('hex'))});
}

function cut(octets, size) {
  const found = [];
  for (let at = 0; at < octets.length; at += size) found.push(octets.subarray(at, at + size));
  return found;
}

const gsm = cut(smpp.encodings.ASCII.encode(LONG), 153);
const ucs2 = cut(smpp.encodings.UCS2.encode(WIDE), 133);
for (const [name, text, pieces, coding] of [['gsm', LONG, gsm, 0], ['ucs2', WIDE, ucs2, 8]]) {
  write(`${name}, 8 bit header`, text, pieces.map((message, place) => ({
    data_coding: coding, short_message: {udh: Buffer.from([5, 0, 3, 200, pieces.length, place + 1]), message},
  })));
  write(`${name}, 16 bit header`, text, pieces.map((message, place) => ({
    data_coding: coding, short_message: {udh: Buffer.from([6, 8, 4, 200, 77, pieces.length, place + 1]), message},
  })));
  write(`${name}, sar`, text, pieces.map((message, place) => ({
    data_coding: coding, short_message: message,
    sar_msg_ref_num: 51277, sar_total_segments: pieces.length, sar_segment_seqnum: place + 1,
  })));
}
for (const [language, text] of [[1, 'İyi geceler, şeker ğ€'], [2, 'Adiós, Ángel'], [3, 'não, João: Ω']]) {
  write(`tables of language ${language}`, text, [{
    short_message: {udh: Buffer.from([6, 0x24, 1, language, 0x25, 1, language]), message: text},
  }]);
}
write('latin-1', 'Grüße à toi', [{data_coding: 3, short_message: 'Grüße à toi'}]);
write('ports', 'hi', [{
  data_coding: 0, short_message: {udh: Buffer.from([6, 5, 4, 0x0b, 0x84, 0x23, 0xf0]), message: Buffer.from('hi')},
}]);
process.stdout.write('[\n' + captured.map((row) => '  ' + JSON.stringify(row)).join(',\n') + '\n]\n');
