/**
 * Examples from the harness's observations: the requests that tell answers apart on a target show
 * each answer of the simulator, too.
 */
import { replyObservations } from '../../../conformance/cases/observations-replies.ts';
import type { RequestOptions } from '../../../conformance/client.ts';
import { Asker, type Probe, type ProbeReply } from '../../../conformance/probe.ts';
import { answersOf } from '../../../src/ledger/assumptions.ts';
import { requestTo } from '../request.ts';
import { numbers, type Scene } from '../scene.ts';
import type { Example, Examples } from './example.ts';

export const probed: Examples = Object.fromEntries(
  replyObservations.map(({ subject: assumption, probe }): [string, Example] => [
    assumption,
    {
      scene: (scene) => answerShown(probe, scene),
      shows: answersOf(assumption).map((answer) => [answer, answer]),
    },
  ]),
);

function answerShown(probe: Probe, scene: Scene): string {
  const steps = probe(
    new Asker({
      key: scene.session.keysOf(0)[0]?.key ?? 'none',
      from: numbers.ada,
      to: '+12025550150',
      nowMs: scene.session.model.nowMs,
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
  const [own = '', query = ''] = path.split('?');
  const changes = {
    method,
    query,
    body,
    authorization: headers['authorization'],
    contentType: headers['content-type'],
  };
  const reply = scene.call(requestTo(own), { changes });
  const json: unknown = reply.body === '' ? undefined : JSON.parse(reply.body);
  const shown: ProbeReply = {
    status: reply.status,
    headers: reply.headers ?? {},
    text: reply.body,
    json,
  };
  return shown;
}
