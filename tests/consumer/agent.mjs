// An agent of A2A 1.0, made with the JavaScript SDK, over JSON-RPC and HTTP+JSON. It prints its port and ends when
// standard input does.
import express from 'express';
import { AgentCard, Message, Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';

const cancelled = [];
const contexts = {};
const message = (context, text) => Message.fromJSON({
  messageId: crypto.randomUUID(), role: 'ROLE_AGENT', contextId: context.contextId, parts: [{ text }],
});
class Weather {
  async execute(context, bus) {
    const said = Message.toJSON(context.userMessage).parts.map((part) => part.text ?? '').join(' ');
    const { taskId, contextId } = context;
    const status = (state, text) => bus.publish(AgentEvent.statusUpdate({
      taskId, contextId, status: { state, message: text && message(context, text), timestamp: new Date().toISOString() },
    }));
    if (said.includes('rain')) bus.publish(AgentEvent.message(message(context, 'Yes, take an umbrella.')));
    else if (said.includes('cancelled')) bus.publish(AgentEvent.message(message(context, String(cancelled.length))));
    else {
      contexts[taskId] = contextId;
      const state = context.task ? TaskState.TASK_STATE_WORKING : TaskState.TASK_STATE_SUBMITTED;
      bus.publish(AgentEvent.task({ id: taskId, contextId, status: { state, timestamp: new Date().toISOString() }, artifacts: [], history: [context.userMessage] }));
      if (context.task) status(TaskState.TASK_STATE_COMPLETED, `It is dry in ${said}.`);
      else if (said.includes('which')) status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?');
      else {
        status(TaskState.TASK_STATE_WORKING, 'Asking the stations');
        if (said.includes('slow')) {
          while (!cancelled.includes(taskId)) await new Promise((done) => setTimeout(done, 20));
          return;
        }
        if (said.includes('fail')) status(TaskState.TASK_STATE_FAILED, 'No station answers');
        else {
          const artifact = (text, append) => bus.publish(AgentEvent.artifactUpdate({
            taskId, contextId, append, lastChunk: append,
            artifact: { artifactId: 'report', name: 'report', parts: Message.fromJSON({ parts: [{ text }] }).parts },
          }));
          artifact('Monday: ', false);
          artifact('sun', true);
          status(TaskState.TASK_STATE_COMPLETED, 'Here is the report.');
        }
      }
    }
    bus.finished();
  }
  async cancelTask(taskId, bus) {
    cancelled.push(taskId);
    bus.publish(AgentEvent.statusUpdate({
      taskId, contextId: contexts[taskId], status: { state: TaskState.TASK_STATE_CANCELED, timestamp: new Date().toISOString() },
    }));
    bus.finished();
  }
}
const app = express();
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  const card = AgentCard.fromJSON({
    name: 'Weather', description: 'Tells the weather forecast', version: '1', capabilities: { streaming: true },
    defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
    supportedInterfaces: [
      { url: `http://127.0.0.1:${port}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url: `http://127.0.0.1:${port}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    skills: [{ id: 'forecast', name: 'Weather forecast', description: 'Forecasts the weather', tags: ['weather'] }],
  });
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Weather());
  const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
  app.get('/.well-known/agent-card.json', (_, response) => response.json(AgentCard.toJSON(card)));
  app.use('/rpc', jsonRpcHandler(options));
  app.use('/rest', restHandler(options));
  console.log(port);
});
process.stdin.on('end', () => process.exit(0)).resume();
