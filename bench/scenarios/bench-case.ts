/**
 * The cases that the bench measures, grouped in scenarios: for each case the settings of its
 * simulator, the requests that it sends and the cost that it may have.
 */
import type { SettingsInput } from '#src/simulator.ts';
import { type RequestTemplate, type Slot, sendTemplate, type Workload } from '../load/workload.ts';

/** All scenarios run if no flag names one. */
export const scenarioNames = ['send', 'read', 'throttled', 'mixed', 'limit-audit'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface Caller {
  readonly apiKey: string;
  readonly from: string;
  readonly to: string;
  readonly messageIds: readonly string[];
}

export interface BenchCase {
  readonly scenario: ScenarioName;
  readonly name: string;
  readonly what: string;
  readonly settings: SettingsInput;
  readonly reads?: true;
  readonly workload: (caller: Caller) => Workload;
  /** The highest permitted ratio to the CPU per request of the bare HyperExpress handler. */
  readonly bar?: number;
}

const sim = { number: '+12025550101', polling: 'external' } as const;
/** The only SIM waits for an external device that never polls, so messages keep their status. */
const idleWorld = { accounts: [{ name: 'bench', sims: [sim] }] };
const pollingWorld = { accounts: [{ name: 'bench', sims: [{ number: sim.number }] }] };
/** 20 simulated seconds pass in 20 milliseconds, so a message is delivered within a second. */
const deliveringRate = 1_000;

export const cases: readonly BenchCase[] = [
  {
    scenario: 'send',
    name: 'send',
    what: 'a send without request_id; no rate limits',
    settings: { noLimits: true, world: idleWorld },
    workload: sends('no request_id'),
    bar: 1.3,
  },
  {
    scenario: 'send',
    name: 'send-fresh-id',
    what: 'a send with a request_id of its own; no rate limits',
    settings: { noLimits: true, world: idleWorld },
    workload: sends('fresh request_ids'),
    bar: 1.5,
  },
  {
    scenario: 'send',
    name: 'send-whole-life',
    what: 'a send without request_id, while all messages are delivered',
    settings: { noLimits: true, world: pollingWorld, clock: 'scaled', rate: deliveringRate },
    workload: sends('no request_id'),
    bar: 1.7,
  },
  {
    scenario: 'read',
    name: 'read',
    what: 'a status read among the held messages',
    settings: { noLimits: true, world: idleWorld },
    reads: true,
    workload: (caller) => ({ requests: [readTemplate(caller)], expects: [200] }),
    bar: 1.2,
  },
  {
    scenario: 'throttled',
    name: 'throttled',
    what: 'sends far above their limit: all but 120 a minute are answered 429',
    settings: {
      world: {
        accounts: [{ ...idleWorld.accounts[0], name: 'bench', monthly_quota: 'unlimited' }],
      },
    },
    workload: sends('no request_id', 429),
    bar: 0.9,
  },
  {
    scenario: 'mixed',
    name: 'mixed',
    what: 'one send with a request_id of its own to three status reads; every message delivered',
    settings: { noLimits: true, world: pollingWorld, clock: 'scaled', rate: deliveringRate },
    reads: true,
    workload: (caller) => {
      const read = readTemplate(caller);
      return {
        requests: [sendOf(caller, 'fresh request_ids'), read, read, read],
        expects: [200, 202],
      };
    },
  },
];

type RequestIds = 'no request_id' | 'fresh request_ids';

/** `also`: statuses other than 202 that are not errors. */
function sends(ids: RequestIds, ...also: readonly number[]): BenchCase['workload'] {
  return (caller) => ({ requests: [sendOf(caller, ids)], expects: [202, ...also] });
}

/** `mayLimit`: the service may have limits that the bench did not set, so a 429 is no error. */
export function workloadOf(
  benchCase: BenchCase,
  caller: Caller,
  { mayLimit }: { readonly mayLimit: boolean },
): Workload {
  const { requests, expects } = benchCase.workload(caller);
  return { requests, expects: mayLimit ? [...expects, 429] : expects };
}

function sendOf({ apiKey, to, from }: Caller, ids: RequestIds): RequestTemplate {
  const fields = { to, from, message: 'Your appointment is tomorrow at 10:30.' };
  if (ids === 'no request_id') return sendTemplate(apiKey, fields);
  const slot = freshRequestId();
  return { ...sendTemplate(apiKey, { ...fields, request_id: slot.placeholder }), slot };
}

/** A random start of five letters or digits keeps the ids of different rounds and runs apart. */
function freshRequestId(): Slot {
  const start = Math.floor(Math.random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0');
  const textOf = (n: number) => `bench-${start}${String(n).padStart(9, '0')}`;
  return { placeholder: textOf(0), textOf };
}

/** A prime: it has no factor in common with the number of messages, so all of them are read. */
const readStride = 7_919;

function readTemplate({ apiKey, messageIds }: Caller): RequestTemplate {
  const placeholder = '00000000-0000-4000-8000-000000000000';
  // A stride, so that consecutive reads are not of messages that are adjacent in memory.
  const textOf = (n: number) => messageIds[(n * readStride) % messageIds.length] ?? placeholder;
  return {
    method: 'GET',
    path: `/api/v1/sms/${placeholder}/`,
    headers: { authorization: `Bearer ${apiKey}` },
    body: '',
    slot: { placeholder, textOf },
  };
}
