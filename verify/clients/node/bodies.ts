/** Clients that send invalid bodies, or their key outside the Authorization header. */
import { headersOf, type Job, type Message, type NodeClient, sendPath } from '../client.ts';
import { get, inTurn, post } from './deliver.ts';
import { axiosOn, bodyOf, eachBy, gotOn, kyOn } from './library.ts';

const invalid = { rule: 'CLIENT-15' } as const;
const showsKey = { rule: 'CLIENT-16' } as const;

/** Careful, with other fields in the body. */
function sending(fields: (message: Message) => object): NodeClient['run'] {
  return inTurn({
    bodyOf: (message, id) => ({ ...bodyOf(message), request_id: id, ...fields(message) }),
  });
}

/** Sends each message to another path than a careful client. */
function sendingTo(pathOf: (job: Job) => string): NodeClient['run'] {
  return (job) => inTurn({ path: pathOf(job) })(job);
}

export const bodies: readonly NodeClient[] = [
  {
    ...invalid,
    name: 'national-number',
    library: 'fetch',
    does: 'sends to a number in the national format',
    run: sending(() => ({ to: '(202) 555-0123' })),
  },
  {
    ...invalid,
    name: 'longer-than-1600',
    library: 'fetch',
    does: 'sends texts of any length',
    run: sending(({ message }) => ({ message: message.padEnd(1_700, '.') })),
  },
  {
    ...invalid,
    name: 'send-at-in-local-time',
    library: 'fetch',
    does: 'writes send_at without a zone',
    run: sending(() => ({ send_at: isoIn(3_600_000).slice(0, 19) })),
  },
  {
    ...invalid,
    name: 'send-at-in-the-past',
    library: 'axios',
    does: 'sends what was due while it was switched off, with its old send_at',
    run: eachBy((job) =>
      axiosOn(
        job,
        () => {},
        (message) => ({ ...bodyOf(message), send_at: isoIn(-60_000) }),
      ),
    ),
  },
  {
    ...invalid,
    name: 'null-for-absent',
    library: 'ky',
    does: 'writes null for an optional field that it does not use',
    run: eachBy((job) => kyOn(job, {}, (message) => ({ ...bodyOf(message), send_at: null }))),
  },
  {
    ...invalid,
    name: 'number-as-a-number',
    library: 'got',
    does: 'writes a phone number as a JSON number',
    onSocket: true,
    run: eachBy((job) => gotOn(job, {}, (message) => ({ ...bodyOf(message), to: 12_025_550_123 }))),
  },
  {
    ...invalid,
    name: 'no-sender',
    library: 'fetch',
    does: 'leaves the sender to the service',
    run: sending(() => ({ from: undefined })),
  },
  {
    ...showsKey,
    name: 'key-in-the-query',
    library: 'fetch',
    does: 'appends its key to every URL',
    run: sendingTo(({ key }) => `${sendPath}?api_key=${key}`),
  },
  {
    ...showsKey,
    name: 'key-in-the-query-of-a-read',
    library: 'fetch',
    does: 'asks for received messages by a link that holds its key',
    run: async (job) => void (await get(job, `/api/v1/sms/received/?page=1&token=${job.key}`)),
  },
  {
    ...showsKey,
    name: 'key-in-the-body',
    library: 'axios',
    does: 'sends its key as a field of the body too',
    run: eachBy((job) =>
      axiosOn(
        job,
        () => {},
        (message) => ({ ...bodyOf(message), api_key: job.key }),
      ),
    ),
  },
  {
    ...showsKey,
    name: 'key-in-the-path',
    library: 'fetch',
    does: 'calls an address with its key in the path first, as another service wants it',
    run: async (job) => {
      await get(job, `/bot${job.key}/status/`);
      await get(job, `/api/v1/account/${job.key}/stats/`);
    },
  },
  {
    ...showsKey,
    name: 'key-in-the-request-id',
    library: 'fetch',
    does: 'makes its request_ids unique by its key',
    run: (job) =>
      inTurn({ idOf: ({ intent }) => `${job.key}/${intent}`, reportOf: () => undefined })(job),
  },
  {
    ...showsKey,
    name: 'key-in-the-text',
    library: 'ky',
    does: 'sends its configuration as a message, to test the way',
    run: async (job) => {
      const text = JSON.stringify(headersOf(job.key));
      const messages = job.messages.map((one) => ({ ...one, message: text }));
      await eachBy((own) => kyOn(own, {}))({ ...job, messages, report: () => {} });
    },
  },
  {
    ...showsKey,
    name: 'key-in-a-form',
    library: 'fetch',
    does: 'logs in by a form with its key before it sends',
    run: async (job) => {
      const body = new URLSearchParams({ key: job.key });
      await job.fetch(`${job.baseUrl}/api/v1/account/stats/`, { method: 'POST', body });
      for (const message of job.messages) await post(job, bodyOf(message));
    },
  },
];

function isoIn(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
