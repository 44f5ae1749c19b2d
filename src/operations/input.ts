/**
 * Checks the input of an operation. One OperationRefused names all mistakes, each with its path.
 */
import type { z } from 'zod';
import { mistakeLine } from '#io/mistakes.ts';
import { mistakesOf } from '../config/mistake-words.ts';
import { OperationRefused } from '../sim/operation-refused.ts';

/** `at`: the place of this value in a world file, which may have its own words for mistakes. */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: readonly PropertyKey[] = [],
): z.output<Schema> {
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const mistakes = mistakesOf(reading.error, at);
  const [first] = mistakes;
  const message = mistakes.length === 1 ? first?.message : mistakes.map(mistakeLine).join('; ');
  throw new OperationRefused('invalid', message ?? 'not understood', first?.path || undefined);
}
