/** The Python clients of the catalogue. Their programs are in `python/`, under the same names. */
import type { ClientEntry } from './client.ts';

const urllib3 = { library: 'urllib3' } as const;
const requests = { library: 'requests' } as const;
const tenacity = { library: 'tenacity' } as const;
const httpx = { library: 'httpx' } as const;

const early = { rule: 'CLIENT-1', also: ['CLIENT-2', 'CLIENT-14'], meets: ['throttle'] } as const;
const changesId = { rule: 'CLIENT-3', also: ['CLIENT-5'], meets: ['lost_response'] } as const;
const twice = { rule: 'CLIENT-5', also: ['CLIENT-4'], meets: ['lost_response'] } as const;
const lost = { meets: ['lost_response'] } as const;

export const pythonClients: readonly ClientEntry[] = [
  {
    ...urllib3,
    ...early,
    name: 'urllib3-ignores-retry-after',
    does: 'sets respect_retry_after_header=False',
  },
  {
    ...urllib3,
    ...twice,
    name: 'urllib3-resends-without-id',
    does: 'retries POST after a broken connection, without a request_id',
  },
  {
    ...urllib3,
    name: 'urllib3-repeats-all-errors',
    rule: 'CLIENT-8',
    does: 'sets status_forcelist to 400 to 599, and meets a 403',
  },
  {
    ...urllib3,
    ...lost,
    name: 'urllib3-swallows',
    rule: 'CLIENT-9',
    does: 'sets retries=False, and passes over every exception',
  },
  {
    ...urllib3,
    name: 'urllib3-nine-retries',
    rule: 'CLIENT-14',
    does: 'retries nine times with a backoff_factor of 0.1',
  },
  {
    ...urllib3,
    name: 'urllib3-respects-retry-after',
    does: 'retries POST by a Retry that respects Retry-After',
  },
  {
    ...requests,
    ...early,
    name: 'requests-sleeps-a-second',
    does: 'sleeps a second after a 429',
  },
  {
    ...requests,
    name: 'requests-received-retried-early',
    rule: 'CLIENT-1',
    does: 'asks again for received messages 15 s after a 429',
  },
  {
    ...requests,
    name: 'requests-list-goes-on',
    rule: 'CLIENT-2',
    meets: ['throttle'],
    does: 'goes on with its list during a 429, and comes back to what was refused',
  },
  {
    ...requests,
    ...changesId,
    name: 'requests-id-per-call',
    does: 'draws a UUID for each call of post',
  },
  {
    ...requests,
    name: 'requests-id-in-a-header',
    rule: 'CLIENT-4',
    does: 'sends the header Idempotency-Key, which the service does not know',
  },
  {
    ...requests,
    name: 'requests-id-of-the-day',
    rule: 'CLIENT-6',
    also: ['CLIENT-10'],
    does: 'uses the present day as request_id',
  },
  {
    ...requests,
    ...lost,
    name: 'requests-queue-of-the-weekend',
    rule: 'CLIENT-7',
    also: ['CLIENT-5'],
    does: 'works through its queue again after the weekend, with the old ids',
  },
  {
    ...requests,
    name: 'requests-does-not-raise',
    rule: 'CLIENT-10',
    meets: ['quota'],
    does: 'leaves out raise_for_status, and reports every message as accepted',
  },
  {
    ...requests,
    name: 'requests-timeout-is-failure',
    rule: 'CLIENT-10',
    meets: ['delay'],
    does: 'reports a message as failed when its timeout is over',
  },
  {
    ...requests,
    name: 'requests-times-out',
    does: 'closes the connection when its timeout is over, and retries under the same id',
  },
  {
    ...requests,
    name: 'requests-polls-every-ten-seconds',
    rule: 'CLIENT-11',
    does: 'reads a message every ten seconds until it is final',
  },
  {
    ...requests,
    name: 'requests-refreshes-all',
    rule: 'CLIENT-12',
    does: 'reads all its messages every minute, whatever they have become',
  },
  {
    ...requests,
    name: 'requests-key-as-parameter',
    rule: 'CLIENT-16',
    does: 'keeps its key in the params of the session too',
  },
  {
    ...requests,
    name: 'requests-integer-number',
    rule: 'CLIENT-15',
    does: 'reads phone numbers from a table as integers',
  },
  {
    ...requests,
    name: 'requests-adapter',
    does: 'retries POST by an HTTPAdapter with a Retry',
  },
  {
    ...requests,
    name: 'requests-own-loop',
    does: 'sleeps for Retry-After in a loop of its own',
  },
  {
    ...requests,
    name: 'requests-restarted',
    does: 'ends before it reads a reply, again and again, with its ids on disk',
  },
  {
    ...tenacity,
    ...early,
    name: 'tenacity-exponential',
    does: 'waits by wait_exponential',
  },
  {
    ...tenacity,
    ...early,
    name: 'tenacity-random',
    does: 'waits by wait_random_exponential',
  },
  {
    ...tenacity,
    ...changesId,
    name: 'tenacity-id-inside',
    does: 'draws the request_id inside the function that tenacity repeats',
  },
  {
    ...tenacity,
    ...twice,
    name: 'tenacity-resends-without-id',
    does: 'repeats a send after any exception, without a request_id',
  },
  {
    ...tenacity,
    name: 'tenacity-any-exception',
    rule: 'CLIENT-8',
    meets: ['quota'],
    does: 'repeats a send after any exception, a 402 too',
  },
  {
    ...tenacity,
    name: 'tenacity-every-two-seconds',
    rule: 'CLIENT-14',
    also: ['CLIENT-10'],
    does: 'waits by wait_fixed(2), twelve times',
  },
  {
    ...tenacity,
    name: 'tenacity-stops-in-silence',
    rule: 'CLIENT-9',
    meets: ['busy'],
    does: 'lets retry_error_callback return nothing',
  },
  {
    ...tenacity,
    name: 'tenacity-by-header',
    does: 'waits by a function that reads Retry-After',
  },
  {
    ...httpx,
    ...early,
    name: 'httpx-waits-at-most-ten-seconds',
    does: 'waits as long as Retry-After says, but at most ten seconds',
  },
  {
    ...httpx,
    name: 'httpx-empty-id',
    rule: 'CLIENT-4',
    does: 'sends an empty request_id',
  },
  {
    ...httpx,
    name: 'httpx-drops-what-is-busy',
    rule: 'CLIENT-9',
    meets: ['busy'],
    does: 'passes over every exception',
  },
  {
    ...httpx,
    ...lost,
    name: 'httpx-lost-is-failed',
    rule: 'CLIENT-10',
    does: 'reports a message as failed when its reply is lost',
  },
  {
    ...httpx,
    name: 'httpx-polls-received-every-ten-seconds',
    rule: 'CLIENT-13',
    does: 'asks for received messages every ten seconds',
  },
  {
    ...httpx,
    name: 'httpx-number-without-plus',
    rule: 'CLIENT-15',
    does: 'cuts the plus sign off its numbers',
  },
  {
    ...httpx,
    name: 'httpx-key-in-the-body',
    rule: 'CLIENT-16',
    does: 'sends its key in an object of the body too',
  },
  {
    ...httpx,
    name: 'httpx-async',
    does: 'sends by an AsyncClient, and sleeps for Retry-After',
  },
  {
    ...httpx,
    name: 'httpx-several-endpoints',
    does: 'asks for received messages and statistics every half minute',
  },
  {
    library: 'urllib',
    name: 'urllib-counts-from-another-clock',
    does: 'has a clock that is days behind and is set back again and again',
  },
  {
    ...early,
    library: 'urllib',
    name: 'urllib-reads-the-date',
    does: 'reads Retry-After as an HTTP date alone, and waits 5 s for what is none',
  },
];
