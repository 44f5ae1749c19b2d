/**
 * Text for a person at a terminal: tables, counts with their noun, verdicts in colour, and a
 * progress line that replaces itself. Elsewhere, or with `NO_COLOR`, all text is plain.
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

/** The text with its verdicts in colour. */
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
