/**
 * How a defect, a planted mistake of the service, is put into a simulation: it replaces classes of
 * the simulation or wraps its request handling. The simulator itself knows nothing about defects.
 */
import type { ApiRequest } from '#contract/request-and-reply.ts';
import type { Settings } from '#src/config/settings.ts';
import type { Handled } from '#src/http/service/api.ts';
import { type Parts, Simulation } from '#src/simulation/simulation.ts';

export type Handler = (request: ApiRequest) => Handled;

/** What a defect changes in a simulation. */
export interface Planted {
  /** Classes that replace those of the simulation. */
  readonly parts?: Partial<Parts>;
  /** Wraps the request handler; called once per simulation, so again after a reset. */
  readonly around?: (next: Handler, simulation: Simulation) => Handler;
}

export class WrongSimulation extends Simulation {
  readonly #handle: Handler;

  constructor(settings: Settings, startMs: number, { parts = {}, around }: Planted) {
    super(settings, startMs, parts);
    const sound: Handler = (request) => super.handle(request);
    this.#handle = around === undefined ? sound : around(sound, this);
  }

  override handle(request: ApiRequest): Handled {
    return this.#handle(request);
  }
}

/** What the catalogue says about a defect. */
export interface Defect {
  readonly name: string;
  readonly rule: string;
  /** What a server with the defect does. */
  readonly does: string;
  /** Why a black-box test with flags, two minutes and polls of a second cannot detect it. */
  readonly unseen?: string;
}

export interface DefectRow {
  readonly defect: Defect;
  readonly planted: Planted;
}

export function breaking(
  rule: string,
  rows: Readonly<Record<string, readonly [does: string, planted: Planted, unseen?: string]>>,
): DefectRow[] {
  return Object.entries(rows).map(([name, [does, planted, unseen]]) => {
    return { defect: { name, rule, does, ...(unseen !== undefined && { unseen }) }, planted };
  });
}

/** Reasons why a black-box test cannot see a defect (`Defect.unseen`). */
export const because = {
  aDay: 'it shows a day later at the earliest',
  reportedLater:
    'a device may report later what it was handed (taskPickup), and does so at its next poll',
  aMonth: 'it shows when the next month of the quota has begun',
  aChange: 'a SIM would have to be switched off, or withdrawn, during the run',
  aQuota: 'it needs an account whose remaining quota is small and known',
  aRecipient: 'it needs a second recipient of --allow-to',
  anotherSim: 'it needs two working SIMs of one account, and the flags name one',
  noSim: 'it needs an account without a connected SIM, which no flag names',
} as const;
