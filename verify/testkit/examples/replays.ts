/**
 * Examples of the assumptions about `request_id`.
 */
import { brief, numbers } from '../scene.ts';
import { ahead, answers, type Examples } from './example.ts';
import { any, bodyOf, both, isSend, namesRequestId, one } from './reach.ts';

export const replays = {
  failedRequestId: {
    scene: (scene) => {
      scene.send({ request_id: 'a', from: numbers.bert });
      return brief(scene.send({ request_id: 'a' }));
    },
    shows: answers(['free', '202'], ['burned', '403 from_number_access_deniedd']),
    reaches: namesRequestId,
  },
  gateOrder: {
    scene: (scene) => {
      const body = { request_id: 'a', send_at: ahead(scene, 1000) };
      scene.send(body);
      scene.advance(1000);
      const again = brief(scene.send(body));
      scene.play({ kind: 'quota', who: 0, quota: 0 });
      return `${again}, ${brief(scene.send({ from: numbers.bert }))}`;
    },
    shows: answers(
      ['replay_first', '200, 403 from_number_access_deniedd'],
      ['validate_first', '400 send_at, 403 from_number_access_deniedd'],
      ['quota_before_sender', '200, 402 quota_exceeded'],
    ),
    reaches: any(namesRequestId, both(isSend, one(402))),
  },
  replayScope: {
    scene: (scene) => {
      scene.play({ kind: 'create_key', who: 0 });
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }, { key: 1 }));
    },
    shows: answers(['account', '200'], ['api_key', '202']),
    reaches: namesRequestId,
  },
  replayDifferentBody: {
    scene: (scene) => {
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a', message: 'something else' }));
    },
    shows: answers(['return_original', '200'], ['conflict', '409 request_id_conflict']),
    reaches: both(namesRequestId, one(409)),
  },
  replayAcrossEndpoints: {
    scene: (scene) => {
      scene.send({ request_id: 'a' });
      return brief(scene.send({ request_id: 'a' }, { via: 'external_send' }));
    },
    shows: answers(['shared', '200'], ['separate', '202']),
    reaches: namesRequestId,
  },
  emptyRequestId: {
    scene: (scene) => brief(scene.send({ request_id: '' })),
    shows: answers(['none_supplied', '202'], ['reject', '400 request_id']),
    reaches: (a) => isSend(a) && bodyOf(a)['request_id'] === '',
  },
  requestIdMaxLength: {
    scene: (scene) =>
      [2, 3, 255, 256].map((n) => scene.send({ request_id: 'x'.repeat(n) }).status).join(),
    shows: answers([255, '202,202,202,400'], [2, '202,400,400,400']),
    more: [256],
    judged: [255, 64, 65_536],
    reaches: namesRequestId,
  },
} satisfies Examples;
