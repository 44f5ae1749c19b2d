/**
 * The assumptions as schemas and types, from their declarations in `contract/assumptions/`, and the
 * holder of those in force. Code reads an assumption by name, so an `if` never decides a gap
 * silently.
 */
import { z } from 'zod';
import {
  type AssumptionName,
  answersOf,
  assumptionNames,
  declarationOf,
  type NamedAnswer,
} from '#contract/assumptions.ts';
import { type UnfinishedStatus, unfinishedStatuses } from '#contract/message-status.ts';
import type { Declaration } from '#contract/rules.ts';
import { noReplyTemplates, replyTemplatesSchema, templateNames } from './reply-templates.ts';

/** The answers that are neither names nor numbers. */
const otherAnswers = {
  failsFrom: {
    schema: z
      .array(z.enum(unfinishedStatuses))
      .transform((list) => unfinishedStatuses.filter((status) => list.includes(status))),
    default: unfinishedStatuses as readonly UnfinishedStatus[],
    alsoAccepts: `a list of ${unfinishedStatuses.join(', ')}, which may be empty`,
  },
  // A key is a prefix and 40 letters and digits.
  keyFormat: {
    schema: z.string().regex(/^[A-Za-z0-9_.~-]{0,32}$/, {
      error: 'expected at most 32 characters of A-Z, a-z, 0-9, "_", ".", "~", "-"',
    }),
    default: 'smst_' as string,
    alsoAccepts: 'any prefix of at most 32 characters that a bearer token may carry',
  },
  replyTemplates: {
    schema: replyTemplatesSchema,
    default: noReplyTemplates,
    alsoAccepts: `an object of templates by reply (${templateNames.join(', ')}), which may be empty`,
  },
} as const;

type OtherAnswers = typeof otherAnswers;
type NumberRange = NonNullable<Declaration['range']>;
/** One answer per gap: what the simulator does where the document is silent. */
export type Assumptions = {
  readonly [N in AssumptionName]: N extends keyof OtherAnswers
    ? OtherAnswers[N]['default']
    : NamedAnswer<N>;
};

interface LedgerEntry<Answer = unknown> {
  /** What the document leaves open. */
  readonly open: string;
  /** The named answers, default first. */
  readonly answers: readonly (Answer extends string ? Answer : string)[];
  readonly schema: z.ZodType;
  readonly default: Answer;
  /** The format of an answer that is not a name, for help texts and error messages. */
  readonly alsoAccepts?: string;
}

export const assumptionLedger = Object.fromEntries(
  assumptionNames.map((name) => [name, entryOf(name)]),
) as unknown as { readonly [N in AssumptionName]: LedgerEntry<Assumptions[N]> };

/** The entry of a declaration, whose answers are of a type of their own, only names, or numbers. */
function entryOf(name: AssumptionName): LedgerEntry {
  const { open, range, default: fallback } = declarationOf(name);
  const answers = answersOf(name);
  if (isOther(name)) return { open, answers, ...otherAnswers[name] };
  // Lazy: building all schemas takes a tenth of the time of a start.
  if (range === undefined)
    return { open, answers, schema: z.lazy(() => z.enum(answers)), default: answers[0] };
  return {
    open,
    answers,
    schema: z.lazy(() => schemaOfNumbers(range, answers)),
    default: fallback ?? answers[0],
    alsoAccepts: `a ${range.fractions === true ? 'number' : 'whole number'} from ${range.min} to ${range.max}`,
  };
}

function isOther(name: string): name is keyof OtherAnswers {
  return Object.hasOwn(otherAnswers, name);
}

/** A number within a range, or one of these names. */
function schemaOfNumbers(
  { min, max, fractions = false }: NumberRange,
  names: readonly string[],
): z.ZodType {
  const numbers = (fractions ? z.number() : z.int()).min(min).max(max);
  return names.length === 0 ? numbers : z.union([numbers, ...names.map((name) => z.literal(name))]);
}

export const defaultAssumptions = Object.fromEntries(
  assumptionNames.map((name) => [name, assumptionLedger[name].default]),
) as unknown as Assumptions;

/** The view that a reader gets. `N` names the assumptions that it reads. */
export interface AssumptionsInForce<N extends AssumptionName = AssumptionName> {
  readonly answers: Pick<Assumptions, N>;
}

export class SwitchableAssumptions implements AssumptionsInForce {
  /**
   * A switch replaces the whole object, so values derived from it can be cached by its identity.
   */
  answers: Assumptions;

  constructor(answers: Assumptions) {
    this.answers = answers;
  }

  switch(overrides: Partial<Assumptions>): void {
    this.answers = { ...this.answers, ...overrides };
  }
}
