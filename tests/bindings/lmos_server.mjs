// An agent that speaks the LMOS protocol over WebSocket, on the server of the package ws. Its first line on standard
// output is its port; each message that comes is a further line. With `tls CERTIFICATE KEY` it is one of HTTPS.
import { createRequire } from "node:module";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";

const { WebSocketServer } = createRequire(process.argv[2] + "/")("ws");
const [mode, certificate, key] = process.argv.slice(3);
const secured = mode === "tls" ? createServer({ cert: readFileSync(certificate), key: readFileSync(key) }) : null;
const server = new WebSocketServer({
  ...(secured ? { server: secured } : { host: "127.0.0.1", port: 0 }),
  handleProtocols: (offered) => (offered.has("lmosprotocol") && mode !== "other" ? "lmosprotocol" : false),
});
server.on("listening", () => console.log((secured ?? server).address().port));
secured?.listen(0, "127.0.0.1");

// The correlations of the actions that have asked.
const asked = new Set();
const properties = { language: "de", volume: 3 };

server.on("connection", (socket, request) => {
  let streaming = null;
  socket.on("message", (bytes, isBinary) => {
    if (isBinary) return streaming(bytes);
    const message = JSON.parse(bytes.toString());
    console.log(JSON.stringify(message));
    const { thingID, messageID, correlationID } = message;
    // Documents of the protocol spell ids in two ways.
    const answer = (members) =>
      socket.send(JSON.stringify({ thingID, messageID: randomUUID(), correlationID, ...members }));
    const other = (members) =>
      socket.send(JSON.stringify({ thingId: thingID, messageId: randomUUID(), correlationId: messageID, ...members }));
    const status = (status, output) =>
      other({ messageType: "actionStatus", action: message.action, status, ...(output === undefined ? {} : { output }) });
    const timestamp = "2026-11-22T10:00:00Z";
    const reading = (name) => answer({ messageType: "propertyReading", name, value: properties[name], timestamp });
    const event = (name, data) => other({ messageType: "event", event: name, data, timestamp });
    const actions = {
      getWeather() {
        // Of another call, and of another Thing.
        answer({ messageType: "actionStatus", correlationID: randomUUID(), status: "failed" });
        answer({ messageType: "actionStatus", thingID: "urn:example:other", status: "failed" });
        status("pending");
        status("completed", `Sunny in ${message.input.city}`);
      },
      count() {
        for (let number = 1; number <= message.input; number++) status("running", `${number}`);
        status("completed", { count: message.input });
      },
      transcribe() {
        if (streaming) return; // further input
        let bytes = 0, left = message.input.frames;
        streaming = (frame) => {
          bytes += frame.length;
          socket.send(Buffer.from(frame).reverse(), { binary: true });
          left -= 1;
          if (left === 0) status("completed", { bytes });
        };
      },
      collect() {
        streaming ??= [];
        streaming.push(message.input);
        if (streaming.length === 3) status("completed", streaming);
      },
      ask: () => status("input-required", "Which Bonn?"),
      which() {
        if (asked.has(correlationID)) return status("completed", `Dry in ${message.input}.`);
        asked.add(correlationID);
        status("input-required", "Which city?");
      },
      echo: () => status("completed", { echo: message.input }),
      pieces() {
        for (const piece of ["# Plan\n", "\n", "- one\n", "- two\n"]) status("running", piece);
        status("completed", "done");
      },
      sacp: () => status("completed", { thought: "hm", status: "success", data: { city: "Bonn" }, message: "Found." }),
      sorry: () =>
        other({ messageType: "actionStatus", action: "sorry", status: "failed", error: { title: "No station answers" } }),
      fail: () => status("failed", "no such city"),
      refuse: () =>
        answer({ messageType: "error", type: "about:blank", title: "Refused", status: "403", detail: "not today", instance: "urn:x" }),
      wait: () => status("pending"),
      garbage: () => socket.send("{"),
      untyped: () => socket.send("{}"),
      odd: () => status("perhaps"),
      large: () => status("completed", "x".repeat(message.input)),
      close: () => socket.close(4000, "going away"),
      cut: () => socket.terminate(),
      headers: () => status("completed", request.headers[message.input] ?? request.url),
    };
    switch (message.messageType) {
      case "invokeAction":
        return actions[message.action]();
      case "cancelAction":
        return status("cancelled");
      case "queryAction":
        return status("running", "half");
      case "readProperty":
        return reading(message.name);
      case "writeProperty":
        properties[message.name] = message.data;
        return answer({ messageType: "propertyReadings", data: { [message.name]: message.data }, timestamp });
      case "writeMultipleProperties":
        Object.assign(properties, message.data);
        return answer({ messageType: "propertyReadings", data: { ...properties }, timestamp });
      case "observeProperty":
        return [1, 2, 3].forEach((value) => answer({ messageType: "propertyReading", name: message.name, value, timestamp }));
      case "subscribeEvent":
        event(message.event, { rating: 4 });
        socket.send(Buffer.from([7, 8]), { binary: true });
        return event(message.event, { rating: 5 });
      case "subscribeAllEvents":
        event("one", 1);
        return event("two", 2);
    }
  });
});
