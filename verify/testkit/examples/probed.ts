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

/** The answer that the probe finds in the scene, or why it finds none. */
function observedAnswer(probe: Probe, scene: Scene): string {
  const steps = probe(
    new Asker({
      key: scene.callers.keysOf(0)[0]?.key ?? 'none',
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

function replyTo(options: RequestOptions, scene: Scene): ProbeReply {
  const { method, path, headers: sent = {}, body = '' } = options;
  const { authorization, 'content-type': contentType } = sent;
  const [pathname = '', query = ''] = path.split('?');
  const changes = { method, query, body, authorization, contentType };
  const { status, headers = {}, body: text } = scene.call(requestTo(pathname), { changes });
  return { status, headers, text, json: text === '' ? undefined : JSON.parse(text) };
}
