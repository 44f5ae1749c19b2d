/**
 * Writes texts for the clipboard: a send as a curl command, a message as a test, and an earlier
 * instant of a world as a test.
 */

import { servicePaths } from '#contract/routes.ts';
import { hourMs } from '#contract/time.ts';
import { routeOf } from '../control.ts';
import type { Message, State } from '../wire.ts';

/** The path of the send endpoint, such as `send` or `external_send`, that accepted a message. */
export function sendPath({ endpoint = 'send' }: { readonly endpoint?: string }): string {
  return servicePaths[endpoint as keyof typeof servicePaths];
}

/** The body of the send that created the message, with the document's field names. */
export function sendBody(message: Message) {
  return {
    to: message.to,
    from: message.from_number,
    message: message.message,
    ...(message.request_id !== '' && { request_id: message.request_id }),
    ...(message.send_at !== null && { send_at: message.send_at }),
  };
}

/** A curl command that sends the body; without a key, it reads `SMS_API_KEY` when it runs. */
export function asCurl(baseUrl: string, path: string, body: string, key = ''): string {
  const shellBody = `'${body.replaceAll("'", "'\\''")}'`;
  return [
    `curl -sS ${baseUrl}${path}`,
    `  -H "Authorization: Bearer ${key || '$SMS_API_KEY'}"`,
    "  -H 'Content-Type: application/json'",
    `  -d ${shellBody}`,
  ].join(' \\\n');
}

/** A Vitest test that sends the same message and expects its present status. */
export function asTest(message: Message, account: string): string {
  const { to, status } = message;
  const { send_at, ...body } = sendBody(message);
  const holdMs = send_at === undefined ? 0 : Date.parse(send_at) - Date.parse(message.created_at);
  const lines = Object.entries(body).map(([name, value]) => `      ${name}: ${quoted(value)},`);
  if (send_at !== undefined) {
    lines.push(`      send_at: new Date(simulator.clock.now() + ${holdMs}).toISOString(),`);
  }
  return `import { expect } from 'vitest';
import { test } from 'smstwin/vitest';

test(${quoted(`a message to ${to} is ${status}`)}, async ({ simulator }) => {
  const { baseUrl } = await simulator.listen();
  const account = simulator.readyFile().accounts.find(({ name }) => name === ${quoted(account)});
  const reply = await fetch(\`\${baseUrl}${sendPath(message)}\`, {
    method: 'POST',
    headers: {
      authorization: \`Bearer \${account?.api_key}\`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
${lines.join('\n')}
    }),
  });
  expect(reply.status).toBe(202);
  const { message_id } = (await reply.json()) as { message_id: string };
  simulator.messages.advanceUntil({
    match: { to: ${quoted(to)}, status: ${quoted(status)} },
    timeout_ms: ${Math.max(0, holdMs) + hourMs},
  });
  expect(simulator.messages.get(message_id).status).toBe(${quoted(status)});
});
`;
}

/** A Vitest test that forks the world at a line of its journal; each run gets its own fork. */
export function asTestFrom(
  entry: number,
  world: string,
  { clock, messages: { total, ...byStatus } }: State,
  controlUrl: string,
): string {
  const countsAbove0 = Object.entries(byStatus).filter(([, count]) => count > 0);
  const counts = [['total', total], ...countsAbove0].map(([name, count]) => `${name}: ${count}`);
  return `import { expect, test } from 'vitest';

// The world ${world} after line ${entry} of its journal, at ${clock.now}.
test(${quoted(`goes on from line ${entry}`)}, async () => {
  const reply = await fetch(${quoted(controlUrl + routeOf('worlds.fork', world).path)}, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ from: { entry: ${entry} } }),
  });
  expect(reply.status).toBe(201);
  const fork = (await reply.json()) as { base_url: string; control_url: string };
  // Let your client call fork.base_url here, with the keys of the fork.
  const state = await (await fetch(\`\${fork.control_url}${routeOf('simulator.state').path}\`)).json();
  expect(state).toMatchObject({ messages: { ${counts.join(', ')} } });
});
`;
}

/** A text as a string literal with single quotes. */
function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inner}'`;
}
