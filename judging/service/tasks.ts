/**
 * Gives notice of tasks that break no rule but may surprise a reader. A device polls for its tasks,
 * the messages that it has to send. The document does not say what a task shows, whose key may
 * poll, or how often a message is handed out.
 */

import { type Exchange, isAccepted, isMessageSend, messageIdOf } from './exchange.ts';
import { textOf } from './expectations.ts';
import type { Findings, Trace } from './judge.ts';

export function noticeTasks({ exchanges }: Trace, findings: Findings): void {
  const polls = exchanges.filter(
    ({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200,
  );
  for (const send of exchanges) {
    const messageId = isMessageSend(send) && isAccepted(send) ? messageIdOf(send) : '';
    if (messageId === '') continue;
    const handOuts = polls.filter(({ reply }) => reply.text.includes(messageId));
    const foreign = handOuts.find(({ caller }) => caller.account !== send.caller.account);
    const [first, second] = handOuts;
    if (foreign !== undefined)
      findings.notice(
        "another account's key gets the tasks of the device, with texts and numbers",
        foreign,
      );
    else if (second !== undefined)
      findings.notice('a task was handed out twice: a device may send the message twice', second);
    if (first !== undefined) noticeOtherText(send, first, findings);
  }
}

/** Enough characters to recognise a message by its beginning. */
const recognisedLength = 24;

function noticeOtherText(send: Exchange, handOut: Exchange, findings: Findings): void {
  const text = textOf(send.fields?.['message']);
  const shown = longestTextIn(handOut.reply.json, text.slice(0, recognisedLength));
  if (shown === undefined || shown === text) return;
  findings.notice(
    shown.length === text.length
      ? 'the task of a message shows another text'
      : `the task of a message of ${text.length} characters shows ${shown.length} of them`,
    handOut,
  );
}

/** The longest text of a body that begins with `start`; undefined if there is none. */
function longestTextIn(json: unknown, start: string): string | undefined {
  if (typeof json === 'string') return json.startsWith(start) ? json : undefined;
  if (typeof json !== 'object' || json === null) return undefined;
  let longest: string | undefined;
  for (const part of Object.values(json)) {
    const text = longestTextIn(part, start);
    if ((text?.length ?? 0) > (longest?.length ?? 0)) longest = text;
  }
  return longest;
}
