/**
 * Examples from the harness's observations: the requests by which the harness tells the answers of
 * a target apart also show the answer that the simulator is set to.
 */
import { replyObservations } from '#conformance/cases/observations-replies.ts';
import { Asker, type Probe } from '#conformance/steps/probe.ts';
import { answersOf } from '#contract/assumptions.ts';
import type { ProbeReply, RequestOptions } from '#judging/evidence/reply.ts';
import { requestTo } from '../twin/request.ts';
import { numbers, type Scene } from '../twin/scene.ts';
import type { Example, Examples } from './example.ts';

export const probed: Examples = Object.fromEntries(
  replyObservations.map(({ subject: assumption, probe }): [string, Example] => [
    assumption,
    {
      scene: (scene) => observedAnswer(probe, scene),
      shows: answersOf(assumption).map((answer) => [answer, answer]),
    },
  ]),
);

function observedAnswer(probe: Probe, scene: Scene): string {
  const steps = probe(
    new Asker({
      key: scene.keysOf(0)[0]?.key ?? 'none',
      from: numbers.ada,
      to: '+12025550150',
      nowMs: scene.model.nowMs,
      unknownFrom: '+12025550199',
      deviceId: scene.deviceOf(numbers.adaExternal),
      requestId: () => 'a',
    }),
  );
  let step = steps.next();
  while (step.done !== true) step = steps.next(replyTo(step.value, scene));
  return 'answer' in step.value ? String(step.value.answer) : step.value.undetermined;
}

function replyTo({ method, path, headers = {}, body = '' }: RequestOptions, scene: Scene) {
  const [pathname = '', query = ''] = path.split('?');
  const changes = {
    method,
    query,
    body,
    authorization: headers['authorization'],
    contentType: headers['content-type'],
  };
  const reply = scene.call(requestTo(pathname), { changes });
  const json: unknown = reply.body === '' ? undefined : JSON.parse(reply.body);
  const probeReply: ProbeReply = {
    status: reply.status,
    headers: reply.headers ?? {},
    text: reply.body,
    json,
  };
  return probeReply;
}
