/**
 * All assumptions: how the simulator answers questions that the document leaves open. Each is
 * declared once, in one of the files imported here, in the order of `docs/rules.md`.
 */
import { fields } from './assumptions/fields.ts';
import { devicesAndQuota, limitsAndReplays } from './assumptions/limits-and-devices.ts';
import { keysEndpointsCallers, requests } from './assumptions/requests.ts';
import { type Declaration, rules } from './rules.ts';

/** The assumptions by the headings of the documentation. */
export const parts = {
  'Rate limits and replays': limitsAndReplays,
  'Requests and errors': requests,
  'Fields of a send': fields,
  'Devices, senders, quota': devicesAndQuota,
  'Keys, other endpoints, callers': keysEndpointsCallers,
} as const;

export const declarations = {
  ...limitsAndReplays,
  ...requests,
  ...fields,
  ...devicesAndQuota,
  ...keysEndpointsCallers,
} as const;

export type Declarations = typeof declarations;
export type AssumptionName = keyof Declarations;

export type NamedAnswer<N extends AssumptionName> =
  | Extract<keyof Declarations[N]['answers'], string>
  | (Declarations[N] extends { readonly range: object } ? number : never);

export const assumptionNames = Object.keys(declarations) as readonly AssumptionName[];

/** The sentence of a rule, or the question of an assumption; empty for another id. */
export function sentenceOf(id: string): string {
  const rule = rules.find((one) => one.id === id);
  const declaration: Declaration | undefined = declarations[id as AssumptionName];
  return rule?.sentence ?? declaration?.open ?? '';
}

export function declarationOf(name: AssumptionName): Declaration {
  return declarations[name];
}

/** The named answers, the default first: an object lists names such as `405` before all others. */
export function answersOf(name: AssumptionName): readonly string[] {
  const { answers, default: fallback } = declarationOf(name);
  const names = Object.keys(answers);
  return names.toSorted((a, b) => Number(b === fallback) - Number(a === fallback));
}
