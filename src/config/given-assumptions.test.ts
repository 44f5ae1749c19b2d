import { expect, test } from 'vitest';
import { assumptionNames } from '#contract/assumptions.ts';
import { assumptionLedger, defaultAssumptions } from '../sim/assumptions.ts';
import { assumptionsSchema, parseAssumption, permittedAnswers } from './given-assumptions.ts';

test.each([
  ['limiterRefill=interval', { limiterRefill: 'interval' }],
  [' limiterRefill = interval ', { limiterRefill: 'interval' }],
  ['methodNotAllowed=404', { methodNotAllowed: '404' }],
  ['pollIntervalSeconds=5', { pollIntervalSeconds: 5 }],
  ['failureRate=0.25', { failureRate: 0.25 }],
  ['sendsPerPoll=all', { sendsPerPoll: 'all' }],
  ['sendsPerPoll=3', { sendsPerPoll: 3 }],
  ['monthlyQuota=0', { monthlyQuota: 0 }],
  ['failsFrom=sent,queued', { failsFrom: ['queued', 'sent'] }],
  ['failsFrom=', { failsFrom: [] }],
  ['keyFormat=', { keyFormat: '' }],
  ['keyFormat=42', { keyFormat: '42' }],
])('reads %s', (text, override) => {
  expect(parseAssumption(text)).toEqual({ kind: 'assumption', override });
});

test.each([
  ['limiterRefill', 'expected name=value, got "limiterRefill"'],
  [
    'limiterrefil=sliding',
    'no assumption is named "limiterrefil"; `smstwin assumptions` lists them',
  ],
  ['=x', 'no assumption is named ""; `smstwin assumptions` lists them'],
  ['__proto__=x', 'no assumption is named "__proto__"; `smstwin assumptions` lists them'],
  ['replayScope=user', 'replayScope: expected one of "account", "api_key"; got "user"'],
  [
    'pollIntervalSeconds=1.5',
    'pollIntervalSeconds: expected a whole number from 1 to 86400; got "1.5"',
  ],
  ['failureRate=-1', 'failureRate: expected a number from 0 to 1; got "-1"'],
  [
    'failsFrom=delivered',
    'failsFrom: expected a list of queued, sending, sent, which may be empty; got "delivered"',
  ],
  ['tasksAccess=owner', 'tasksAccess is no longer an assumption: it is always owner; leave it out'],
])('%s is refused', (text, message) => {
  expect(parseAssumption(text)).toEqual({ kind: 'mistake', message });
});

test.each(assumptionNames)('the default of %s can be written as text', (name) => {
  const { default: fallback } = assumptionLedger[name];
  const isObject = typeof fallback === 'object' && !Array.isArray(fallback);
  const text = `${name}=${isObject ? JSON.stringify(fallback) : String(fallback)}`;
  expect(parseAssumption(text)).toEqual({
    kind: 'assumption',
    override: { [name]: assumptionLedger[name].default },
  });
});

test.each(assumptionNames)('%s states its permitted answers', (name) => {
  expect(permittedAnswers(name)).not.toBe('');
});

test.each(assumptionNames)(
  '%s has a default that its own schema takes, and no answer of undefined',
  (name) => {
    const { default: answer, answers, schema } = assumptionLedger[name];
    expect(schema.safeParse(answer).success).toBe(true);
    expect(defaultAssumptions[name]).toBe(answer);
    for (const other of answers)
      expect(assumptionsSchema.parse({ [name]: other })).toEqual({ [name]: other });
    expect(assumptionsSchema.safeParse({ [name]: undefined }).success).toBe(false);
    expect(assumptionsSchema.safeParse({ [name]: 'no such answer!' }).success).toBe(false);
  },
);

test('failsFrom is read as a set, in the order of the states', () => {
  expect(assumptionsSchema.parse({ failsFrom: ['sent', 'queued', 'sent'] })).toEqual({
    failsFrom: ['queued', 'sent'],
  });
});

test('no override is an override of nothing, and unknown names are refused', () => {
  expect(assumptionsSchema.parse({})).toEqual({});
  expect(assumptionsSchema.safeParse({ gateorder: 'replay_first' }).success).toBe(false);
});
