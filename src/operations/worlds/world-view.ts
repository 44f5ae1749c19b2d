/**
 * A world as the control port shows it: its name, URLs and end of life. Its creation and the ready
 * file (at the end) also show the keys and numbers that a client needs. Rules: AUTH-2. Assumes:
 * keyFormat.
 */
import { z } from 'zod';
import { isoTime } from '#contract/time.ts';
import type { ApiKey } from '../../sim/accounts/account.ts';
import type { Registry } from '../../sim/accounts/registry.ts';
import { forkedKey } from '../../worlds/copies.ts';
import type { HostedWorld } from '../../worlds/hosted-world.ts';
import { timeSchema } from '../input-fields.ts';
import type { RunningWorld } from '../running-world.ts';

export const worldViewSchema = z
  .strictObject({
    world_id: z.string().regex(/^(w[a-z0-9]{7}|default)$/),
    name: z.string(),
    base_url: z
      .string()
      .meta({ title: 'Base URL' })
      .describe('This and the other URLs are empty while the server does not listen.'),
    host_url: z.string(),
    control_url: z.string(),
    expires_at: timeSchema
      .meta({ title: 'Expires (real time)' })
      .describe('ISO 8601 UTC, in real time; null: never.')
      .nullable(),
    messages: z.int().min(0).describe('Messages that it holds.'),
    created_at: timeSchema.describe('When it was created: ISO 8601 UTC, in real time.'),
    forked_from: z
      .strictObject({ world_id: z.string(), at: timeSchema })
      .nullable()
      .describe('The world that it was forked from, and the simulated time then.'),
  })
  .meta({ id: 'World' });
type WorldView = Readonly<z.output<typeof worldViewSchema>>;

export function worldView(world: HostedWorld<RunningWorld>): WorldView {
  const { worldId, name, expiresAtMs, creation } = world;
  const { createdMs, origin } = creation;
  return {
    world_id: worldId,
    name,
    ...urlsOf(world),
    expires_at: expiresAtMs === undefined ? null : isoTime(expiresAtMs),
    messages: world.simulator.simulation.world.messages.size,
    created_at: isoTime(createdMs),
    forked_from:
      origin === undefined ? null : { world_id: origin.worldId, at: isoTime(origin.atMs) },
  };
}

/** Replaces the URLs by those for a client that reached the control port by this `Host`. */
export function withUrlsFor<View extends WorldView>(
  view: View,
  { hostedWorlds }: RunningWorld,
  host: string | undefined,
): View {
  const world = hostedWorlds.get(view.world_id);
  return world === undefined ? view : { ...view, ...urlsOf(world, host) };
}

function urlsOf({ worldId, simulator }: HostedWorld<RunningWorld>, host?: string) {
  const { baseUrl, controlUrl } = simulator.urlsFor(host);
  return { base_url: baseUrl, host_url: hostUrl(baseUrl, worldId), control_url: controlUrl };
}

/** The URL that names a world by its host; empty while the server does not listen. */
export function hostUrl(baseUrl: string, worldId: string): string {
  if (baseUrl === '') return '';
  const { protocol, port } = new URL(baseUrl);
  // Clients accept no certificate for `*.localhost`.
  const name = protocol === 'https:' ? `${worldId}.world.localhost` : `${worldId}.localhost`;
  return `${protocol}//${name}${port === '' ? '' : `:${port}`}`;
}

const numberSchema = z.strictObject({ number: z.string(), device_id: z.uuid() });

export const readyNumbersSchema = z.strictObject({
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      account_id: z.uuid(),
      api_key: z
        .string()
        .describe('The first key; empty if the account has none, or none that may be shown.'),
      sims: z.array(numberSchema),
    }),
  ),
  pool: z.array(numberSchema),
});
export type ReadyNumbers = Readonly<z.output<typeof readyNumbersSchema>>;

/** AUTH-2: also shows the keys that the world has from its start, and no later one. */
export const createdWorldSchema = worldViewSchema
  .extend(readyNumbersSchema.shape)
  .meta({ id: 'CreatedWorld' });
export type CreatedWorld = Readonly<z.output<typeof createdWorldSchema>>;

/** For the moment of a world's creation, when all its keys may be shown. */
export const always = () => true;

/** The view of a world with its keys and numbers. `isShown`: see `readyNumbers`. */
export function createdView(
  world: HostedWorld<RunningWorld>,
  isShown: (key: ApiKey) => boolean,
): CreatedWorld {
  return { ...worldView(world), ...readyNumbers(world.simulator.simulation.world, isShown) };
}

/** The view at any later time: without the keys that were created later or revoked. */
export function viewWithStartKeys(world: HostedWorld<RunningWorld>): CreatedWorld {
  return createdView(world, isStartKeyOf(world.simulator));
}

/**
 * Returns a test for the start keys that are not revoked. A fresh simulation has exactly these
 * keys; one is built for each view, which takes as long as the start of the world. A fork derives new texts from the key ids of its source, so the derived texts are compared.
 */
function isStartKeyOf(simulator: RunningWorld): (key: ApiKey) => boolean {
  const fresh = simulator.simulationAtStart(simulator.wallClock.restartMs());
  fresh.stop();
  const { keyFormat } = simulator.simulation.world.assumptions;
  const isForked = ({ account: { accountId }, keyId, key }: ApiKey) =>
    key === forkedKey(fresh.world, { accountId, keyId }, keyFormat);
  return (key) =>
    key.revokedAtMs === undefined && (fresh.world.keys.has(key.keyId) || isForked(key));
}

/** The content of `--ready-file`: where the simulator listens, and the keys and numbers to use. */
export interface ReadyFile extends ReadyNumbers {
  /** The URL of the service; empty while it does not listen. */
  readonly base_url: string;
  /** The URL of the control port; null if it is not open. */
  readonly control_url: string | null;
  /** The process that serves. */
  readonly pid: number;
  /** The certificate to trust; only of `serve --tls self-signed`. */
  readonly tls_ca_file?: string;
  /** The seed of keys, ids and random outcomes. */
  readonly seed: number;
}

/** `isShown`: true if the text of a key may be shown. */
export function readyNumbers(world: Registry, isShown: (key: ApiKey) => boolean): ReadyNumbers {
  return {
    accounts: [...world.accounts.values()].map(
      ({ name, accountId, keys: [firstKey], devices }) => ({
        name,
        account_id: accountId,
        api_key: firstKey !== undefined && isShown(firstKey) ? firstKey.key : '',
        sims: devices.map(readyNumber),
      }),
    ),
    pool: world.pool.map(readyNumber),
  };
}

function readyNumber({ number, deviceId }: { readonly number: string; readonly deviceId: string }) {
  return { number, device_id: deviceId };
}
