/**
 * The refusals that discovery takes for the simulator's own are what the simulator answers, so that
 * a discovered file names only differences.
 */
import { expect, test } from 'vitest';
import { malformedDetails } from '#contract/refusals.ts';
import { ownRefusal, type Refusal } from '#judging/discovery/discovered-templates.ts';
import { errorReplies } from '#src/http/service/error-replies.ts';
import { readJsonBody } from '#src/http/service/send-message.ts';
import { defaultAssumptions } from '#src/sim/assumptions.ts';

const bodies: Readonly<Record<string, string>> = {
  malformed_json: '{',
  not_an_object: '[]',
  empty_body: '',
};
const others = ['invalid_field', 'throttled', 'overloaded'];
const kinds = new Set([...Object.keys(errorReplies), ...Object.keys(malformedDetails)]);

test.each([...kinds].filter((kind) => !others.includes(kind)))('%s', (name) => {
  const { status, code, detail } = ownRefusal(name as Refusal);
  const body = bodies[name];
  if (body === undefined) {
    expect(errorReplies[name as keyof typeof errorReplies]).toMatchObject({ status, code, detail });
    return;
  }
  const read = readJsonBody({ contentType: 'application/json', body }, defaultAssumptions);
  expect(read).toEqual({ kind: 'malformed_json', mistake: name, detail });
  expect([status, code]).toEqual([400, errorReplies.malformed_json.code]);
});
