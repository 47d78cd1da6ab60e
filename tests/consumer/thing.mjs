// A Thing of node-wot over HTTP. It prints its port and ends when standard input does.
import net from 'node:net';
import core from '@node-wot/core';
import http from '@node-wot/binding-http';

const port = await new Promise((done) => {
  const probe = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = probe.address();
    probe.close(() => done(port));
  });
});
// Its messages go to standard output, which is for the port.
console.debug = console.info = console.log = (...line) => console.error(...line);
const servient = new core.Servient();
servient.addServer(new http.HttpServer({ port, address: '127.0.0.1', baseUri: `http://127.0.0.1:${port}` }));
const wot = await servient.start();
const thing = await wot.produce({
  title: 'weather', id: 'urn:example:node-wot', securityDefinitions: { nosec_sc: { scheme: 'nosec' } }, security: 'nosec_sc',
  properties: { unit: { type: 'string', enum: ['C', 'F'] } },
  actions: {
    forecast: {
      input: { type: 'object', properties: { question: { type: 'string' }, days: { type: 'integer' } }, required: ['question'] },
      output: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
    },
    say: { input: { type: 'string' }, output: { type: 'string' } },
    repeat: {
      uriVariables: { times: { type: 'integer' } },
      input: { type: 'object', properties: { text: { type: 'string' } } }, output: { type: 'string' },
    },
  },
  events: { storm: { data: { type: 'object' } } },
});
let unit = 'C';
thing.setPropertyReadHandler('unit', async () => unit);
thing.setPropertyWriteHandler('unit', async (value) => { unit = await value.value(); });
thing.setActionHandler('forecast', async (input) => {
  const { question, days } = await input.value();
  return { answer: `${question} ${days}` };
});
thing.setActionHandler('say', async (input) => `you said ${await input.value()}`);
thing.setActionHandler('repeat', async (input, options) => {
  const { text } = await input.value();
  return text.repeat(Number(options.uriVariables.times));
});
await thing.expose();
setInterval(() => thing.emitEvent('storm', { force: 9 }), 100);
process.stdout.write(`${port}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
