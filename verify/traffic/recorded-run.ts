/**
 * Records a run of `conform` as a recorder in front of the service does: it sees each exchange, but
 * not what control operations change.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { getOrAdd } from '#io/grouped.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { type SettingsInput, Simulator } from '#src/simulator.ts';
import { wrongSimulation } from '../defects/catalogue.ts';
import { serveForeign } from '../foreign/server.ts';
import { type ForeignRequest, ForeignService } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { testRate } from '../harness/flags-world.ts';
import { type ConformReport, runConformWithReport, scaledClock } from '../testkit/conform-run.ts';
import { exceedLimits, repeatIdsAndHolds } from './further-traffic.ts';

export interface RecordedRun {
  /** What a recorder in front of the service sees. */
  readonly exchanges: readonly TrafficExchange[];
  /** What a reader of the simulator's journal sees. */
  readonly journal: readonly TrafficEvent[];
  /** The keys of each account. */
  readonly joined: readonly (readonly string[])[];
  /** What the harness itself reported. */
  readonly report: ConformReport;
}

/** Not near the end of a minute: an exchange that may be in two windows of a limiter shows less. */
const startTime = '2026-01-01T00:00:17.250Z';

/** Rules whose judges need traffic beyond the limits. */
const aboutLimits = /LIMIT|AUTH-6|READ-3|ERR/;

/** Runs the cases of some rules, or all, against a simulator, which may have a defect. */
export async function recordSimulator(
  rules: readonly string[],
  assumptions: NonNullable<SettingsInput['assumptions']> = {},
  defect = '',
): Promise<RecordedRun> {
  const folder = await mkdtemp(join(tmpdir(), 'smstwin-recorded-'));
  const journal = join(folder, 'run.ndjson');
  const create = wrongSimulation(defect) ?? ((...settings) => new Simulation(...settings));
  const recorder = new Recorder();
  const simulation: typeof create = (...settings) => recorder.watch(create(...settings));
  try {
    const settings = { clock: 'manual', startTime, assumptions } as const;
    const startOwn = async () => {
      const simulator = new Simulator(settings, { journal, simulation });
      const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
      // The harness closes its simulator after the last case.
      const close = () => {
        repeatIdsAndHolds(simulator);
        if (rules.length === 0 || rules.some((rule) => aboutLimits.test(rule)))
          exceedLimits(simulator);
        return simulator.close();
      };
      return { baseUrl, controlUrl: controlUrl ?? '', close };
    };
    const report = await runConformWithReport(rules, { startOwn });
    const events: TrafficEvent[] = [];
    for await (const list of readTraffic([journal], () => {})) events.push(...list);
    const { exchanges, joined } = recorder;
    return { exchanges, journal: events, joined, report };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs the cases of some rules against the foreign service, with flags only and on a fast clock. */
export async function recordForeign(
  variation: Variation,
  rules: readonly string[],
): Promise<RecordedRun> {
  const clock = scaledClock(testRate);
  const recorder = new Recorder();
  class RecordedService extends ForeignService {
    override answer(call: ForeignRequest) {
      const reply = super.answer(call);
      const { headers, address: clientIp } = call;
      const { authorization, 'content-type': contentType } = headers;
      const request = { ...call, authorization, contentType, clientIp };
      recorder.note(clock.now(), request, reply, this.contentType);
      return reply;
    }
  }
  const service = new RecordedService(variation, clock.now);
  const server = await serveForeign(variation, clock.now, service);
  try {
    const argv = [server.baseUrl, ...rules, ...server.flags, '--timeout', '2m'];
    const report = await runConformWithReport(argv, { clock });
    const keysOf = (...flags: string[]) => flags.map((flag) => server.values[flag] ?? '');
    const main = keysOf('api-key', 'other-api-key', 'revoked-key');
    const joined = [main, keysOf('second-api-key'), keysOf('exhausted-api-key')];
    return { exchanges: recorder.exchanges, journal: recorder.exchanges, joined, report };
  } finally {
    await server.close();
  }
}

/** Notes exchanges by the service's clock, and the keys of each account. */
class Recorder {
  readonly exchanges: TrafficExchange[] = [];
  readonly #keysOf = new Map<unknown, Set<string>>();

  note(...exchange: Parameters<typeof trafficOf>): void {
    this.exchanges.push(trafficOf(...exchange));
  }

  /** Notes all that this simulation handles from now on; returns the simulation. */
  watch(simulation: Simulation): Simulation {
    const handle = simulation.handle.bind(simulation);
    return Object.assign(simulation, {
      handle: (request: ApiRequest) => {
        const handled = handle(request);
        this.note(simulation.clock.now(), request, handled.reply);
        if (handled.key === undefined) return handled;
        const { account, key } = handled.key;
        getOrAdd(this.#keysOf, account, () => new Set()).add(key);
        return handled;
      },
    });
  }

  /** The keys that each account has used. */
  get joined(): readonly (readonly string[])[] {
    return Array.from(this.#keysOf.values(), (keys) => [...keys]);
  }
}

/** An exchange at this time of the service's clock, as a recorder in front of the service sees it. */
export function trafficOf(
  now: number,
  request: Omit<ApiRequest, 'forwardedFor' | 'contentEncoding' | 'host'>,
  { status, headers, body }: ApiReply,
  replyType = 'application/json',
): TrafficExchange {
  const { method, path, query, authorization, contentType, clientIp: address } = request;
  return {
    sentAt: Math.floor(now),
    answeredAt: Math.floor(now),
    precisionMs: 1,
    host: '',
    method,
    path,
    query,
    address,
    showsCredential: true,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(contentType !== undefined && { 'content-type': contentType }),
    },
    body: Buffer.from(request.body).toString(),
    reply: {
      status,
      headers: { 'content-type': replyType, date: new Date(now).toUTCString(), ...headers },
      body,
    },
    isForced: false,
    isSeen: true,
  };
}
