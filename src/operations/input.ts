/**
 * Checks the input of operations. One OperationRefused names every mistake with its path.
 */
import type { z } from 'zod';
import { mistakeLine, mistakesOf } from '../config/mistakes.ts';
import { OperationRefused } from '../sim/operation-refused.ts';

/** `at`: the place of this value in a world file, if mistakes there have their own wording. */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at: readonly PropertyKey[] = [],
): z.output<Schema> {
  const reading = schema.safeParse(value, { reportInput: true });
  if (reading.success) return reading.data;
  const own = at.length === 0 ? '' : `${at.join('.')}.`;
  const mistakes = mistakesOf(reading.error, at).map(({ path, message }) => ({
    path: path.startsWith(own) ? path.slice(own.length) : '',
    message,
  }));
  const [first] = mistakes;
  const message = mistakes.length === 1 ? first?.message : mistakes.map(mistakeLine).join('; ');
  throw new OperationRefused('invalid', message ?? 'not understood', first?.path || undefined);
}
