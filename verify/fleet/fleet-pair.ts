/** The same wide world twice: in one process, and in a fleet. Each call goes to both. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Answer, type Call, Caller } from '../long/caller.ts';
import { ServedProcess } from '../testkit/served-process.ts';
import { wideWorld } from './fleet-fixture.ts';

/** The answers of the process and of the fleet. */
export type Answers = readonly [one: Answer | undefined, fleet: Answer | undefined];

export class FleetPair {
  readonly #folder: string;
  readonly one: ServedProcess;
  readonly fleet: ServedProcess;
  readonly #caller = new Caller();

  private constructor(folder: string, one: ServedProcess, fleet: ServedProcess) {
    this.#folder = folder;
    this.one = one;
    this.fleet = fleet;
  }

  static async start(): Promise<FleetPair> {
    const folder = mkdtempSync(join(tmpdir(), 'smstwin-pair-'));
    const world = join(folder, 'world.json');
    writeFileSync(world, JSON.stringify(wideWorld));
    const start = '2026-01-01T00:00:00.000Z';
    const clock = ['--clock', 'manual', '--start-time', start];
    const flags = [...clock, '--world', world, '--assume', 'bearerSpace=one'];
    const [one, fleet] = await Promise.all([
      ServedProcess.start(folder, flags),
      ServedProcess.startFleet(folder, [...flags, '--wide', '--shards', '3']),
    ]);
    return new FleetPair(folder, one, fleet);
  }

  async stop(): Promise<void> {
    this.#caller.leave();
    await Promise.all([this.one.kill(), this.fleet.stop()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Calls the service. */
  service(call: Call): Promise<Answers> {
    return Promise.all([
      this.#caller.call(this.one.baseUrl, call),
      this.#caller.call(this.fleet.baseUrl, call),
    ]);
  }

  /** Calls the control port. */
  control(method: string, path: string, body?: unknown): Promise<Answers> {
    const call = { method, path, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return Promise.all([
      this.#caller.call(this.one.controlUrl, call),
      this.#caller.call(this.fleet.controlUrl, call),
    ]);
  }
}
