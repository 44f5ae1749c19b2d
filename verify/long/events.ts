/**
 * The events that disturb the service in a soak: each says on which days and at which time of day
 * it is due. Those of one time of day happen in the order of the list. Half of a day's load comes
 * before the events of noon, half after them.
 */
import type { Traffic } from './traffic.ts';
import { type SoakAccount, sendEndpoints } from './world.ts';

/** What an event may do. */
export interface Run {
  readonly day: number;
  readonly traffic: Traffic;
  readonly accounts: readonly SoakAccount[];
  /** Sets these faults, or none. */
  setFaults(faults: readonly object[]): Promise<void>;
  /** Gives the account an inbound message. */
  receive(account: SoakAccount): Promise<void>;
  connectSlowPeers(): Promise<void>;
  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Continues from a snapshot in a new process. */
  moveOn(): Promise<void>;
  /** Sets simulated time to the end of the day. */
  skipRest(): Promise<void>;
}

export interface Event {
  readonly name: string;
  readonly at: 'morning' | 'noon' | 'evening';
  /** `daysLeft`: the number of days after this one. */
  readonly isDue: (day: number, daysLeft: number) => boolean;
  readonly happen: (run: Run) => Promise<void>;
}

const faultKinds = [
  { kind: 'lost_response' },
  { kind: 'delay', ms: 30 },
  { kind: 'refuse' },
  { kind: 'status', status: 500 },
  { kind: 'truncate' },
  { kind: 'malformed' },
] as const;

const burstSends = 150;
const always = () => true;

export const events: readonly Event[] = [
  {
    name: 'faults',
    at: 'morning',
    isDue: (day) => day % 3 === 0,
    // Two kinds at a time, each for one request in ten.
    happen: (run) => {
      const first = (run.day / 3) * 2;
      const faults = [first, first + 1].map((index) => faultKinds[index % faultKinds.length]);
      return run.setFaults(faults.map((fault) => ({ when: { probability: 0.1 }, fault })));
    },
  },
  {
    name: 'slow peers',
    at: 'morning',
    isDue: (day) => day % 3 === 1,
    happen: (run) => run.connectSlowPeers(),
  },
  { name: 'end of the faults', at: 'noon', isDue: always, happen: (run) => run.setFaults([]) },
  {
    name: 'burst',
    at: 'noon',
    isDue: always,
    happen: async (run) => {
      const account = run.accounts[run.day % run.accounts.length];
      const endpoint = sendEndpoints[run.day % sendEndpoints.length];
      if (account === undefined || endpoint === undefined) return;
      await run.traffic.burst(account, endpoint, burstSends);
      await run.receive(account);
    },
  },
  // The memory of the last day's process is measured, so it is not replaced.
  {
    name: 'kill',
    at: 'noon',
    isDue: (day, daysLeft) => daysLeft > 0 && day % 4 === 0,
    happen: (run) => run.restart('SIGKILL'),
  },
  {
    name: 'stop',
    at: 'noon',
    isDue: (day, daysLeft) => daysLeft > 0 && day % 4 === 2,
    happen: (run) => run.restart('SIGTERM'),
  },
  {
    name: 'snapshot',
    at: 'evening',
    isDue: (day, daysLeft) => daysLeft === 1 || (daysLeft > 0 && day % 5 === 4),
    happen: (run) => run.moveOn(),
  },
  { name: 'clock', at: 'evening', isDue: always, happen: (run) => run.skipRest() },
];
