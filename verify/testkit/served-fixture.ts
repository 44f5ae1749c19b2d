/** For tests: simulators on a port, with and without a journal, and the bytes of sends to them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { servicePaths } from '#contract/routes.ts';
import type { TransportKind } from '#src/http/transport/open-transport.ts';
import { type InternalOptions, type SettingsInput, Simulator } from '#src/simulator.ts';
import type { RawSocket } from './processes/raw-socket.ts';
import { dial } from './transport-fixture.ts';
import { plainSend } from './twin/twin.ts';

// This file must not call hooks such as `afterEach`: a worker loads it once for all test files.

/** A path in a folder that is removed after the test. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'smstwin-served-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'run');
}

export function closeAfterTest(simulator: Simulator): void {
  onTestFinished(() => simulator.close());
}

export const settings: SettingsInput = { clock: 'manual', noLimits: true };

/** Starts a simulator on a free port; it is closed after the test. */
export async function serve(
  options: InternalOptions,
  transport?: TransportKind,
  moreSettings?: SettingsInput,
) {
  const simulator = new Simulator({ ...settings, ...moreSettings }, options);
  closeAfterTest(simulator);
  const { baseUrl } = await simulator.listen({ transport });
  return { simulator, port: Number(new URL(baseUrl).port) };
}

export function head(simulator: Simulator, moreLines = ''): string {
  const [account] = simulator.readyFile().accounts;
  return `Host: x\r\nAuthorization: Bearer ${account?.api_key}\r\n${moreLines}`;
}

/** The bytes of a send by the first account. */
export function sendText(simulator: Simulator, requestId: string, pathPrefix = ''): string {
  const from = simulator.readyFile().accounts[0]?.sims[0]?.number;
  const body = JSON.stringify({ ...plainSend, from, request_id: requestId });
  const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `POST ${pathPrefix}${servicePaths.send} HTTP/1.1\r\n${head(simulator, type)}\r\n${body}`;
}

export async function dialAll(port: number, count: number): Promise<RawSocket[]> {
  const sockets: RawSocket[] = [];
  while (sockets.length < count) sockets.push(await dial(port));
  return sockets;
}
