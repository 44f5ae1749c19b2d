/** The shell clients of the catalogue. Their programs are in `shell/clients.sh`. */
import type { ClientEntry } from './client.ts';

const curl = { library: 'curl' } as const;
const wget = { library: 'wget' } as const;
const early = { rule: 'CLIENT-1', also: ['CLIENT-2', 'CLIENT-14'], meets: ['throttle'] } as const;

export const shellClients: readonly ClientEntry[] = [
  {
    ...curl,
    ...early,
    name: 'curl_until_it_works',
    does: 'tries every half second until curl --fail succeeds',
  },
  {
    ...wget,
    ...early,
    name: 'wget_waits_by_itself',
    does: 'lets wget repeat 429, whose --waitretry knows no Retry-After',
  },
  {
    ...curl,
    name: 'curl_list_goes_on',
    rule: 'CLIENT-2',
    meets: ['throttle'],
    does: 'goes on with its list during a 429, and reports what was refused as failed',
  },
  {
    ...curl,
    name: 'curl_id_by_uuidgen',
    rule: 'CLIENT-3',
    also: ['CLIENT-5'],
    meets: ['lost_response'],
    does: 'draws a request_id for each attempt',
  },
  { ...curl, name: 'curl_without_id', rule: 'CLIENT-4', does: 'sends no request_id' },
  {
    ...wget,
    name: 'wget_resends',
    rule: 'CLIENT-5',
    also: ['CLIENT-4'],
    meets: ['lost_response'],
    does: 'lets wget send again what got no reply, without a request_id',
  },
  {
    ...curl,
    name: 'curl_retries_all_errors',
    rule: 'CLIENT-8',
    does: 'sets --retry-all-errors, and meets a 401',
  },
  {
    ...curl,
    name: 'curl_retry_max_time',
    rule: 'CLIENT-9',
    meets: ['throttle'],
    also: ['CLIENT-2'],
    does: 'sets --retry-max-time below Retry-After, and goes on in silence',
  },
  {
    ...curl,
    name: 'curl_without_fail',
    rule: 'CLIENT-10',
    meets: ['quota'],
    does: 'leaves out --fail, and takes the exit code 0 for success',
  },
  {
    ...curl,
    name: 'curl_polls_fast',
    rule: 'CLIENT-11',
    does: 'reads a message three times within a second',
  },
  {
    ...curl,
    name: 'curl_watches_received',
    rule: 'CLIENT-13',
    does: 'asks for received messages five times a second',
  },
  { ...curl, name: 'curl_key_in_the_url', rule: 'CLIENT-16', does: 'appends its key to the URL' },
  { ...curl, name: 'curl_retry', does: 'lets curl --retry do the waiting' },
  { ...curl, name: 'curl_http_1_0', does: 'speaks HTTP/1.0' },
  { ...curl, name: 'curl_waits_by_header', does: 'sleeps for the Retry-After that it reads' },
  { ...wget, name: 'wget_waits_by_header', does: 'sleeps for the Retry-After that it reads' },
  { ...curl, name: 'curl_polls_slowly', does: 'reads each message every 20 seconds' },
];
