/**
 * A field of an operation's input or output, as the page needs it. `declared.ts` makes the fields
 * from the schemas when the page is built. This module reads typed texts as values of fields, and
 * shows values as text.
 */

export interface Field {
  readonly name: string;
  readonly kind:
    | 'text'
    | 'phone'
    | 'time'
    | 'id'
    | 'choice'
    | 'truth'
    | 'number'
    /** Typed with commas. */
    | 'list'
    | 'object'
    /** One of several objects. */
    | 'variants'
    /** Names and values, typed as lines `name: value`. */
    | 'pairs'
    /** Typed as JSON, or as a text without quotes. */
    | 'json';
  /** Default: made from the name; see `labelOf`. */
  readonly title?: string;
  /** The description of the schema. */
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly isNullable?: boolean;
  /** The values of a choice, or words that may replace a number or a list. */
  readonly words?: readonly string[];
  /** Of a number: whole, and its range. */
  readonly isWhole?: boolean;
  readonly least?: number;
  readonly most?: number;
  /** The only permitted value; it is not typed. */
  readonly only?: unknown;
  /** The elements of a list. */
  readonly item?: Field;
  /** Of an object: its fields. Of variants: one object for each variant. */
  readonly fields?: readonly Field[];
}

export interface DeclaredOperation {
  /** Verb and path, with a space between them. */
  readonly route: string;
  readonly input?: readonly Field[];
  /** The fields of the output, or of its rows if it is a list. */
  readonly output?: readonly Field[];
}

/** Texts by the path of their field, such as `fault.status`; for variants, the chosen index. */
export type Typed = Readonly<Record<string, string>>;

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

/** `Monthly quota` for `monthly_quota`, `Account` for `account_id`; names in camel case stay. */
export function labelOf({ name, title }: Pick<Field, 'name' | 'title'>): string {
  if (title !== undefined || /[A-Z]/.test(name)) return title ?? name;
  const words = name.replace(/_id$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The fields of the chosen variant that the user types. */
export function chosenFields(variants: Field, path: string, typed: Typed): readonly Field[] {
  return variantFields(variants, path, typed).filter(({ only }) => only === undefined);
}

function variantFields({ fields = [] }: Field, path: string, typed: Typed): readonly Field[] {
  return fields[Number(typed[path] ?? 0)]?.fields ?? [];
}

/** The paths of all fields that a form shows, at any depth. */
export function pathsOf(fields: readonly Field[], typed: Typed, parent = ''): string[] {
  return fields.flatMap((field) => {
    const path = pathOf(parent, field.name);
    const ownFields = field.kind === 'object' ? (field.fields ?? []) : [];
    const inner = field.kind === 'variants' ? chosenFields(field, path, typed) : ownFields;
    return [path, ...pathsOf(inner, typed, path)];
  });
}

export function pathOf(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

/** Reads the typed texts as an object; throws a Refusal with all mistakes. */
export function readTyped(fields: readonly Field[], typed: Typed): Record<string, unknown> {
  const mistakes: Record<string, string> = {};
  const value = readObject(fields, '', typed, mistakes);
  if (Object.keys(mistakes).length > 0) throw new Refusal(mistakes);
  return value;
}

function readObject(
  fields: readonly Field[],
  parent: string,
  typed: Typed,
  mistakes: Record<string, string>,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  for (const field of fields) {
    const value = readField(field, pathOf(parent, field.name), typed, mistakes);
    // Variants without a name are the whole input.
    if (field.kind === 'variants' && field.name === '') Object.assign(object, value);
    else if (value !== undefined) object[field.name] = value;
  }
  return object;
}

/** The value of one field; undefined if it is left out or wrong. Adds its mistake to `mistakes`. */
function readField(
  field: Field,
  path: string,
  typed: Typed,
  mistakes: Record<string, string>,
): unknown {
  const { kind, only, isRequired } = field;
  if (kind === 'variants') {
    return readObject(variantFields(field, path, typed), path, typed, mistakes);
  }
  if (kind === 'object') {
    const inner = readObject(field.fields ?? [], path, typed, mistakes);
    return isRequired || Object.keys(inner).length > 0 ? inner : undefined;
  }
  if (only !== undefined) return only;
  if (!typed[path] && !isRequired) return undefined;
  try {
    return readValue(field, typed[path] ?? '');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    mistakes[path] = error.message;
    return undefined;
  }
}

/**
 * Reads a typed text as a value of the field; throws a RangeError that says what was expected and
 * quotes `quoted`, the whole typed text if `text` is an element of a list.
 */
export function readValue(field: Field, text: string, quoted = text): unknown {
  const { kind, words = [], isNullable = false, isRequired = false } = field;
  const trimmed = text.trim();
  if (words.includes(trimmed)) return trimmed;
  if (kind === 'choice' && trimmed === '') return words[0];
  if (trimmed === '' && isNullable) return null;
  switch (kind) {
    case 'truth':
      return trimmed === 'yes';
    case 'number':
      return readNumber(field, trimmed, quoted.trim());
    case 'list':
      return trimmed === ''
        ? []
        : trimmed.split(',').map((part) => readValue(field.item as Field, part, text));
    case 'pairs':
      return Object.fromEntries(trimmed.split('\n').map(readPair));
    case 'json':
      return readJson(trimmed);
    default:
      if (text === '' && isRequired) {
        throw new RangeError(`expected a ${labelOf(field).toLowerCase()}`);
      }
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

/** A value as text: `status 503`, `1, 4`, `send, +12025550123`. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  if (typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([name, part]) => (name === 'kind' ? textOf(part) : `${name} ${textOf(part)}`))
    .join(', ');
}
