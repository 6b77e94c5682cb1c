// Takes receipts, messages from phones and notices, once each, and only genuine ones. It needs nothing but Node.js 18 or newer.
//
//   HELIOGRAPH_SIGNING_SECRET=whsec_... node receiver.mjs 8081

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

if (!process.env.HELIOGRAPH_SIGNING_SECRET || !process.argv[2]) {
  console.error("HELIOGRAPH_SIGNING_SECRET=whsec_... node receiver.mjs PORT");
  process.exit(2);
}
const key = Buffer.from(process.env.HELIOGRAPH_SIGNING_SECRET.replace(/^whsec_/, ""), "base64");
const seen = new Set(); // in a real program: a table, written in the transaction that uses the fields

function genuine(headers, body) {
  const identity = headers["webhook-id"] ?? "";
  const moment = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(moment) || Math.abs(Date.now() / 1000 - Number(moment)) > 300) return false;
  const digest = createHmac("sha256", key).update(`${identity}.${moment}.`).update(body).digest("base64");
  const expected = Buffer.from("v1," + digest);
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function read(mediaType, body) {
  if (mediaType.startsWith("application/json")) return JSON.parse(body.toString());
  return Object.fromEntries(new URLSearchParams(body.toString()));
}

function take(fields) {
  if ("message_status" in fields) console.log("receipt", fields.id, fields.message_status, fields.err);
  else if ("from" in fields) console.log("inbound", fields.from, fields.to, fields.content);
  else if (fields.type === "account.low_balance") console.log("low balance", fields.account, fields.balance);
}

createServer(async (request, answer) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  if (request.method !== "POST" || !genuine(request.headers, body)) {
    answer.writeHead(401).end();
    return;
  }
  const identity = request.headers["webhook-id"];
  if (!seen.has(identity)) { // the same comes again if our answer was lost
    take(read(request.headers["content-type"] ?? "", body));
    seen.add(identity);
  }
  answer.writeHead(204).end();
}).listen(Number(process.argv[2]), "127.0.0.1");
