/**
 * Mistakes in settings and worlds, with the names that assumptions, templates and endpoints have.
 */
import type { z } from 'zod';
import { endpointNames } from '#contract/limits.ts';
import * as common from '#io/mistakes.ts';
import { templateNames } from '../sim/reply-templates.ts';
import { isAssumptionName, permittedAnswers, unknownAssumption } from './assumption-text.ts';

/** As `io/mistakes.ts`, with the words of settings and worlds. */
export function mistakesOf(
  error: Pick<z.ZodError, 'issues'>,
  at: readonly PropertyKey[] = [],
): common.Mistake[] {
  return common.mistakesOf(error, at, [], words);
}

const words: common.Words = {
  unknownKey: (key, path) => {
    const parent = path.at(-1);
    if (parent === 'assumptions') return unknownAssumption(key);
    if (parent === 'replyTemplates') return unknownName(key, 'reply', templateNames);
    if (parent === 'limits') return unknownName(key, 'endpoint', endpointNames);
    return undefined;
  },
  // One for an assumption lists the permitted answers.
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
