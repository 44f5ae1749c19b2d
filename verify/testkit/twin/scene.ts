/** A run with short methods for examples, which by default act for the first account. */
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import type { Assumptions } from '#src/sim/assumptions.ts';
import { playStep, type Step } from '../steps/steps.ts';
import { ComparedRun, type ComparedRunOptions } from './compared-run.ts';
import { bearer, postTo, requestTo, type SendPath, sendPaths } from './request.ts';

/** Who calls, with which key; by default the first account with its first key. */
export interface CallOptions {
  readonly who?: number;
  readonly key?: number;
  readonly via?: SendPath;
  readonly changes?: Partial<ApiRequest>;
}

const usualStart = '2026-01-15T10:00:00.000Z';

/** Numbers of the first account (ada), of the second (bert) and of the pool. */
export const numbers = {
  ada: '+12025550101',
  adaExternal: '+12025550102',
  bert: '+12025550111',
  pool: '+12025550190',
} as const;

export class Scene extends ComparedRun {
  constructor(
    assumptions: Partial<Assumptions> = {},
    startsAt = usualStart,
    options: ComparedRunOptions = {},
  ) {
    super({ seed: 1, startMs: Date.parse(startsAt), assumptions }, options);
  }

  /** An acceptable send with some fields replaced; `undefined` removes a field. */
  send(body: Readonly<Record<string, unknown>> = {}, call: CallOptions = {}): ApiReply {
    const usual = { to: '+12025550150', from: numbers.ada, message: 'hello' };
    return this.call(postTo(sendPaths[call.via ?? 'send'], { ...usual, ...body }), call);
  }

  get(path: string, call: CallOptions = {}): ApiReply {
    return this.call(requestTo(path), call);
  }

  read({ body }: ApiReply, call: CallOptions = {}): ApiReply {
    return this.get(`/api/v1/sms/${JSON.parse(body).message_id}/`, call);
  }

  /** The current status of an accepted send, from a read. */
  statusOf(accepted: ApiReply): string {
    return JSON.parse(this.read(accepted).body).status;
  }

  stats(): { quota: { used: number; limit: number | null } } {
    return JSON.parse(this.get('/api/v1/account/stats/').body);
  }

  call(request: ApiRequest, { who = 0, key = 0, changes }: CallOptions): ApiReply {
    const authorization = bearer(this.callers.keysOf(who)[key]?.key ?? 'none');
    const clientIp = '203.0.113.1';
    return this.exchange(who, { ...request, authorization, clientIp, ...changes });
  }

  advance(byMs: number): void {
    this.play({ kind: 'advance', byMs });
  }

  play(step: Step): void {
    playStep(this, step);
  }

  limit(endpoint: SendPath | 'received' | 'tasks', limit: number | null): void {
    this.play({ kind: 'limit', endpoint, limit });
  }

  deviceOf(number: string): string {
    return this.model.sims.find((sim) => sim.number === number)?.deviceId ?? 'none';
  }
}

export function brief({ status, body }: ApiReply): string {
  const parsed: unknown = JSON.parse(body);
  const code = typeof parsed === 'object' && parsed !== null && 'code' in parsed ? parsed.code : '';
  return `${status} ${code}`.trim();
}
