/** Reads typed texts as values of fields, and shows values, rows and counts as text. */
import { type Field, innerFields, labelOf, pathOf, type Typed } from './field.ts';

/** An input that this page or the control API refuses. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Messages by the path of the field; the path is empty if the field is not known. */
  readonly mistakes: Readonly<Record<string, string>>;

  constructor(mistakes: Readonly<Record<string, string>>) {
    const lines = Object.entries(mistakes).map(([path, text]) =>
      path === '' ? text : `${path}: ${text}`,
    );
    super(lines.join('; '));
    this.mistakes = mistakes;
  }
}

/** Reads the typed texts as an object; throws a Refusal with all mistakes. */
export function readTyped(fields: readonly Field[], typed: Typed): Record<string, unknown> {
  const mistakes: Record<string, string> = {};
  const readObject = (inner: readonly Field[], parent: string) => {
    const object: Record<string, unknown> = {};
    for (const field of inner) {
      const value = readField(field, pathOf(parent, field.name));
      // Variants without a name are the whole input.
      if (field.kind === 'variants' && field.name === '') Object.assign(object, value);
      else if (value !== undefined) object[field.name] = value;
    }
    return object;
  };
  /** The value of one field; undefined if it is left out or wrong. */
  const readField = (field: Field, path: string): unknown => {
    const { kind, only, isRequired } = field;
    if (kind === 'variants' || kind === 'object') {
      const inner = readObject(innerFields(field, path, typed), path);
      return kind === 'variants' || isRequired || Object.keys(inner).length > 0 ? inner : undefined;
    }
    if (only !== undefined) return only;
    // A text that is left empty is a value that is not given.
    const text = typed[path] ?? '';
    if (text === '' && !isRequired) return undefined;
    try {
      return readValue(field, text);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      mistakes[path] = error.message;
      return undefined;
    }
  };
  const value = readObject(fields, '');
  if (Object.keys(mistakes).length > 0) throw new Refusal(mistakes);
  return value;
}

/** Reads a typed text as a value of the field; throws a RangeError that says what was expected. */
export function readValue(field: Field, text: string): unknown {
  return readPart(field, text, text);
}

/** `text`: all of `typedText`, or one element of a list in it. The error quotes `typedText`. */
function readPart(field: Field, text: string, typedText: string): unknown {
  const { kind, words = [], isNullable = false, isRequired = false } = field;
  const trimmed = text.trim();
  if (words.includes(trimmed)) return trimmed;
  if (kind === 'choice' && trimmed === '') return words[0];
  if ((trimmed === '' || trimmed === 'null') && isNullable) return null;
  switch (kind) {
    case 'truth':
      return trimmed === 'yes';
    case 'number':
      return readNumber(field, trimmed, typedText.trim());
    case 'list':
      return trimmed === ''
        ? []
        : trimmed.split(',').map((part) => readPart(field.item as Field, part, typedText));
    case 'pairs':
      return Object.fromEntries(trimmed.split('\n').map(readPair));
    case 'json':
      return readJson(trimmed);
    default:
      if (text === '' && isRequired)
        throw new RangeError(`expected a value for ${labelOf(field).toLowerCase()}`);
      return kind === 'text' ? text : trimmed;
  }
}

/** Reads strictly: `1,000`, `0x10`, `1e3` and `abc` are mistakes. */
function readNumber(field: Field, text: string, quoted: string): number {
  const { isWhole = false, least = 0, most, words = [] } = field;
  const format = isWhole ? /^[0-9]+$/ : /^[0-9]+(\.[0-9]+)?$/;
  const number = format.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= (most ?? Number.MAX_SAFE_INTEGER)) return number;
  const kind = isWhole ? 'a whole number' : 'a number';
  const range = most === undefined ? '' : ` from ${least} to ${most}`;
  const orWords = words.map((word) => ` or "${word}"`).join('');
  const expected = `expected ${kind}${range}${orWords}, in plain digits`;
  throw new RangeError(quoted === '' ? expected : `${expected}; got "${quoted}"`);
}

function readPair(line: string): readonly [string, string] {
  const [name = '', ...value] = line.split(':');
  return [name.trim(), value.join(':').trim()];
}

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

/** `1 message`, `1,200 messages`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** Rows as CSV by RFC 4180; the first row gives the columns, and objects become JSON. */
export function csvOf(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => Object.values(row).map(csvCell).join());
  return [names.join(), ...lines, ''].join('\r\n');
}

function csvCell(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null;
  const text = isObject ? JSON.stringify(value) : `${value ?? ''}`;
  // With an apostrophe, so that a spreadsheet does not run the text as a formula. A phone number is
  // none.
  const safeText = /^(?:[=@\t\r]|[+-](?!\d+$))/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safeText) ? `"${safeText.replaceAll('"', '""')}"` : safeText;
}
