/**
 * For tests: simulators on a port, with and without a journal, and the bytes of sends to them. All
 * of them are closed after each test.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { type InternalOptions, type SettingsInput, Simulator } from '#src/simulator.ts';
import type { RawSocket } from './processes/raw-socket.ts';
import { dial } from './transport-fixture.ts';
import { plainSend } from './twin/twin.ts';

export let folder: string;
let names = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'smstwin-turns-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
export const newPath = () => join(folder, `${++names}`);

export const running: Simulator[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((simulator) => simulator.close()));
});

export const settings: SettingsInput = { clock: 'manual', noLimits: true };

export async function serve(
  options: InternalOptions,
  transport?: TransportKind,
  more?: SettingsInput,
) {
  const simulator = new Simulator({ ...settings, ...more }, options);
  running.push(simulator);
  const { baseUrl } = await simulator.listen({ transport });
  return { simulator, port: Number(new URL(baseUrl).port) };
}

export function head(simulator: Simulator, more = ''): string {
  const [account] = simulator.readyFile().accounts;
  return `Host: x\r\nAuthorization: Bearer ${account?.api_key}\r\n${more}`;
}

export function sendText(simulator: Simulator, requestId: string, prefix = ''): string {
  const from = simulator.readyFile().accounts[0]?.sims[0]?.number;
  const body = JSON.stringify({ ...plainSend, from, request_id: requestId });
  const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `POST ${prefix}${servicePaths.send} HTTP/1.1\r\n${head(simulator, type)}\r\n${body}`;
}

export async function dialAll(port: number, count: number): Promise<RawSocket[]> {
  const sockets: RawSocket[] = [];
  while (sockets.length < count) sockets.push(await dial(port));
  return sockets;
}
