import { expect, test } from 'vitest';
import {
  assumptionLedger,
  assumptionNames,
  assumptionOverridesSchema,
  defaultAssumptions,
} from './assumptions.ts';

test.each(assumptionNames)(
  '%s has a default that its own schema takes, and no answer of undefined',
  (name) => {
    const { default: answer, answers, schema } = assumptionLedger[name];
    expect(schema.safeParse(answer).success).toBe(true);
    expect(defaultAssumptions[name]).toBe(answer);
    for (const other of answers) {
      expect(assumptionOverridesSchema.parse({ [name]: other })).toEqual({ [name]: other });
    }
    expect(assumptionOverridesSchema.safeParse({ [name]: undefined }).success).toBe(false);
    expect(assumptionOverridesSchema.safeParse({ [name]: 'no such answer!' }).success).toBe(false);
  },
);

test('failsFrom is read as a set, in the order of the states', () => {
  expect(assumptionOverridesSchema.parse({ failsFrom: ['sent', 'queued', 'sent'] })).toEqual({
    failsFrom: ['queued', 'sent'],
  });
});

test('no override is an override of nothing, and unknown names are refused', () => {
  expect(assumptionOverridesSchema.parse({})).toEqual({});
  expect(assumptionOverridesSchema.safeParse({ gateorder: 'replay_first' }).success).toBe(false);
});
