/**
 * Writes texts for the clipboard: a send as a curl command, a message as a test, an earlier instant
 * of a world as a test, and the example programs of the page Home. Each program sends one message in
 * the shown world and runs as it is copied.
 */
import { servicePaths } from '#contract/routes.ts';
import { hourMs } from '#contract/time.ts';
import { call, routeOf } from '../control.ts';
import { useResource } from '../resource.ts';
import { shownWorld } from '../route.ts';
import type { Message, Reply, State } from '../wire.ts';

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

/** What a client needs to send. */
interface Client {
  readonly baseUrl: string;
  /** The account's name. */
  readonly account: string;
  readonly key: string;
  /** A number that the account may send from. */
  readonly from: string;
}

/** The base URL while it is not known: where `smstwin serve` listens by default. */
const usualBaseUrl = 'http://127.0.0.1:8080';
/** A recipient without a scripted outcome. */
const to = '+12025550123';
const message = 'Hello';

/** A client of the first account with a visible key and a number, its own or the shared pool's. */
export function clientOf({ base_url, accounts, pool }: Reply<'worlds.get'>): Client | undefined {
  for (const { name, api_key: key, sims } of accounts) {
    const from = (sims[0] ?? pool[0])?.number;
    if (key !== '' && from !== undefined) return { baseUrl: base_url, account: name, key, from };
  }
  return undefined;
}

/** The base URL of the world, and the key of an account, or '' if it may not be shown. */
export function useCaller(accountId: string | null): Pick<Client, 'baseUrl' | 'key'> {
  const { value } = useResource(() => call('worlds.get', shownWorld));
  const account = value?.accounts.find(({ account_id: id }) => id === accountId);
  return { baseUrl: value?.base_url || usualBaseUrl, key: account?.api_key ?? '' };
}

/** The programs by the name of their language. */
export const setups: Readonly<Record<string, (client: Client) => string>> = {
  curl: ({ baseUrl, key, from }) =>
    asCurl(baseUrl, servicePaths.send, JSON.stringify({ to, from, message }), key),

  Node: ({ baseUrl, key, from }) => `// node send.mjs
const baseUrl = '${baseUrl}';
const headers = { authorization: 'Bearer ${key}', 'content-type': 'application/json' };

const reply = await fetch(\`\${baseUrl}${servicePaths.send}\`, {
  method: 'POST',
  headers,
  body: JSON.stringify({
    to: '${to}',
    from: '${from}',
    message: '${message}',
    request_id: crypto.randomUUID(), // Keep it to retry: the message is then sent once.
  }),
});
console.log(reply.status, await reply.json());`,

  Python: ({ baseUrl, key, from }) => `# python3 send.py
import json
import urllib.request
import uuid

BASE_URL = "${baseUrl}"
HEADERS = {"Authorization": "Bearer ${key}", "Content-Type": "application/json"}

body = {
    "to": "${to}",
    "from": "${from}",
    "message": "${message}",
    "request_id": str(uuid.uuid4()),  # Keep it to retry: the message is then sent once.
}
request = urllib.request.Request(
    BASE_URL + "${servicePaths.send}", json.dumps(body).encode(), HEADERS
)
with urllib.request.urlopen(request) as reply:
    print(reply.status, reply.read().decode())`,

  Go: ({ baseUrl, key, from }) => `// go run send.go
package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const baseURL = "${baseUrl}"

func main() {
	// Keep it to retry: the message is then sent once.
	requestID := fmt.Sprint("hello-", time.Now().UnixNano())
	body := fmt.Sprintf(\`{"to":"${to}","from":"${from}","message":"${message}","request_id":%q}\`, requestID)
	request, _ := http.NewRequest("POST", baseURL+"${servicePaths.send}", strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer ${key}")
	request.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	text, _ := io.ReadAll(reply.Body)
	fmt.Println(reply.StatusCode, string(text))
}`,
};
