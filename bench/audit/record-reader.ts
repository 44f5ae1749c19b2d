/** Reads what an audit counts from the service's own record of requests. */
import type { AuditEntry } from '#judging/limiter/recount.ts';
import type { RequestView } from '#src/operations/requests/request-views.ts';

/** Collects the entries of the record. Call `take` before the record overflows. */
export class RecordReader {
  readonly entries: AuditEntry[] = [];
  /** The numbers of the requests that were read; those of a fleet have gaps and no order. */
  readonly #read = new Set<number>();

  /** `views`: newest first, as the record lists them. `isOurs`: the accounts to keep. */
  take(views: readonly RequestView[], isOurs: (accountId: string) => boolean = () => true): void {
    for (const { number, at, endpoint, account_id: user, status } of views.toReversed()) {
      if (this.#read.has(number)) continue;
      this.#read.add(number);
      if (endpoint === null || user === null || !isOurs(user)) continue;
      this.entries.push({ atMs: Date.parse(at), endpoint, user, passed: status !== 429 });
    }
  }
}
