/**
 * Makes text that others wrote (a server under test, a client, a file) safe to print. Terminals
 * obey control characters, and CI logs obey lines that begin with `::` or contain `##[`, `##vso[`
 * or `##teamcity[`.
 */

/** C0, DEL, C1, line separators, marks that reorder text, halves of surrogate pairs. */
const invisible =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what a terminal obeys.
  /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\p{Surrogate}]/gu;

/** The first character of a command that CI logs obey anywhere in a line. */
const ciCommand = /#(?=#\w*\[)/g;

const shortEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The text in one line, with every invisible character as an escape such as `\u001b`. */
export function foreignText(text: string): string {
  return text
    .replace(invisible, (character) => shortEscapes[character] ?? escaped(character))
    .replace(/^(\s*):(?=:)/, (_, space: string) => `${space}${escaped(':')}`)
    .replace(ciCommand, escaped);
}

/** JSON with the characters escaped that JSON itself does not escape. Its value stays the same. */
export function foreignJson(json: string): string {
  return json
    .replace(invisible, (character) => (character === '\n' ? character : escaped(character)))
    .replace(ciCommand, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A copy of the value in which every text is safe to print; functions stay as they are. */
export function foreignTexts<T>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: unknown): unknown {
  if (typeof value === 'string') return foreignText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  if (value instanceof Map)
    return new Map([...value].map(([key, entry]) => [copyOf(key), copyOf(entry)]));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [foreignText(key), copyOf(entry)]),
  );
}
