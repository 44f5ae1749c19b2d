/**
 * What the tasks of devices show that breaks no rule but must be heard. The document says nothing of
 * their shape, of who may ask for them, or of how often one is handed out.
 */
import { textOf } from '../verify.ts';
import { isAccepted, isMessageSend, messageIdOf } from './exchange.ts';
import type { Findings, Trace } from './judge.ts';

export function noticeTasks({ exchanges }: Trace, findings: Findings): void {
  const replies = exchanges.filter(
    ({ endpoint, reply }) => endpoint === 'tasks' && reply.status === 200,
  );
  for (const send of exchanges) {
    const id = isMessageSend(send) && isAccepted(send) ? messageIdOf(send) : '';
    const handedOut = replies.filter(({ reply }) => id !== '' && reply.text.includes(id));
    const stranger = handedOut.find(({ caller }) => caller.account !== send.caller.account);
    if (stranger !== undefined)
      findings.notice(
        "another account's key gets the tasks of the device, with texts and numbers",
        stranger,
      );
    const [first, again] = handedOut;
    if (first === undefined) continue;
    if (again !== undefined && stranger === undefined)
      findings.notice('a task was handed out twice: a device may send the message twice', again);
    const text = textOf(send.fields?.['message']);
    const shown = longestTextIn(first.reply.json, text.slice(0, beginning));
    if (shown !== undefined && shown !== text)
      findings.notice(
        shown.length === text.length
          ? 'the task of a message shows another text'
          : `the task of a message of ${text.length} characters shows ${shown.length} of them`,
        first,
      );
  }
}

/** As much of a text as identifies it. */
const beginning = 24;

/** The longest text of a body that begins so; undefined if there is none. */
function longestTextIn(json: unknown, start: string): string | undefined {
  if (typeof json === 'string') return json.startsWith(start) ? json : undefined;
  if (typeof json !== 'object' || json === null) return undefined;
  return Object.values(json)
    .map((part) => longestTextIn(part, start))
    .reduce((a, b) => ((b?.length ?? 0) > (a?.length ?? 0) ? b : a), undefined);
}
