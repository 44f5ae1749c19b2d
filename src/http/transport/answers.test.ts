import { expect, test } from 'vitest';
import type { ApiReply, Delivery } from '#contract/request-and-reply.ts';
import { nextTurn } from '#verify/testkit/journal-files.ts';
import { Answers } from './answers.ts';
import type { Outlet } from './outlet.ts';
import { ServedPort } from './served-port.ts';

/** An outlet whose client may leave. */
function outletOf(path: string, written: string[]) {
  const state = { isGone: false };
  const outlet: Outlet = {
    method: 'GET',
    path,
    isAnswered: false,
    get isDone() {
      return state.isGone;
    },
    write: ({ status }) => void written.push(`${path} ${status}`),
    truncate: () => {},
    drop: () => {},
    reset: () => {},
    corked: (act) => act(),
    onLeft: () => {},
    hold: () => written.push(`${path} held`),
  };
  return { outlet, state };
}

const request = {
  method: 'GET',
  query: '',
  authorization: undefined,
  contentType: undefined,
  clientIp: '127.0.0.1',
  forwardedFor: undefined,
  body: '',
};

test('a reply waits for its own write, and for all of its turn, in order of arrival', async () => {
  const log: string[] = [];
  const failure = new Error('planted');
  const port = new ServedPort(
    {
      service: ({ path }, awaits) => {
        let isWritten = false;
        const write = () => {
          if (!isWritten) log.push(`write ${path}`);
          isWritten = true;
          return path === '/c' ? failure : undefined;
        };
        if (path !== '/b') awaits?.(write);
        return { status: 202, body: '{}' };
      },
    },
    { onInternalError: (error) => log.push(String(error)) },
  );
  const answers = new Answers(port);
  for (const path of ['/a', '/b', '/c', '/d'])
    answers.serve(outletOf(path, log).outlet, { ...request, path });
  expect(answers.isBusy).toBe(true);
  await nextTurn();
  expect(answers.isBusy).toBe(false);
  expect(log).toEqual([
    '/a held',
    '/b held',
    '/c held',
    '/d held',
    'write /a',
    'write /c',
    'write /d',
    '/a 202',
    '/b 202',
    'Error: planted',
    '/c 500',
    '/d 202',
  ]);
});

test('a client that leaves in the middle of a turn has not seen its reply', async () => {
  const ends: [Delivery, boolean][] = [];
  const replies: ApiReply[] = [
    { status: 202, body: '{}', delivery: { delayMs: 1 } },
    { status: 202, body: '{}' },
  ];
  const port = new ServedPort(
    {
      service: () => replies.shift() as ApiReply,
      onReplyFinished: (delivery, isSeen) => ends.push([delivery, isSeen]),
    },
    {},
  );
  const log: string[] = [];
  const answers = new Answers(port);
  for (const path of ['/delayed', '/plain']) {
    const { outlet, state } = outletOf(path, log);
    answers.serve(outlet, { ...request, path });
    state.isGone = true;
  }
  answers.endTurn();
  expect(log).toEqual(['/delayed held', '/plain held']);
  expect(ends).toEqual([[{ delayMs: 1 }, false]]);
});
