/**
 * Records a run of `conform`. A recorder in front of the service sees each exchange as it was made,
 * and nothing of what the owner of the accounts changes.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TrafficEvent, TrafficExchange } from '#contract/exchange.ts';
import type { ApiReply, ApiRequest } from '#contract/request-and-reply.ts';
import { isoTime, minuteMs } from '#contract/time.ts';
import { readTraffic } from '#judging/evidence/read-traffic.ts';
import { Simulation } from '#src/simulation/simulation.ts';
import { createSimulator, type SettingsInput, type Simulator } from '#src/simulator.ts';
import { wrongSimulation } from '../defects/catalogue.ts';
import { serveForeign } from '../foreign/server.ts';
import { type Call, ForeignService } from '../foreign/service.ts';
import type { Variation } from '../foreign/variation.ts';
import { callersIn, testRate } from '../harness/flags-world.ts';
import { type ConformReport, runConformWithReport } from '../testkit/conform-run.ts';
import { scaledClock } from '../testkit/scaled-clock.ts';
import { bearer, postTo, requestTo, sendPaths } from '../testkit/twin/request.ts';
import { sendBy } from '../testkit/twin/twin.ts';

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

/** Far from the end of a minute, as an exchange seen in two windows of a limiter shows less. */
const startTime = '2026-01-01T00:00:17.250Z';

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
  const keysOf = new Map<unknown, Set<string>>();
  const simulation: typeof create = (...settings) => {
    const created = create(...settings);
    const handle = created.handle.bind(created);
    return Object.assign(created, {
      handle: (request: ApiRequest) => {
        const handled = handle(request);
        recorder.note(created.clock.now(), request, handled.reply);
        if (handled.key === undefined) return handled;
        const { account, key } = handled.key;
        keysOf.set(account, (keysOf.get(account) ?? new Set()).add(key));
        return handled;
      },
    });
  };
  try {
    const settings = { clock: 'manual', startTime, assumptions } as const;
    const startOwn = async () => {
      const simulator = await createSimulator(settings, { journal, simulation });
      const { baseUrl, controlUrl } = await simulator.listen({ control: {} });
      const close = () => {
        sendFurther(simulator);
        if (rules.length === 0 || rules.some((rule) => aboutLimits.test(rule))) flood(simulator);
        return simulator.close();
      };
      return { baseUrl, controlUrl: controlUrl ?? '', close };
    };
    const report = await runConformWithReport(rules, { startOwn });
    const events: TrafficEvent[] = [];
    for await (const event of readTraffic([journal], () => {})) events.push(event);
    const joined = [...keysOf.values()].map((keys) => [...keys]);
    return { exchanges: recorder.exchanges, journal: events, joined, report };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The same against the foreign service, with flags only and both clocks faster than real time. */
export async function recordForeign(
  variation: Variation,
  rules: readonly string[],
): Promise<RecordedRun> {
  const clock = scaledClock(testRate);
  const recorder = new Recorder();
  class RecordedService extends ForeignService {
    override answer(call: Call) {
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
    const { key, otherKey, revokedKey, secondKey, exhaustedKey } = callersIn(server.values);
    const joined = [[key, otherKey, revokedKey], [secondKey], [exhaustedKey]];
    return { exchanges: recorder.exchanges, journal: recorder.exchanges, joined, report };
  } finally {
    await server.close();
  }
}

/** Notes exchanges by the service's clock. */
class Recorder {
  readonly exchanges: TrafficExchange[] = [];

  note(...exchange: Parameters<typeof trafficOf>): void {
    this.exchanges.push(trafficOf(...exchange));
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
    reply: { status, headers: { 'content-type': replyType, ...headers }, body },
    isForced: false,
    isSeen: true,
  };
}

function ask(simulator: Simulator, account: number, path: string): ApiReply {
  const { api_key: key, sims = [] } = simulator.readyFile().accounts[account] ?? {};
  const more = { authorization: bearer(key), clientIp: '127.0.0.1' };
  const fields = { to: '+12025550154', from: sims[0]?.number, message: 'm' };
  const isSend = path.endsWith('/send/');
  return simulator.handle(isSend ? postTo(path, fields, more) : requestTo(path, more));
}

/**
 * Repeats an id when its SIM is inactive, an hour before its day ends, and two minutes after; holds
 * a message until a minute ago; reads one that a device was handed. The harness does so within an
 * instant, where a recording shows no order, as clocks may be wrong by seconds.
 */
function sendFurther(simulator: Simulator): void {
  const again = (id = 'a day') => sendBy(simulator, 0, { request_id: id });
  const device = simulator.readyFile().accounts[0]?.sims[0]?.device_id ?? '';
  again();
  simulator.clock.advance('10s');
  simulator.sims.patch(device, { active: false });
  again();
  simulator.sims.patch(device, { active: true });
  for (const later of ['23h', '62m']) {
    simulator.clock.advance(later);
    again();
  }
  sendBy(simulator, 0, { send_at: isoTime(simulator.clock.now() - minuteMs) });
  simulator.sims.patch(device, { polling: 'external' });
  const { message_id: id } = JSON.parse(again('handed out').body);
  for (let poll = 0; poll < 4; poll++) {
    ask(simulator, 0, `/api/devices/${device}/tasks/`);
    simulator.clock.advance('10s');
    ask(simulator, 0, `/api/v1/sms/${id}/`);
  }
  simulator.sims.patch(device, { polling: 'simulated' });
}

/**
 * Meets each limit: twice a flood and a request a second until some pass again, then a steady load for
 * more than a minute. The harness asks once more than a limit allows, of which clocks that may be
 * wrong by seconds show nothing.
 */
function flood(simulator: Simulator): void {
  const device = simulator.readyFile().accounts[0]?.sims[0]?.device_id;
  const received = '/api/v1/sms/received/';
  const limits = [
    ...Object.values(sendPaths).map((path) => [path, 120] as const),
    ...([
      [received, 120],
      [`/api/devices/${device}/tasks/`, 60],
    ] as const),
  ];
  const repeat = (count: number, everyMs: number, act: (index: number) => void) => {
    for (let index = 0; index < count; index++) {
      if (everyMs > 0) simulator.clock.advance(everyMs);
      act(index);
    }
  };
  simulator.clock.advance('150s');
  const { message_id: id } = JSON.parse(ask(simulator, 0, sendPaths.send).body);
  for (const [path, limit] of limits) {
    for (const everyMs of [0, 50]) {
      simulator.clock.advance(75_000 - (simulator.clock.now() % 60_000));
      repeat(150, everyMs, (index) => {
        ask(simulator, 0, path);
        if (index > 145) ask(simulator, 0, `/api/v1/sms/${id}/`);
      });
      repeat(75, 1_000, (elapsedSeconds) => {
        ask(simulator, 0, path);
        if (elapsedSeconds < 3) for (const other of [path, received]) ask(simulator, 1, other);
      });
      simulator.clock.advance('150s');
    }
    repeat(limit * 1.2, Math.floor(56_000 / limit), () => ask(simulator, 0, path));
    simulator.clock.advance('150s');
  }
}
