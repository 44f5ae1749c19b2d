/**
 * Hundreds of worlds of one server under interleaved random traffic, each compared with the same
 * world alone.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ApiRequest } from '#contract/request-and-reply.ts';
import { Rng } from '#src/sim/random.ts';
import { Simulator } from '#src/simulator.ts';
import { runs } from '../testkit/runs.ts';
import { type Command, outcomeOf, someCommands } from '../testkit/twin/random-commands.ts';

const seed = Number(process.env['SMSTWIN_WORLDS_SEED'] ?? 20261122);
const count = runs(150);

/** Makes the requests of a world enter by the server, addressed in one of the three ways. */
function routeThrough(server: Simulator, world: Simulator, worldId: string, rng: Rng): void {
  const answer = world.handle.bind(world);
  let isInside = false;
  const route = (request: ApiRequest) => {
    const { keyRing } = world.simulation.world;
    const isOwnKey = keyRing.findHeader(request.authorization ?? '') !== undefined;
    const way = rng.below(isOwnKey ? 3 : 2);
    if (way === 0)
      return server.hostedWorlds.router.handle({
        ...request,
        path: `/w/${worldId}${request.path}`,
      });
    const host = way === 1 ? `${worldId}.localhost:8080` : '127.0.0.1:8080';
    return server.hostedWorlds.router.handle({ ...request, host });
  };
  world.handle = (request) => {
    if (isInside) return answer(request);
    isInside = true;
    try {
      return route(request);
    } finally {
      isInside = false;
    }
  };
}

const name = `no input of one world leaves a trace in another (SMSTWIN_WORLDS_SEED=${seed})`;

test(name, { timeout: 300_000 }, () => {
  const rng = Rng.stream(seed, 'interleaving');
  const commandLists = fc.sample(someCommands, { numRuns: count, seed });
  const server = new Simulator({ clock: 'manual' });
  const keys = new Set<string>();
  const worlds = commandLists.map((commands, n) => {
    const settings = { name: `world ${n}`, seed: n % 7, clock: 'manual' } as const;
    const { world_id: id } = server.worlds.create(settings);
    const simulator = server.hostedWorlds.get(id)?.simulator as Simulator;
    for (const key of simulator.simulation.world.keys.values()) keys.add(key.key);
    routeThrough(server, simulator, id, rng);
    return { settings, simulator, commands, left: [...commands] };
  });
  expect(keys.size).toBe(3 * count);
  const busy = [...worlds];
  while (busy.length > 0) {
    const at = rng.below(busy.length);
    const { simulator, left } = busy[at] as (typeof busy)[number];
    outcomeOf(simulator, left.shift() as Command);
    if (left.length === 0) busy.splice(at, 1);
  }
  for (const { settings, simulator, commands } of worlds) {
    const alone = new Simulator(settings);
    for (const command of commands) outcomeOf(alone, command);
    expect(simulator.journalText()).toBe(alone.journalText());
    expect(simulator.invariants().broken).toEqual([]);
    void alone.close();
  }
  expect(server.state().requests).toBe(0);
  void server.close();
});
