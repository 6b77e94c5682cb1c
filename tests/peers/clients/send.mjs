import assert from "node:assert";
import client from "./out/index.js";

const { Configuration, MessagesApi } = client;
const messages = new MessagesApi(
  new Configuration({ basePath: process.argv[2], username: "demo", password: "demo-api-key" }),
);
const sent = await messages.sendMessage({
  sendRequest: { to: ["491701234567"], from: "Helio", content: "Hello", dlr: true },
});
assert.equal((await messages.getMessage({ id: sent.id })).to, "491701234567");
assert.equal((await messages.listMessages({ pending: true, limit: 2 })).count, 1);
await assert.rejects(messages.cancelMessage({ id: sent.id }), (refused) => refused.response.status === 409);
console.log(sent.id);
