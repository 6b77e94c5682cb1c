// Sends a message and asks what became of it. It needs nothing but Node.js 18 or newer.
//
//   HELIOGRAPH_URL=https://sms.example.net HELIOGRAPH_USER=acme HELIOGRAPH_API_KEY=... \
//     node client.mjs 491701234567 'Hello, world' [URL for the receipt]

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

export class Heliograph {
  constructor(url, user, apiKey) {
    this.url = url.replace(/\/$/, "");
    this.authorization = "Basic " + Buffer.from(`${user}:${apiKey}`).toString("base64");
  }

  /** What it would cost. Nothing is sent. */
  quote(fields) {
    return this.call("POST", "/api/v1/messages/quote", fields);
  }

  /** Sends it once, however often the connection breaks: all tries carry the same reference. */
  send(fields) {
    return this.call("POST", "/api/v1/messages", { reference: randomUUID(), ...fields }, 5);
  }

  get(id) {
    return this.call("GET", `/api/v1/messages/${id}`);
  }

  /** Takes back a scheduled one, and its price. */
  cancel(id) {
    return this.call("DELETE", `/api/v1/messages/${id}`, undefined, 5);
  }

  async balance() {
    return (await this.call("POST", "/api/v1/account/balance")).Message;
  }

  async call(method, path, fields, tries = 1) {
    for (let pause = 1; ; pause++) {
      let answer;
      try {
        answer = await fetch(this.url + path, {
          method,
          headers: { Authorization: this.authorization, "Content-Type": "application/json" },
          body: fields && JSON.stringify(fields),
          signal: AbortSignal.timeout(30_000),
        });
        const result = await answer.json();
        if (answer.ok) return result;
        if (![429, 503, 504].includes(answer.status) || pause === tries) {
          throw Object.assign(new Error(`${answer.status} ${result.Status}: ${result.Message}`), { refused: true });
        }
      } catch (error) {
        if (error.refused || pause === tries) throw error;
      }
      await sleep(1000 * Number(answer?.headers.get("retry-after") ?? pause));
    }
  }
}

const [to, content, receiptUrl] = process.argv.slice(2);
const { HELIOGRAPH_URL, HELIOGRAPH_USER, HELIOGRAPH_API_KEY } = process.env;
if (!(content && HELIOGRAPH_URL && HELIOGRAPH_USER && HELIOGRAPH_API_KEY)) {
  console.error("HELIOGRAPH_URL=... HELIOGRAPH_USER=... HELIOGRAPH_API_KEY=... node client.mjs NUMBER TEXT [RECEIPT_URL]");
  process.exit(2);
}
const gateway = new Heliograph(HELIOGRAPH_URL, HELIOGRAPH_USER, HELIOGRAPH_API_KEY);
const message = { to, from: "Heliograph", content };
try {
  const quote = await gateway.quote(message);
  console.log("costs", quote.Rate, "in", quote.Segments, quote.Encoding);
  const sent = await gateway.send({ ...message, ...(receiptUrl && { dlr: "yes", "dlr-url": receiptUrl }) });
  console.log("sent", sent.Id);
  console.log("status", (await gateway.get(sent.Id)).Status);
  const later = await gateway.send({ ...message, time: Math.floor(Date.now() / 1000) + 3600 });
  await gateway.cancel(later.Id);
  console.log("cancelled", later.Id);
  console.log("balance", await gateway.balance());
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
