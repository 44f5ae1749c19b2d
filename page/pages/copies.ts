/**
 * Writes texts for the clipboard: a send as a curl command, and the example programs of the page
 * Home. Each program sends one message in the shown world and runs as it is copied.
 */
import { servicePaths } from '#contract/routes.ts';
import { call } from '../control.ts';
import { useResource } from '../resource.ts';
import { shownWorld } from '../route.ts';
import type { Message, Reply } from '../wire.ts';

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

/** A curl command that posts the body, or gets if it is empty; without a key, it reads `SMS_API_KEY` when it runs. */
export function asCurl(baseUrl: string, path: string, body: string, key = ''): string {
  const shellBody = `'${body.replaceAll("'", "'\\''")}'`;
  return [
    `curl -sS ${baseUrl}${path}`,
    `  -H "Authorization: Bearer ${key || '$SMS_API_KEY'}"`,
    ...(body === '' ? [] : ["  -H 'Content-Type: application/json'", `  -d ${shellBody}`]),
  ].join(' \\\n');
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
