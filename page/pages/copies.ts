/**
 * Writes texts for the clipboard: a send as a curl command, and the example programs of the page
 * Home. Each program sends one message in the shown world and runs as it is copied.
 */
import { servicePaths } from '#contract/routes.ts';
import { state } from '../clock.ts';
import type { Message, Reply } from '../control.ts';
import { useReply } from '../resource.ts';
import { shownWorld } from '../route.ts';

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

/**
 * A curl command that posts the body, or gets if it is empty; without a key, it reads `SMS_API_KEY`
 * when it runs.
 */
export function asCurl(path: string, body: string, key = ''): string {
  const shellBody = `'${body.replaceAll("'", "'\\''")}'`;
  return [
    `curl -sS ${state.value?.base_url ?? ''}${path}`,
    `  -H "Authorization: Bearer ${key || '$SMS_API_KEY'}"`,
    ...(body === '' ? [] : ["  -H 'Content-Type: application/json'", `  -d ${shellBody}`]),
  ].join(' \\\n');
}

/**
 * What a client needs to send: the first account with a visible key and a number to send from, its
 * own or the shared pool's.
 */
export function clientOf({ base_url, accounts, pool }: Reply<'worlds.get'>) {
  for (const { api_key: key, sims } of accounts) {
    const from = (sims[0] ?? pool[0])?.number;
    if (key !== '' && from !== undefined) return { baseUrl: base_url, key, from };
  }
  return undefined;
}

/** The key of an account, or '' if it may not be shown. */
export function useKey(accountId: string | null): string {
  const { value } = useReply('worlds.get', [shownWorld]);
  return value?.accounts.find(({ account_id: id }) => id === accountId)?.api_key ?? '';
}

/** The programs of `page/examples/` by language, with names such as `{{key}}` for what they need. */
declare const examples: Readonly<Record<string, string>>;

export const languages = ['curl', ...Object.keys(examples)];

/** A program that sends one message. */
export function exampleIn(
  language: string,
  { baseUrl, key, from }: NonNullable<ReturnType<typeof clientOf>>,
): string {
  const path = servicePaths.send;
  const example = examples[language];
  if (example === undefined) {
    const body = JSON.stringify({ to: '+12025550123', from, message: 'Hello' });
    return asCurl(path, body, key);
  }
  const values: Readonly<Record<string, string>> = { base_url: baseUrl, key, from, path };
  return example.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? '');
}
