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
  /** False if the first caller's limit may have come back meanwhile: then this shows little. */
  readonly isClear: boolean;
  readonly exchanges: readonly number[];
  /** What passed, if it had a limit of its own. */
  readonly own: Omitted;
}

/** Requests that test another caller, beside a share of the limit: more than return meanwhile. */
const mostOfOther = 4;
/** How often another caller is asked, if a returned token may have let its request pass. */
const mostRounds = 4;
/** Tokens of a shared limit let pass at most this part of another caller's requests. */
const tokenShare = 4;

/** Asks which other callers are refused while the first is. `limit`: how many passed at first. */
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
    const isClear = isShared || isRefused(asked.at(-1));
    const own = { sent: isShared ? [] : sent, at };
    if (sent.some(({ outcome }) => outcome !== 'broken'))
      tests.push({ subject: other, isShared, isClear, exchanges: asked.map(numberOf), own });
  }
  return tests;
}

function isRefused(exchange: AuditedExchange | undefined): boolean {
  return exchange?.outcome === 'refused';
}

function numberOf({ number }: AuditedExchange): number {
  return number;
}
