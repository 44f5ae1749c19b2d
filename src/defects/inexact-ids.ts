/**
 * Ids of messages and devices that are compared inexactly: by their beginning, as patterns, or not
 * at all.
 * Rules: READ-2, STATE-2.
 */
import type { ApiRequest } from '../http/service/messages.ts';
import { matchRoute, type Route } from '../http/service/routes.ts';
import type { Account, Device, Message } from '../sim/records.ts';
import { World } from '../sim/world.ts';
import { callerOf } from './edge.ts';
import { type Defects, type Planted, reading } from './planted.ts';

const firstBlock = 8;

/** True if the given id is accepted for this one. */
type Takes = (given: string, id: string) => boolean;

/** Looks up the requested id among the caller's own, with the inexact ids that `idsOf` lists. */
function lookingUp(
  endpoint: Route['endpoint'],
  idsOf: (account: Account) => readonly string[],
  takes: Takes,
): Planted {
  return reading((request: ApiRequest, simulation) => {
    const match = matchRoute(request.path);
    const account = callerOf(request, simulation)?.account;
    if (match?.route.endpoint !== endpoint || account === undefined) return request;
    const ids = idsOf(account);
    if (ids.includes(match.id)) return request;
    const found = ids.find((id) => takes(match.id, id));
    if (found === undefined) return request;
    return { ...request, path: match.route.pattern.replace(/\{\w+\}/, found) };
  });
}

function reads(takes: Takes): Planted {
  return lookingUp(
    'read',
    ({ messages }) => Array.from(messages, ({ messageId }) => messageId),
    takes,
  );
}

function isSameBlock(given: string, id: string): boolean {
  return given.length >= firstBlock && given.slice(0, firstBlock) === id.slice(0, firstBlock);
}

function isBeginning(given: string, id: string): boolean {
  return given.length >= firstBlock && id.startsWith(given);
}

/** Compares as SQL's LIKE does. */
function isPattern(given: string, id: string): boolean {
  return given.length === id.length && [...given].every((one, i) => one === '_' || one === id[i]);
}

/** A polling device gets the tasks of every SIM of its account. */
class SharingWorld extends World {
  override polled(device: Device): readonly Message[] {
    const all = device.account?.devices ?? [device];
    return all.flatMap((one) => super.polled(one));
  }
}

export const inexactIdDefects: Defects = {
  'read-id-first-block': reads(isSameBlock),
  'read-id-beginning': reads(isBeginning),
  'read-id-pattern': reads(isPattern),
  'tasks-id-first-block': lookingUp(
    'tasks',
    ({ devices }) => devices.map(({ deviceId }) => deviceId),
    isSameBlock,
  ),
  'tasks-of-every-sim': { parts: { World: SharingWorld } },
};
