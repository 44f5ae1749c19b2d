/**
 * The libraries on the scorecard, with what their documentation says about retrying a POST and
 * about a 429.
 */
export interface Library {
  readonly name: string;
  /** The file in `clients/`. */
  readonly file: string;
  readonly language: 'Node' | 'Python';
  /** Packages of npm or Debian. */
  readonly packages: readonly string[];
  readonly configurations: readonly ('default' | 'recommended')[];
  /** A quote or summary of its documentation, the source, and what it cannot do. */
  readonly says: string;
}

const both = ['default', 'recommended'] as const;

export const libraries: readonly Library[] = [
  {
    name: "Node's fetch",
    file: 'fetch.ts',
    language: 'Node',
    packages: [],
    configurations: ['default'],
    says: 'The baseline: `fetch` does not retry, and has no setting for it.',
  },
  {
    name: 'got',
    file: 'got.ts',
    language: 'Node',
    packages: ['got'],
    configurations: both,
    says: '`documentation/7-retry.md`: does not retry a POST by default; `retry.methods` adds it. Waits `Retry-After`, and gives up where it is longer than `maxRetryAfter`, by default the timeout.',
  },
  {
    name: 'ky',
    file: 'ky.ts',
    language: 'Node',
    packages: ['ky'],
    configurations: both,
    says: '`readme.md`, "retry": does not retry a POST by default; `methods` adds it. Waits `Retry-After`, at most `maxRetryAfter`. A timeout is retried with `retryOnTimeout` alone. Reads the body after its retries are over.',
  },
  {
    name: 'axios + axios-retry',
    file: 'axios-retry.ts',
    language: 'Node',
    packages: ['axios', 'axios-retry'],
    configurations: both,
    says: '`README.md`, "Options": retries network errors, and a 5xx or 429 of idempotent methods; a `retryCondition` adds the POST. Waits `Retry-After`, otherwise not at all unless `retryDelay` says so. Calls a timeout no network error, and a truncated 202 no error to retry.',
  },
  {
    name: 'undici RetryAgent',
    file: 'undici-retry-agent.ts',
    language: 'Node',
    packages: ['undici'],
    configurations: both,
    says: '`docs/docs/api/RetryAgent.md`: does not retry a POST by default; `methods` adds it. Waits `Retry-After`, at most `maxTimeout`, by default 30 s. Has the rest of a truncated reply sent by a range request, which a POST cannot use.',
  },
  {
    name: 'p-retry',
    file: 'p-retry.ts',
    language: 'Node',
    packages: ['p-retry'],
    configurations: both,
    says: '`readme.md`: repeats a function, knows nothing of HTTP and so of `Retry-After`; `onFailedAttempt` may return a promise, which adds a wait; `AbortError` ends the retries.',
  },
  {
    name: 'urllib3 Retry',
    file: 'urllib3_retry.py',
    language: 'Python',
    packages: ['python3-urllib3'],
    configurations: both,
    says: '"Utilities", `Retry`: repeats a POST only where the connection failed; `allowed_methods` adds it and `status_forcelist` the statuses. Waits `Retry-After` after 413, 429 and 503.',
  },
  {
    name: 'requests + HTTPAdapter',
    file: 'requests_adapter.py',
    language: 'Python',
    packages: ['python3-requests', 'python3-urllib3'],
    configurations: both,
    says: '"Advanced usage", "Automatic retries": does not retry by default; an `HTTPAdapter` with a `Retry` of urllib3 that allows POST does. Reads the body after its retries are over.',
  },
  {
    name: 'tenacity',
    file: 'tenacity_retry.py',
    language: 'Python',
    packages: ['python3-tenacity', 'python3-requests'],
    configurations: both,
    says: '"Waiting before retrying", "Custom callbacks": repeats a function, by default forever and without a pause; knows nothing of HTTP and so of `Retry-After`, which a `wait` function may read.',
  },
  {
    name: 'httpx',
    file: 'httpx_transport.py',
    language: 'Python',
    packages: ['python3-httpx', 'python3-tenacity'],
    configurations: both,
    says: '"HTTP transport": `HTTPTransport(retries=)` repeats what could not connect and nothing else; for statuses and lost replies it refers to tenacity.',
  },
  {
    name: 'curl --retry',
    file: 'curl_retry.py',
    language: 'Python',
    packages: ['curl'],
    configurations: both,
    says: '`man curl`, `--retry`, `--retry-all-errors`: repeats after timeouts, 408, 429, 500, 502, 503 and 504, with any method, and waits `Retry-After`; all other errors of a transfer need `--retry-all-errors`.',
  },
];
