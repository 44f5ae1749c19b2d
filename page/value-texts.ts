/** Values, rows and counts as texts that a person or a spreadsheet reads. */

/** Parses JSON; returns text that is not JSON unchanged. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** JSON with one field per line; a text stays as it is. */
export function jsonText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** A value as text: `status 503`, `1, 4`, `send, +12025550123`. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, part]) => (name === 'kind' ? textOf(part) : `${name} ${textOf(part)}`))
    .join(', ');
}

/** An outcome that is scripted for a recipient, as the control port shows it. */
type ShownOutcome =
  | { readonly ends: 'delivered'; readonly polls?: number }
  | { readonly ends: 'failed' | 'stuck'; readonly in: string; readonly polls?: number }
  | { readonly ends: 'refused'; readonly refuse: string };

/** What happens to a message with this outcome, such as `fails while sending`. */
export function fateText(outcome: ShownOutcome): string {
  if (outcome.ends === 'refused') return `is refused: ${outcome.refuse}`;
  const fate =
    outcome.ends === 'delivered' ? 'is delivered' : `${fateWords[outcome.ends]} ${outcome.in}`;
  const { polls = 1 } = outcome;
  return polls === 1 ? fate : `${fate}; each step takes ${polls} polls`;
}

const fateWords = { failed: 'fails while', stuck: 'stays' } as const;

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** Rows as CSV by RFC 4180; the first row gives the columns, and objects become JSON. */
export function csvOf(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => names.map((name) => csvCell(Reflect.get(row, name))).join());
  return [names.join(), ...lines, ''].join('\r\n');
}

function csvCell(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null;
  const text = isObject ? JSON.stringify(value) : `${value ?? ''}`;
  // With an apostrophe, so that a spreadsheet does not run the text as a formula. A number is not a
  // formula, and a phone number is not one either.
  const isFormula = typeof value !== 'number' && /^(?:[=@\t\r]|[+-](?!\d+$))/.test(text);
  const safeText = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safeText) ? `"${safeText.replaceAll('"', '""')}"` : safeText;
}
