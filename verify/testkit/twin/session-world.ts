/** What every session starts with: its callers, the numbers of its pool, the scripted recipients. */
import type { Outcome } from '../../model/reference-world.ts';

/** The callers' names: the first has two SIMs, the second one SIM, the third none. */
export const names = ['ada', 'bert', 'cora'];
export const accountCount = names.length;

/** The last position by which a step names a thing; positions wrap around a shorter list. */
export const lastPosition = 7;

/** The numbers of the pool in every session. */
export const poolNumbers: readonly string[] = ['+12025550190', '+12025550191'];

/** The scripted recipients that every world has, written down again: the model shares no code. */
export const scriptedFates: readonly Outcome[] = [
  ...(['queued', 'sending', 'sent'] as const).flatMap((status, index): Outcome[] => [
    { to: `+1202555016${index}`, ends: 'failed', in: status, polls: 1 },
    { to: `+1202555016${index + 3}`, ends: 'stuck', in: status, polls: 1 },
  ]),
  { to: '+12025550166', ends: 'delivered', polls: 3 },
  ...[
    'quota_exceeded',
    'from_number_not_found',
    'from_number_access_deniedd',
    'device_inactive',
    'throttled',
  ].map((refuse, index): Outcome => {
    return { to: `+1202555017${index}`, ends: 'delivered', polls: 1, refuse };
  }),
];
