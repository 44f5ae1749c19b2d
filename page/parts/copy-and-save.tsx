/**
 * Buttons that copy a text to the clipboard, or save a file as text, JSON or CSV; and programs to
 * copy: a request as a curl command, and the examples of the page Home. Each runs as it is copied,
 * in the shown world.
 */
import { useSignal } from '@preact/signals';
import { servicePaths } from '#contract/routes.ts';
import { state } from '../clock.ts';
import { call } from '../control.ts';
import type { Row } from '../list-declaration.ts';
import { counted, csvOf, jsonText } from '../value-texts.ts';
import type { clientOf } from '../world.ts';
import { Action } from './action.tsx';

type CopyText = () => string | Promise<string>;
/** `what`: what is copied, if the button's text does not name it. */
type CopyButtonProps = Readonly<{ text: CopyText; children: string; what?: string }>;

const confirmationMs = 2_000;

/** Copies the result of `text` to the clipboard and confirms it for a moment. */
export function CopyButton({ text, children, what }: CopyButtonProps) {
  const confirmation = useSignal('');
  const copy = async () => {
    const copied = await text();
    await copyText(copied);
    const lines = copied.trimEnd().split('\n').length;
    confirmation.value = lines > 1 ? `Copied ${counted(lines, 'line')}` : 'Copied';
    setTimeout(() => (confirmation.value = ''), confirmationMs);
  };
  return (
    <Action act={copy}>
      {what !== undefined && <span class="hidden">{what}: </span>}
      <span aria-live="polite">{confirmation.value || children}</span>
    </Action>
  );
}

/** Copies a test that reproduces a situation; `input`: which, as `past.situation` takes it. */
export function CopyTest({ input }: { readonly input: Row }) {
  const read = (language: string) => async () =>
    String(await call('past.situation', { ...input, language }));
  return (
    <>
      <CopyButton text={read('vitest')}>Copy as test</CopyButton>
      <CopyButton text={read('pytest')}>Copy as pytest</CopyButton>
    </>
  );
}

/** `read`: reads what is saved, or promises it; `file`: the name of the file. */
type DownloadProps = Readonly<{ read: () => unknown; file: string }>;

/** Saves the result of `read` as a file: a text unchanged, any other value as JSON. */
export function DownloadButton(props: DownloadProps & { readonly children: string }) {
  const { read, file, children } = props;
  const save = async () => {
    const text = jsonText(await read());
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <Action act={save}>{children}</Action>;
}

/** Two buttons that save rows as JSON or as CSV; `file` has no extension. */
export function RowDownloads({ read, file }: DownloadProps) {
  const readCsv = async () => csvOf((await read()) as readonly object[]);
  return (
    <>
      <DownloadButton read={read} file={`${file}.json`}>
        Save these as JSON
      </DownloadButton>
      <DownloadButton read={readCsv} file={`${file}.csv`}>
        Save these as CSV
      </DownloadButton>
    </>
  );
}

/** Copies a text, without the clipboard API if the origin is not secure, as on a local network. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const textarea = document.createElement('textarea');
    textarea.value = text;
    document.body.append(textarea);
    textarea.select();
    document.execCommand('copy');
    textarea.remove();
  }
}

/** The path of the send endpoint, such as `send` or `external_send`, that accepted a message. */
export function sendPath({ endpoint = 'send' }: { readonly endpoint?: string }): string {
  return servicePaths[endpoint as keyof typeof servicePaths];
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
