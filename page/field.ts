/**
 * A field of an operation's input or output, as the page needs it, and the reading of what is typed
 * into it. `page/build/declared.ts` makes the fields from the schemas when the page is built.
 */
import { readJson } from './value-texts.ts';

export interface Field {
  readonly name: string;
  readonly kind:
    | 'text'
    | 'phone'
    /** Shown as dots. */
    | 'secret'
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
  /** For a number: whether it is whole, and its range. */
  readonly isWhole?: boolean;
  readonly least?: number;
  readonly most?: number;
  /** The only permitted value; it is not typed. */
  readonly only?: unknown;
  /** The elements of a list. */
  readonly item?: Field;
  /** For an object: its fields. For variants: one object for each variant. */
  readonly fields?: readonly Field[];
}

export interface DeclaredOperation {
  /** Verb and path, with a space between them. */
  readonly route: string;
  /** True if journals record it. */
  readonly isRecorded?: boolean;
  readonly input?: readonly Field[];
  /** The fields of the output, or of its rows if it is a list. */
  readonly output?: readonly Field[];
}

/** Texts by the path of their field, such as `fault.status`; for variants, the name of one. */
export type Typed = Readonly<Record<string, string>>;

/** `Monthly quota` for `monthly_quota`, `Account` for `account_id`; names in camel case stay. */
export function labelOf({ name, title }: Pick<Field, 'name' | 'title'>): string {
  if (title !== undefined || /[A-Z]/.test(name)) return title ?? name;
  const words = name.replace(/_id$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The fields within a field: those of an object, or of the chosen variant. */
export function innerFields(field: Field, path: string, typed: Typed): readonly Field[] {
  const { kind, fields = [] } = field;
  if (kind !== 'variants') return fields;
  const chosen = fields.find(({ name }) => name === typed[path]) ?? fields[0];
  return chosen?.fields ?? [];
}

/** The paths of all fields that a form shows, at any depth. */
export function pathsOf(fields: readonly Field[], typed: Typed, parent = ''): string[] {
  return fields.flatMap((field) => {
    if (field.only !== undefined) return [];
    const path = pathOf(parent, field.name);
    return [path, ...pathsOf(innerFields(field, path, typed), typed, path)];
  });
}

export function pathOf(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

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
  const reader = new TypedReader(typed);
  const value = reader.readObject(fields, '');
  if (Object.keys(reader.mistakes).length > 0) throw new Refusal(reader.mistakes);
  return value;
}

/** Reads typed texts, and collects the mistakes in them by the path of their field. */
class TypedReader {
  readonly mistakes: Record<string, string> = {};
  readonly #typed: Typed;

  constructor(typed: Typed) {
    this.#typed = typed;
  }

  readObject(fields: readonly Field[], parent: string): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const field of fields) {
      const value = this.#readField(field, pathOf(parent, field.name));
      // Variants without a name are the whole input.
      if (field.kind === 'variants' && field.name === '') Object.assign(object, value);
      else if (value !== undefined) object[field.name] = value;
    }
    return object;
  }

  /** The value of one field; undefined if it is left out or wrong. */
  #readField(field: Field, path: string): unknown {
    const { kind, only, isRequired } = field;
    if (kind === 'variants' || kind === 'object') {
      const inner = this.readObject(innerFields(field, path, this.#typed), path);
      return kind === 'variants' || isRequired || Object.keys(inner).length > 0 ? inner : undefined;
    }
    if (only !== undefined) return only;
    // A text that is left empty is a value that is not given.
    const text = this.#typed[path] ?? '';
    if (text === '' && !isRequired) return undefined;
    try {
      return readValue(field, text);
    } catch (error) {
      if (!(error instanceof Mistake)) throw error;
      this.mistakes[path] = error.message;
      return undefined;
    }
  }
}

/** A typed text that is no value of its field. */
class Mistake extends Error {}

/** Reads a typed text as a value of the field; throws a Mistake that says what was expected. */
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
      return Object.fromEntries(trimmed.split('\n').filter(hasText).map(readPair));
    case 'json':
      return readJson(trimmed);
    default:
      if (text === '' && isRequired)
        throw new Mistake(`expected a value for ${labelOf(field).toLowerCase()}`);
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
  throw new Mistake(quoted === '' ? expected : `${expected}; got "${quoted}"`);
}

function hasText(line: string): boolean {
  return line.trim() !== '';
}

function readPair(line: string): readonly [string, string] {
  const [, name, value = ''] = /^\s*([^:\s][^:]*):(.*)$/.exec(line) ?? [];
  if (name === undefined) throw new Mistake(`expected lines "name: value"; got "${line.trim()}"`);
  return [name.trim(), value.trim()];
}
