/** CLIENT-11 to CLIENT-13: how often a client polls. */
import { type Exchange, wasKnownTo } from './exchange.ts';
import {
  type ClientRecord,
  consecutive,
  finding,
  type Judgement,
  type Judges,
  spanText,
} from './record.ts';

export const polling: Judges = {
  'CLIENT-11': (record) => pollsSlowly(record, 'read', 'the same message'),
  'CLIENT-12': stopsPolling,
  'CLIENT-13': (record) => pollsSlowly(record, 'received', 'received messages'),
};

const pollMs = 15_000;
/** A read that comes this long after the one before it looks something up again, and is not a poll. */
const lookUpMs = 3_600_000;

/** One request after another for the same; what was refused or not seen was no poll. */
function pollsOf({ exchanges }: ClientRecord, endpoint: string) {
  return [
    ...consecutive(exchanges, (one) =>
      one.endpoint === endpoint && one.method === 'GET' ? polled(one) : undefined,
    ),
  ].filter(([earlier, later]) => earlier.status === 200 && wasKnownTo(later, earlier));
}

/** A message by its path, or a page of received ones; other parameters may differ each time. */
function polled({ caller, endpoint, target }: Exchange): string {
  if (!target.includes('?')) return `${caller}\n${target}\n1`;
  const [path = '', query] = target.split('?');
  const page = endpoint === 'received' ? new URLSearchParams(query).get('page') : null;
  return `${caller}\n${path}\n${page ?? '1'}`;
}

function pollsSlowly(record: ClientRecord, endpoint: string, what: string): Judgement {
  const polls = pollsOf(record, endpoint);
  return {
    exercised: polls.length,
    findings: polls
      .filter(([earlier, later]) => later.atMs - earlier.atMs < pollMs)
      .map(([earlier, later]) =>
        finding(
          `${what} polled again after ${spanText(later.atMs - earlier.atMs)}: poll no faster than every 15 s`,
          [earlier, later],
        ),
      ),
  };
}

function stopsPolling(record: ClientRecord): Judgement {
  const isFinal = ({ status, isSeen, reply }: Exchange) =>
    status === 200 && isSeen && ['delivered', 'failed'].includes(String(reply?.['status']));
  const polls = pollsOf(record, 'read');
  return {
    exercised: record.exchanges.filter((one) => one.endpoint === 'read' && isFinal(one)).length,
    findings: polls
      .filter(([earlier, later]) => isFinal(earlier) && later.atMs - earlier.atMs < lookUpMs)
      .map(([earlier, later]) =>
        finding(
          `the message was polled again after it was seen ${String(earlier.reply?.['status'])}, which never changes: stop there`,
          [earlier, later],
        ),
      ),
  };
}
