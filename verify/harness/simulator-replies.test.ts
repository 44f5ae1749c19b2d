/**
 * The harness's table of the simulator's refusals matches the simulator, so that discovery names
 * only differences.
 */
import { expect, test } from 'vitest';
import { simulatorRefusals } from '../../conformance/simulator-replies.ts';
import { errorReplies } from '../../src/http/service/error-replies.ts';
import { readJsonBody } from '../../src/http/service/send-message.ts';
import { defaultAssumptions } from '../../src/sim/assumptions.ts';

const bodies = { malformed_json: '{', not_an_object: '[]', empty_body: '' };

test.each(Object.entries(simulatorRefusals))('%s', (name, [status, code, detail]) => {
  const body = bodies[name as keyof typeof bodies];
  if (body === undefined) {
    const own = errorReplies[name as keyof typeof errorReplies];
    expect([own.status, own.code, own.detail]).toEqual([status, code, detail]);
    return;
  }
  const read = readJsonBody({ contentType: 'application/json', body }, defaultAssumptions);
  expect(read).toEqual({ kind: 'malformed_json', mistake: name, detail });
  expect([status, code]).toEqual([400, errorReplies.malformed_json.code]);
});
