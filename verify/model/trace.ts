/** The visible behaviour of a random run: every reply, and every message's history. */
import type { Session } from '../testkit/twin/session.ts';

/** The replies, one line each. */
export function repliesOf({ trace }: Session): string[] {
  return trace.map(({ reply }) => JSON.stringify([reply.status, reply.headers, reply.body]));
}

/** The statuses of every message with their times, one line each. */
export function historiesOf(session: Session): string[] {
  return session.model.messages.map(({ messageId }) =>
    JSON.stringify(session.historyOf(messageId)),
  );
}
