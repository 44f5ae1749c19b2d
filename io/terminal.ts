/**
 * Text for a person at a terminal: tables, counts with their noun, verdicts in colour, and a
 * progress line that replaces itself. Elsewhere, or with `NO_COLOR`, all text is plain. Texts that a
 * target wrote are made safe to print: one could move the cursor, or command a CI.
 */

/** Rows as columns of text, two spaces apart; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** `1 finding`, `2 findings`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** Verdicts: in capitals in reports, in small letters after a case's number in progress lines. */
const verdictColours: readonly (readonly [colour: number, words: RegExp])[] = [
  [
    31,
    patternOf('failed|error|invalid|flaky|spelling|FAILED|ERROR|INVALID|CROSSED|FLAKY|SPELLING'),
  ],
  [33, patternOf('notice|advice|not_exercised|NOTICE|ADVICE')],
  [32, patternOf('passed|observed|met')],
  [31, /(a limit was )(BROKEN)/g],
];

function patternOf(words: string): RegExp {
  return new RegExp(`^( *(?:\\d+/\\d+ +)?)(${words})(?=[ :\\n])`, 'gm');
}

/** True if a stream is a terminal whose user has not asked for plain text. */
export function isColourTerminal(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR: plain = '', TERM: terminal } = process.env;
  return stream.isTTY === true && plain === '' && terminal !== 'dumb';
}

export function coloured(text: string): string {
  return verdictColours.reduce(
    (painted, [colour, words]) => painted.replace(words, `$1\u001b[${colour}m$2\u001b[39m`),
    text,
  );
}

const leastPauseMs = 5_000;

/**
 * Returns a function that shows what a command does, on standard error. A terminal shows the last
 * line only, and nothing after ''. Elsewhere each step has a line: a new `step` at once, and the
 * same one every few seconds.
 */
export function progressTo(
  error: (text: string) => void,
  isTerminal = isColourTerminal(process.stderr),
): (line: string, step?: string) => void {
  let last = '';
  let shownMs = Date.now();
  return (line, step = line) => {
    if (isTerminal) {
      error(`\r\u001b[K${line.slice(0, (process.stderr.columns || 80) - 1)}`);
      return;
    }
    const isDue = Date.now() - shownMs >= leastPauseMs;
    if (line === '' || (step === last && !isDue)) return;
    last = step;
    shownMs = Date.now();
    error(`${line}\n`);
  };
}

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
