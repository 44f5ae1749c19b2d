/**
 * Decides which headers of a reply a template of `--discover` needs: those that differ from the
 * ones that the simulator sets by itself.
 */
import type { ReplyTemplate } from '#contract/reply-template.ts';
import type { Sample } from './infer-template.ts';

/** Headers that the simulator sets by itself. */
export type OwnHeaders = Readonly<Record<string, string>>;

const jsonType = 'application/json';
/** The headers that a template can have. */
const shownHeaders = ['content-type', 'www-authenticate', 'allow', 'location'];

/** Headers that differ from the simulator's own; null for one that the target does not send. */
export function headersOf(
  samples: readonly Sample[],
  own: OwnHeaders = {},
): ReplyTemplate['headers'] | undefined {
  const ours: OwnHeaders = { 'content-type': jsonType, ...own };
  const headers: Record<string, string | null> = {};
  for (const name of shownHeaders) {
    const value = sharedHeader(name, samples);
    if (value === undefined || value === ours[name]) continue;
    if (value !== null) headers[name] = value;
    else if (ours[name] !== undefined && name !== 'content-type') headers[name] = null;
  }
  return Object.keys(headers).length === 0 ? undefined : headers;
}

/** Known values that a header may contain. */
const placeholders = ['allow', 'allowed_method', 'location'];

/**
 * The value that all replies share, with a placeholder if that makes them equal; null if the header
 * is absent in all; undefined if they differ.
 */
function sharedHeader(name: string, samples: readonly Sample[]): string | null | undefined {
  for (const placeholder of placeholders) {
    const templates = samples.map(({ reply, values }) => {
      const known = values[placeholder];
      const value = reply.headers[name];
      return typeof known === 'string' ? value?.replace(known, `{${placeholder}}`) : undefined;
    });
    const [first] = templates;
    const isUsed = first?.includes(`{${placeholder}}`);
    if (isUsed && templates.every((each) => each === first)) return first;
  }
  const [first, ...others] = samples.map(({ reply }) => reply.headers[name] ?? null);
  return others.every((other) => other === first) ? first : undefined;
}
