/**
 * The fixed set of faults, and the client rules that it exercises, with the part of a program that
 * can keep each rule. Each fault affects the first of a few messages that are sent one after
 * another.
 */
import type { FaultInput } from '../../src/config/fault-schema.ts';
import type { ClientRuleId } from '../../src/ledger/rules.ts';

export const messageCount = 3;
/**
 * Simulated seconds per real second. At a higher rate, a client's computing time would look like a
 * wait.
 */
export const rate = 6;
export const retryAfterSeconds = 44;
export const slowSeconds = 30;

const unavailable: FaultInput['fault'] = { kind: 'status', status: 503 };

export const faults: Readonly<Record<string, Pick<FaultInput, 'when' | 'fault'>>> = {
  [`429, Retry-After ${retryAfterSeconds}`]: {
    when: { nth: [1] },
    fault: {
      kind: 'status',
      status: 429,
      body: { detail: `Expected available in ${retryAfterSeconds} seconds.` },
      headers: { 'retry-after': String(retryAfterSeconds) },
    },
  },
  '503 once': { when: { nth: [1] }, fault: unavailable },
  '503 three times': { when: { nth: [1, 2, 3] }, fault: unavailable },
  'lost response': { when: { nth: [1] }, fault: { kind: 'lost_response' } },
  'truncated reply': { when: { nth: [1] }, fault: { kind: 'truncate' } },
  'connection reset': { when: { nth: [1] }, fault: { kind: 'refuse' } },
  [`reply after ${slowSeconds} s`]: {
    when: { nth: [1] },
    fault: { kind: 'delay', ms: (slowSeconds * 1_000) / rate },
  },
};

export const shownRules: ReadonlyMap<string, string> = new Map<ClientRuleId, string>([
  ['CLIENT-1', 'the library, if it knows `Retry-After`'],
  [
    'CLIENT-2',
    'the program: it must not go on with the next message; no library here holds it back',
  ],
  ['CLIENT-3', 'the program: an id for each message, made before the first attempt'],
  ['CLIENT-4', 'the program: no library here adds a `request_id`'],
  ['CLIENT-5', 'both: a retry sends once if the program gave the message an id'],
  ['CLIENT-9', 'the program: it must say what the library gave up; this one does'],
  ['CLIENT-10', 'both: only a retry under the same id shows what became of a lost reply'],
  ['CLIENT-14', 'the library: a bound, and pauses that grow'],
]);
