/**
 * Assumptions as users give them: by name in settings, world files and the control port, or typed
 * as `name=value`. Explains an unknown name or answer, and takes files of earlier versions.
 */
import { z } from 'zod';
import { type AssumptionName, assumptionNames } from '#contract/assumptions.ts';
import { endpointNames } from '#contract/limits.ts';
import * as mistakes from '#io/mistakes.ts';
import { jsonIn } from '#io/plain-file.ts';
import { type Assumptions, assumptionLedger } from '../sim/assumptions.ts';
import { templateNames } from '../sim/reply-templates.ts';

/**
 * Assumptions of earlier versions that are facts now (`docs/semantics.md`). Older files may still
 * state the fact; any other answer is refused.
 */
const formerAssumptions: Readonly<Record<string, unknown>> = {
  fieldOrder: ['to', 'from', 'message', 'request_id', 'send_at', 'unknown'],
  senderFieldName: 'as_given',
  requestIdUnit: 'code_points',
  numberMinDigits: 2,
  dashboardSendShape: 'same_as_v1',
  externalSendShape: 'same_as_v1',
  queryForms: 'lenient',
  tasksAccess: 'owner',
  statsShape: 'counts',
};

function withoutFacts(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const isFact = ([name, answer]: [string, unknown]) =>
    Object.hasOwn(formerAssumptions, name) && String(answer) === String(formerAssumptions[name]);
  return Object.fromEntries(Object.entries(given).filter((entry) => !isFact(entry)));
}

/**
 * Overrides by name, as settings, world files and the control port give them. Lazy, like the
 * schema of each answer.
 */
export const assumptionsSchema = z.lazy(() =>
  z.preprocess(
    withoutFacts,
    z.strictObject(
      // Exactly optional: an explicit `undefined` would leave a gap without an answer.
      Object.fromEntries(
        assumptionNames.map((name) => [name, z.exactOptional(assumptionLedger[name].schema)]),
      ),
    ),
  ),
) as unknown as z.ZodType<Partial<Assumptions>, Partial<Assumptions>>;

/** What a text states: an assumption to override, or a mistake. */
export type AssumptionReading =
  | { readonly kind: 'assumption'; readonly override: Partial<Assumptions> }
  | { readonly kind: 'mistake'; readonly message: string };

/** Reads texts such as `pollIntervalSeconds=5`, `failsFrom=queued,sent` and `failsFrom=`. */
export function parseAssumption(text: string): AssumptionReading {
  const equals = text.indexOf('=');
  if (equals < 0) return mistake(`expected name=value, got "${text}"`);
  const name = text.slice(0, equals).trim();
  const answer = text.slice(equals + 1).trim();
  if (!isAssumptionName(name)) return mistake(unknownAssumption(name));
  for (const candidate of candidates(name, answer)) {
    const reading = assumptionLedger[name].schema.safeParse(candidate);
    if (reading.success) return { kind: 'assumption', override: { [name]: reading.data } };
  }
  return mistake(`${name}: expected ${permittedAnswers(name)}; got "${answer}"`);
}

function isAssumptionName(name: string): name is AssumptionName {
  return Object.hasOwn(assumptionLedger, name);
}

/** Every permitted answer in words, such as `"all", or a whole number from 1 to 100`. */
export function permittedAnswers(name: AssumptionName): string {
  const entry = assumptionLedger[name];
  const { answers } = entry;
  /** Those that are not names, in words, such as `a whole number from 1 to 100`. */
  const otherAnswers = 'alsoAccepts' in entry ? entry.alsoAccepts : undefined;
  const words = answers.map((answer) => `"${answer}"`).join(', ');
  if (otherAnswers === undefined) return answers.length === 1 ? words : `one of ${words}`;
  return answers.length === 0 ? otherAnswers : `${words}, or ${otherAnswers}`;
}

/** The mistake of a name that is not an assumption, or no longer one. */
function unknownAssumption(name: string): string {
  if (Object.hasOwn(formerAssumptions, name))
    return `${name} is no longer an assumption: it is always ${formerAssumptions[name]}; leave it out`;
  return `no assumption is named "${name}"; \`smstwin assumptions\` lists them`;
}

/** The values that the text of an answer may mean; the ledger's schema decides which is valid. */
function candidates(name: AssumptionName, answer: string): readonly unknown[] {
  if (name === 'failsFrom') {
    const list = answer === '' ? [] : answer.split(',').map((part) => part.trim());
    return [answer, list];
  }
  // Templates are typed as JSON; any other text is refused.
  if (name === 'replyTemplates') return [jsonIn(answer, answer)];
  return /^[0-9]+(\.[0-9]+)?$/.test(answer) ? [answer, Number(answer)] : [answer];
}

function mistake(message: string): AssumptionReading {
  return { kind: 'mistake', message };
}

/**
 * The mistakes that a schema found, in the words of settings and worlds. `at`: the value's place.
 */
export function mistakesInSettings(
  error: Pick<z.ZodError, 'issues'>,
  at: readonly PropertyKey[] = [],
): mistakes.Mistake[] {
  return mistakes.mistakesOf(error, { at, words });
}

const words: mistakes.Words = {
  unknownKey: (key, path) => {
    const parent = path.at(-1);
    if (parent === 'assumptions') return unknownAssumption(key);
    if (parent === 'replyTemplates') return unknownName(key, 'reply', templateNames);
    if (parent === 'limits') return unknownName(key, 'endpoint', endpointNames);
    return undefined;
  },
  // A mistake in an answer is explained by the permitted answers.
  expected: (path) => {
    const depth = path.indexOf('assumptions');
    const name = depth < 0 ? undefined : path[depth + 1];
    const isInTemplate = name === 'replyTemplates' && path.length > depth + 2;
    if (typeof name !== 'string' || !isAssumptionName(name) || isInTemplate) return undefined;
    return permittedAnswers(name);
  },
};

function unknownName(key: string, what: string, names: readonly string[]): string {
  return `no ${what} is named "${key}"; use one of ${names.join(', ')}`;
}
