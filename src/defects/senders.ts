/**
 * Wrong checks of the sender number, and of deactivated SIMs.
 * Rules: SVC-1, AUTH-4, AUTH-5, ERR-2.
 */

import type { ApiReply, ApiRequest } from '../http/service/messages.ts';
import type { ApiKey, Device, SimState } from '../sim/records.ts';
import { World } from '../sim/world.ts';
import type { Simulation } from '../simulation/simulation.ts';
import { acceptAnyway, callerOf, isSend, namedDevice, refusal, senderOf } from './edge.ts';
import { answering, type Defects, type Planted } from './planted.ts';

interface Call {
  readonly request: ApiRequest;
  readonly simulation: Simulation;
  readonly key: ApiKey;
  /** The named SIM; undefined if no SIM has the number. */
  readonly device: Device | undefined;
}

/** Changes sends by an authenticated caller. */
function sends(change: (call: Call) => ApiReply | undefined): Planted {
  return answering((request, simulation) => {
    const key = isSend(request) ? callerOf(request, simulation) : undefined;
    if (key === undefined) return undefined;
    return change({ request, simulation, key, device: namedDevice(request, simulation) });
  });
}

function isForeign({ key, device }: Call): boolean {
  return device?.account !== undefined && device.account !== key.account;
}

function isPool({ device }: Call): boolean {
  return device !== undefined && device.account === undefined;
}

/** Accepts a send from the SIM that `choose` returns, if any. */
function acceptingFrom(choose: (call: Call) => Device | undefined): Planted {
  return sends((call) => {
    const device = choose(call);
    if (device === undefined) return undefined;
    return acceptAnyway(call.request, call.key, device, call.simulation);
  });
}

/** A reactivated SIM keeps behaving as deactivated. */
class GrudgingWorld extends World {
  override patchDevice(device: Device, state: SimState): void {
    super.patchDevice(device, { ...state, active: device.active ? state.active : false });
  }
}

const cacheMs = 60_000;

/** Notices a deactivation a minute late. */
class CachingWorld extends World {
  readonly deactivatedAtMs = new WeakMap<Device, number>();

  override patchDevice(device: Device, state: SimState): void {
    if (device.active && state.active === false) this.deactivatedAtMs.set(device, this.now());
    super.patchDevice(device, state);
  }
}

const noticedLate: Planted = {
  ...acceptingFrom(({ key, device, simulation: { world } }) => {
    const isOwn = device?.account === key.account && !device.active;
    if (!isOwn || !(world instanceof CachingWorld)) return undefined;
    const sinceMs = world.deactivatedAtMs.get(device) ?? 0;
    return world.now() - sinceMs < cacheMs ? device : undefined;
  }),
  parts: { World: CachingWorld },
};

export const senderDefects: Defects = {
  'unknown-number-accepted': acceptingFrom(({ request, key, device, simulation }) =>
    device === undefined && /^\+\d{8,15}$/.test(String(senderOf(request)))
      ? (key.account.devices[0] ?? simulation.world.pool[0])
      : undefined,
  ),
  'not-allowed-accepted': acceptingFrom(({ key, device }) =>
    device?.account === key.account && !device.allowed ? device : undefined,
  ),
  'foreign-number-accepted': acceptingFrom((call) => (isForeign(call) ? call.device : undefined)),
  'foreign-sim-without-own': acceptingFrom((call) =>
    isForeign(call) && call.key.account.devices.length === 0 ? call.device : undefined,
  ),
  'pool-sender-rewritten': acceptingFrom(({ key, device, simulation }) =>
    device?.account === key.account ? simulation.world.pool[0] : undefined,
  ),
  'pool-refused': sends((call) =>
    isPool(call) && call.key.account.devices.length === 0
      ? refusal({ kind: 'number_not_found' }, call.simulation)
      : undefined,
  ),
  'pool-refused-when-disconnected': sends((call) =>
    isPool(call) && call.key.account.devices.length > 0
      ? refusal({ kind: 'number_access_denied' }, call.simulation)
      : undefined,
  ),
  'inactive-accepted': acceptingFrom(({ key, device }) =>
    device?.account === key.account && !device.active ? device : undefined,
  ),
  'inactive-for-good': { parts: { World: GrudgingWorld } },
  'inactive-noticed-late': noticedLate,
  'inactive-whole-account': sends(({ key, simulation }) =>
    key.account.devices.some(({ active }) => !active)
      ? refusal({ kind: 'device_inactive' }, simulation)
      : undefined,
  ),
};
