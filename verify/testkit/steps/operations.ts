/** The operations of the control port as random inputs, from their declarations. */
import type { Operation } from '#src/operations/define.ts';
import { randomAnswers } from '../examples/examples.ts';

/** The declared examples, or inputs that reach more; `replaced` has other inputs, by operation. */
export function inputsOf(
  { name, examples }: Operation,
  replaced: Readonly<Record<string, readonly unknown[]>> = {},
): readonly unknown[] {
  const inputs = replaced[name] ?? furtherReaching[name] ?? examples;
  return inputs.length === 0 ? [undefined] : inputs;
}

const furtherReaching: Readonly<Record<string, readonly unknown[]>> = {
  'clock.advance': ['1ms', '5s', '20s', '61s', '1h', '31d', '-1s', '1y', '', 0].map((by) => ({
    by,
  })),
  'accounts.create': Array.from({ length: 9 }, (_, n) => ({ name: `n${n}`, monthly_quota: n })),
  'assumptions.patch': Object.entries(randomAnswers).flatMap(([name, answers]) =>
    answers.map((answer) => ({ [name]: answer })),
  ),
};
