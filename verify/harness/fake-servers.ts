/** Servers that break every rule, and runs of the harness on them: no verdict may be `passed`. */
import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Verdict } from '#judging/report/result.ts';
import { flagsOf, type Printed, runConform, scaledClock } from '../testkit/conform-run.ts';
import { type Listening, serveHttp } from '../testkit/processes/listen.ts';

export interface Fake extends Listening {
  readonly posts: string[];
}

/** Serves by this listener, and notes the bodies of POSTs. */
export async function fake(listener: RequestListener): Promise<Fake> {
  const posts: string[] = [];
  const server = createServer((request, response) => {
    const note = (body: string) => request.method === 'POST' && posts.push(body);
    // A client that closes before the end of its body has sent none.
    void text(request).then(note, () => {});
    listener(request, response);
  });
  return { posts, ...(await serveHttp(server)) };
}

/** Echoes the key, hostile text and control characters, which every report must handle. */
export function hostile(): Promise<Fake> {
  return fake((request, response) => {
    const { authorization: key } = request.headers;
    const detail = `<script>alert(1)</script> & "]]> \u0000\u0007 # | \ud800`;
    const headers = { 'content-type': 'application/json', 'x-echo': key ?? '' };
    response.writeHead(request.url?.includes('stats') ? 200 : 418, headers);
    response.end(JSON.stringify({ detail, key }));
  });
}

/** Values for all flags that describe a world. */
export const allFlags = flagsOf({
  'api-key': 'smst_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCd',
  from: '+12025550101',
  to: '+12125550150',
  'second-api-key': 'smst_second0000000000000000000000000000000000',
  'revoked-key': 'smst_revoked000000000000000000000000000000000',
  'inactive-from': '+12025550103',
  'foreign-from': '+12025550111',
  'unknown-from': '+12025550199',
  'exhausted-api-key': 'smst_spent00000000000000000000000000000000000',
  'device-id': '00000000-0000-4000-8000-000000000001',
});

export interface Outcome extends Printed {
  readonly verdicts: Readonly<Record<string, Verdict>>;
}

/**
 * Runs the harness as the command does, but with a fast clock, as these servers have no time. Waits
 * long for replies: on a busy machine, a late one must not look like a server that has stopped.
 */
export async function run(...argv: string[]): Promise<Outcome> {
  const patient = ['--timeout', '10s', '--reply-timeout', '10m'];
  const printed = await runConform([...patient, ...argv], { clock: scaledClock(20) });
  const rows = [...printed.out.matchAll(/^ *\d+\/\d+ {2}(\w+) +(\S+\/\S+)/gm)];
  const verdicts = rows.map(([, verdict, id]) => [id, verdict as Verdict]);
  return { ...printed, verdicts: Object.fromEntries(verdicts) };
}
