import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { ShardRequest } from './ask.ts';
import { Changes } from './changes.ts';
import type { FleetParts } from './routes.ts';

const folder = mkdtempSync(join(tmpdir(), 'smstwin-changes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => mkdirSync(folder, { recursive: true }));

/** Changes of three shards, and what each was asked to change, in order. */
function threeShards(haproxy: () => Promise<void> = async () => {}) {
  const made: string[][] = [[], [], []];
  const shards = made.map((changes, index) => ({
    index,
    name: `s${index}`,
    life: { state: 'ready' },
    ask: async ({ method, path }: ShardRequest) => {
      if (method !== 'GET') changes.push(path);
      return { status: 200, headers: {}, body: '{}' };
    },
  }));
  const parts = { shards, haproxy: { change: haproxy, countInFlight: async () => 0 } };
  const changes = new Changes(parts as unknown as FleetParts, join(folder, 'changes.json'));
  return { changes, made, first: parts.shards[0] as unknown as FleetParts['shards'][number] };
}

const change = (path: string): ShardRequest => ({ method: 'PATCH', path, body: '{}' });

test('a change that the file cannot list is refused, and is not made later', async () => {
  const { changes, made, first } = threeShards();
  rmSync(folder, { recursive: true });
  const refused = changes.make(change('/one'), { first });
  await expect(refused).rejects.toMatchObject({ code: 'unavailable' });
  mkdirSync(folder);
  await changes.make(change('/two'), { first });
  expect(made).toEqual([['/two'], ['/two'], ['/two']]);
});

test('a change that the first shard has made is made by all, whatever the file takes', async () => {
  const { changes, made, first } = threeShards();
  const ask = first.ask.bind(first);
  first.ask = (request) => {
    if (request.method !== 'GET') rmSync(folder, { recursive: true, force: true });
    return ask(request);
  };
  expect(await changes.make(change('/one'), { first })).toHaveLength(3);
  expect(made).toEqual([['/one'], ['/one'], ['/one']]);
});

test('requests are admitted again if HAProxy could not hold them back', async () => {
  const { changes } = threeShards(() => Promise.reject(new Error('HAProxy is away')));
  await expect(changes.exclusively(async () => {})).rejects.toThrow('HAProxy is away');
  expect(changes.isHolding).toBe(false);
});
