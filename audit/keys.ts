/** Which other callers and paths share the limit of the first caller. */
import type { Evidence, Omitted } from './evidence.ts';
import type { AuditedExchange, Run, Subject } from './run.ts';

/** Who asks. */
export interface Plan {
  readonly subject: Subject;
  /** Other callers, and other paths of the first caller. */
  readonly others: readonly Subject[];
  readonly longestMs: number;
}

/** Which other subjects share the limit of the first one, and what showed it. */
export interface KeyTest {
  readonly subject: Subject;
  readonly isShared: boolean;
  readonly exchanges: readonly number[];
  /** What passed, if it had a limit of its own. */
  readonly own: Omitted;
}

/** So many requests of another caller, and a part of a limit, are more than come back meanwhile. */
const mostOfOther = 4;
/** So often another caller is asked of whom a token may have let the first request pass. */
const mostRounds = 4;
/** Of those that pass of another caller, tokens of a shared limit are so small a part at most. */
const tokenShare = 4;

/** `limit`: so many passed at first. While the first caller is refused: which others are, too? */
export async function testKeys(
  run: Run,
  evidence: Evidence,
  { subject, others }: Plan,
  limit: number,
): Promise<readonly KeyTest[]> {
  run.doing('who shares the limit');
  const tests: KeyTest[] = [];
  const most = Math.min(limit, mostOfOther + Math.min(limit >> 2, 3 * mostOfOther));
  for (const other of others) {
    const at = evidence.decisions.length;
    const asked: AuditedExchange[] = [];
    const sent: AuditedExchange[] = [];
    let isShared = false;
    // A token that came back may let one pass of a limit that is shared: then they are asked again.
    for (let round = 0; round < mostRounds && !isShared; round += 1) {
      const begin = sent.length;
      while (sent.length < begin + most && (sent.length === begin || !isRefused(sent.at(-1))))
        sent.push(await run.ask(other));
      isShared = isRefused(sent[begin]);
      asked.push(...sent.slice(begin), await run.ask(subject));
      const isToken = (sent.length - begin - 1) * tokenShare <= most;
      if (!isToken || !isRefused(sent.at(-1)) || !isRefused(asked.at(-1))) break;
    }
    for (const each of asked)
      if ((isShared || !sent.includes(each)) && each.outcome !== 'broken') evidence.add(each);
    const own = { sent: isShared ? [] : sent, at };
    if (sent.some(({ outcome }) => outcome !== 'broken'))
      tests.push({ subject: other, isShared, exchanges: asked.map(numberOf), own });
  }
  return tests;
}

function isRefused(exchange: AuditedExchange | undefined): boolean {
  return exchange?.outcome === 'refused';
}

function numberOf({ number }: AuditedExchange): number {
  return number;
}
