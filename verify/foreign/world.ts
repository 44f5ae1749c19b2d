/**
 * The data of the foreign server: accounts, SIMs and messages, as plain records. A message's status
 * is computed from the polls of its device since it was due, so there are no timers.
 */
import { randomUUID } from 'node:crypto';
import type { Variation } from './variation.ts';

export interface Sim {
  readonly id: string;
  readonly number: string;
  readonly active: boolean;
  /** The device polls over HTTP itself: only that picks up messages. */
  readonly pollsItself: boolean;
  /** How many messages each poll takes, by the poll's time. */
  readonly taken: Map<number, number>;
}

export interface Account {
  readonly id: string;
  readonly keys: readonly string[];
  readonly sims: readonly Sim[];
  readonly quota: number;
  used: number;
  readonly messages: Message[];
  /** Received messages, newest first. */
  readonly inbound: readonly Inbound[];
}

export interface Inbound {
  readonly id: string;
  readonly sim: Sim;
  readonly from: string;
  readonly text: string;
  readonly receivedAtMs: number;
}

export interface Message {
  readonly id: string;
  readonly account: Account;
  readonly sim: Sim;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly requestId: string;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  /** The poll that takes it, unless the device asks for it earlier. */
  readonly pollAtMs: number;
  pickedUpAtMs: number | undefined;
}

function sim(number: string, options: Partial<Sim> = {}): Sim {
  return {
    id: randomUUID(),
    number,
    active: true,
    pollsItself: false,
    taken: new Map(),
    ...options,
  };
}

export const inboundTexts = ['Yes', 'Please call'];

function account(keys: readonly string[], sims: readonly Sim[], quota = 1_000_000): Account {
  const inbound = sims.slice(0, 1).flatMap((sim) =>
    inboundTexts.map((text, at) => ({
      id: randomUUID(),
      sim,
      from: `+1202555018${at}`,
      text,
      receivedAtMs: Date.UTC(2026, 0, 2, 3, 4, 5) - at,
    })),
  );
  return { id: randomUUID(), keys, sims, quota, used: 0, messages: [], inbound };
}

const key = (name: string): string => `key-${name}-${randomUUID().replaceAll('-', '')}`;

/** A world with everything that the harness's flags can describe. */
export function makeWorld() {
  const keys = { main: key('main'), other: key('other'), revoked: key('revoked') };
  const main = account(
    [keys.main, keys.other],
    [sim('+12025550101'), sim('+12025550102'), sim('+12025550103', { active: false })],
  );
  const second = account([key('second')], [sim('+12025550111')]);
  const exhausted = account([key('exhausted')], [sim('+12025550121')], 0);
  const pool = sim('+12025550190');
  const number = (of: Account, at = 0): string => of.sims[at]?.number ?? '';
  return {
    accounts: [main, second, exhausted],
    pool,
    /** The flags of `conform` that describe this world. */
    flags: {
      'api-key': keys.main,
      'other-api-key': keys.other,
      'second-api-key': second.keys[0] ?? '',
      'revoked-key': keys.revoked,
      'exhausted-api-key': exhausted.keys[0] ?? '',
      from: number(main),
      'second-from': number(second),
      'exhausted-from': number(exhausted),
      'inactive-from': number(main, 2),
      'foreign-from': number(second),
      'unknown-from': '+12025550199',
      to: '+12025550150',
      'device-id': main.sims[0]?.id ?? '',
    },
  };
}

const steps = ['queued', 'sending', 'sent', 'delivered'] as const;

/** STATE-1 to STATE-3: one step for each poll of the device after the message was due. */
export function statusOf(message: Message, nowMs: number, variation: Variation): string {
  const pollMs = pollMsOf(variation);
  const { dueAtMs } = message;
  const pickedUpAtMs =
    message.pickedUpAtMs ?? (message.sim.pollsItself ? Number.POSITIVE_INFINITY : message.pollAtMs);
  if (nowMs < dueAtMs && variation.holdsAsScheduled) return 'scheduled';
  if (nowMs < pickedUpAtMs) return 'queued';
  const polls = Math.floor((nowMs - pickedUpAtMs) / pollMs) + 1;
  if (polls >= 3 && variation.messagesFail) return 'failed';
  return steps[Math.min(polls, 3)] ?? 'delivered';
}

/** The first poll after the message is due that still has room for it. */
export function pollFor(sim: Sim, dueAtMs: number, variation: Variation): number {
  const pollMs = pollMsOf(variation);
  let atMs = (Math.floor(dueAtMs / pollMs) + 1) * pollMs;
  while ((sim.taken.get(atMs) ?? 0) >= (variation.sendsPerPoll ?? Number.POSITIVE_INFINITY))
    atMs += pollMs;
  sim.taken.set(atMs, (sim.taken.get(atMs) ?? 0) + 1);
  return atMs;
}

function pollMsOf({ pollSeconds = 1 }: Variation): number {
  return pollSeconds * 1_000;
}
