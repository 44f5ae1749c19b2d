/**
 * The rows of the clients in other languages. Their programs are in `python/` and
 * `shell/clients.sh`, under the same names.
 */
import { breaking, type ClientRow, right } from './client.ts';

const urllib = { library: 'urllib' };
const urllib3 = { library: 'urllib3' };
const requests = { library: 'requests' };
const tenacity = { library: 'tenacity' };
const httpx = { library: 'httpx' };
const curl = { library: 'curl' };
const wget = { library: 'wget' };
const lost = ['lost_response'] as const;
const early = { also: ['CLIENT-2', 'CLIENT-14'], meets: ['throttle'] } as const;

export const pythonClients: readonly ClientRow[] = [
  ...breaking(
    'CLIENT-1',
    early,
  )({
    'urllib3-ignores-retry-after': ['sets respect_retry_after_header=False', urllib3],
    'requests-sleeps-a-second': ['sleeps a second after a 429', requests],
    'tenacity-exponential': ['waits by wait_exponential', tenacity],
    'urllib-reads-the-date': [
      'reads Retry-After as an HTTP date alone, and waits 5 s for what is none',
      urllib,
    ],
  }),
  ...breaking('CLIENT-3', { also: ['CLIENT-5'], meets: lost })({
    'requests-id-per-call': ['draws a UUID for each call of post', requests],
  }),
  ...breaking('CLIENT-6', { also: ['CLIENT-10'] })({
    'requests-id-of-the-day': ['uses the present day as request_id', requests],
  }),
  ...breaking('CLIENT-7', { also: ['CLIENT-5'], meets: lost })({
    'requests-queue-of-the-weekend': [
      'works through its queue again after the weekend, with the old ids',
      requests,
    ],
  }),
  ...breaking('CLIENT-8', { meets: ['quota'] })({
    'tenacity-any-exception': ['repeats a send after any exception, a 402 too', tenacity],
  }),
  ...breaking('CLIENT-9', { meets: ['busy'] })({
    'tenacity-stops-in-silence': ['lets retry_error_callback return nothing', tenacity],
  }),
  ...breaking('CLIENT-10', { meets: lost })({
    'httpx-lost-is-failed': ['reports a message as failed when its reply is lost', httpx],
  }),
  ...breaking('CLIENT-12')({
    'requests-refreshes-all': [
      'reads all its messages every minute, whatever they have become',
      requests,
    ],
  }),
  ...breaking('CLIENT-13')({
    'httpx-polls-received-every-ten-seconds': [
      'asks for received messages every ten seconds',
      httpx,
    ],
  }),
  ...breaking('CLIENT-14', { also: ['CLIENT-10'] })({
    'tenacity-every-two-seconds': ['waits by wait_fixed(2), twelve times', tenacity],
  }),
  ...breaking('CLIENT-15')({
    'httpx-number-without-plus': ['cuts the plus sign off its numbers', httpx],
  }),
  ...breaking('CLIENT-16')({
    'httpx-key-in-the-body': ['sends its key in an object of the body too', httpx],
  }),
  ...breaking('CLIENT-17', { meets: ['overloaded'] })({
    'tenacity-every-five-seconds': ['waits by wait_fixed(5), after a 503 too', tenacity],
  }),
  ...right({
    'urllib3-respects-retry-after': ['retries POST by a Retry that respects Retry-After', urllib3],
    'requests-times-out': [
      'closes the connection when its timeout is over, and retries under the same id',
      requests,
    ],
    'requests-adapter': ['retries POST by an HTTPAdapter with a Retry', requests],
    'requests-restarted': [
      'ends before it reads a reply, again and again, with its ids on disk',
      requests,
    ],
    'tenacity-by-header': ['waits by a function that reads Retry-After', tenacity],
    'httpx-async': ['sends by an AsyncClient, and sleeps for Retry-After', httpx],
    'httpx-several-endpoints': [
      'asks for received messages and statistics every half minute',
      httpx,
    ],
    'urllib-counts-from-another-clock': [
      'has a clock that is days behind and is set back again and again',
      urllib,
    ],
  }),
];

export const shellClients: readonly ClientRow[] = [
  ...breaking(
    'CLIENT-1',
    early,
  )({
    wget_waits_by_itself: ['lets wget repeat 429, whose --waitretry knows no Retry-After', wget],
  }),
  ...breaking('CLIENT-2', { meets: ['throttle'] })({
    curl_list_goes_on: [
      'goes on with its list during a 429, and reports what was refused as failed',
      curl,
    ],
  }),
  ...breaking('CLIENT-4')({ curl_without_id: ['sends no request_id', curl] }),
  ...breaking('CLIENT-5', { also: ['CLIENT-4'], meets: lost })({
    wget_resends: ['lets wget send again what got no reply, without a request_id', wget],
  }),
  ...breaking('CLIENT-9', { also: ['CLIENT-2'], meets: ['throttle'] })({
    curl_retry_max_time: ['sets --retry-max-time below Retry-After, and goes on in silence', curl],
  }),
  ...breaking('CLIENT-10', { meets: ['quota'] })({
    curl_without_fail: ['leaves out --fail, and takes the exit code 0 for success', curl],
  }),
  ...breaking('CLIENT-11')({
    curl_polls_fast: ['reads a message three times within a second', curl],
  }),
  ...right({
    curl_retry: ['lets curl --retry do the waiting', curl],
    curl_http_1_0: ['speaks HTTP/1.0', curl],
    wget_waits_by_header: ['sleeps for the Retry-After that it reads', wget],
  }),
];
