import { Agent, type Dispatcher, RetryAgent, request } from 'undici';
import type { Send, Service } from './client.ts';

export function byDefault(service: Service): Send {
  return sendThrough(new RetryAgent(new Agent()), service);
}

export function recommended(service: Service): Send {
  const agent = new RetryAgent(new Agent({ headersTimeout: 20_000 }), {
    maxRetries: 4,
    methods: ['POST'],
    maxTimeout: 120_000,
    errorCodes: ['ECONNRESET', 'ECONNREFUSED', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'],
  });
  return sendThrough(agent, service);
}

function sendThrough(dispatcher: Dispatcher, { url, headers }: Service): Send {
  return async (message) => {
    const body = JSON.stringify(message);
    const reply = await request(url, { dispatcher, method: 'POST', headers, body });
    if (reply.statusCode >= 300) throw new Error(`${reply.statusCode}`);
    return reply.body.json();
  };
}
