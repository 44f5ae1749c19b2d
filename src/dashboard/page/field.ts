/**
 * A field of an operation's input or output, as the page needs it: made from the declared schemas
 * when the page is built, read and shown by the one form and the one list.
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
    | 'list'
    | 'object'
    | 'variants'
    | 'pairs'
    | 'json';
  /** The schema's title and description. */
  readonly title?: string;
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly isNullable?: boolean;
  /** The choices; or words that are permitted beside numbers or a list. */
  readonly words?: readonly string[];
  readonly isWhole?: boolean;
  readonly least?: number;
  readonly most?: number;
  /** The one value that it may have. */
  readonly only?: unknown;
  /** What a list holds. */
  readonly item?: Field;
  /** The fields of an object; of variants, one object for each. */
  readonly fields?: readonly Field[];
}

export interface DeclaredOperation {
  /** Verb and path. */
  readonly route: string;
  readonly input?: readonly Field[];
  /** The fields of the output; of a list, those of its rows. */
  readonly output?: readonly Field[];
}

/** What was typed, by the path of the field; the chosen variant is at the path of the variants. */
export type Typed = Readonly<Record<string, string>>;

/** Why an input is refused, here or by the control API: by the path of the field, if it is known. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
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

/** The fields of the chosen variant; its fixed ones are not typed. */
export function chosenFields({ fields = [] }: Field, path: string, typed: Typed): readonly Field[] {
  return (fields[Number(typed[path] ?? 0)]?.fields ?? []).filter(({ only }) => only === undefined);
}

/** The paths of all inputs. */
export function pathsOf(fields: readonly Field[], typed: Typed, parent = ''): string[] {
  return fields.flatMap((field) => {
    const path = pathOf(parent, field.name);
    const inner = field.kind === 'object' ? (field.fields ?? []) : [];
    return [
      path,
      ...pathsOf(field.kind === 'variants' ? chosenFields(field, path, typed) : inner, typed, path),
    ];
  });
}

export function pathOf(parent: string, name: string): string {
  return parent === '' ? name : `${parent}.${name}`;
}

/** Reads every field; throws all mistakes together. */
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
  const value: Record<string, unknown> = {};
  for (const field of fields) {
    const path = pathOf(parent, field.name);
    const { kind, only, isRequired } = field;
    if (kind === 'variants') {
      const chosen = field.fields?.[Number(typed[path] ?? 0)]?.fields ?? [];
      // Variants without a name are the whole input.
      const own = readObject(chosen, path, typed, mistakes);
      if (field.name === '') Object.assign(value, own);
      else value[field.name] = own;
    } else if (kind === 'object') {
      const own = readObject(field.fields ?? [], path, typed, mistakes);
      if (isRequired || Object.keys(own).length > 0) value[field.name] = own;
    } else if (only !== undefined) {
      value[field.name] = only;
    } else if (typed[path] || isRequired) {
      try {
        value[field.name] = readValue(field, typed[path] ?? '');
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        mistakes[path] = error.message;
      }
    }
  }
  return value;
}

/**
 * One typed text as a value of the field; throws a RangeError that says what was expected. `whole`:
 * the text that it is a part of.
 */
export function readValue(field: Field, text: string, whole = text): unknown {
  const { kind, words = [], isNullable = false, isRequired = false } = field;
  const trimmed = text.trim();
  if (words.includes(trimmed)) return trimmed;
  if (kind === 'choice' && trimmed === '') return words[0];
  if (trimmed === '' && isNullable) return null;
  switch (kind) {
    case 'truth':
      return trimmed === 'yes';
    case 'number':
      return readNumber(field, trimmed, whole.trim());
    case 'list':
      return trimmed === ''
        ? []
        : trimmed.split(',').map((part) => readValue(field.item as Field, part, text));
    case 'pairs':
      return Object.fromEntries(trimmed.split('\n').map(readPair));
    case 'json':
      return readJson(trimmed);
    default:
      if (text === '' && isRequired)
        throw new RangeError(`expected a ${labelOf(field).toLowerCase()}`);
      return kind === 'text' ? text : trimmed;
  }
}

/** Reads strictly: `1,000`, `0x10`, `1e3` and `abc` are mistakes. */
function readNumber(field: Field, text: string, whole: string): number {
  const { isWhole = false, least, most, words = [] } = field;
  const form = isWhole ? /^[0-9]+$/ : /^[0-9]+(\.[0-9]+)?$/;
  const number = form.test(text) ? Number(text) : Number.NaN;
  if (number >= (least ?? 0) && number <= (most ?? Number.MAX_SAFE_INTEGER)) return number;
  const range = most === undefined ? '' : ` from ${least ?? 0} to ${most}`;
  const others = words.map((word) => ` or "${word}"`).join('');
  const what = `expected ${isWhole ? 'a whole number' : 'a number'}${range}${others}, in plain digits`;
  throw new RangeError(whole === '' ? what : `${what}; got "${whole}"`);
}

function readPair(line: string): readonly [string, string] {
  const [name = '', ...value] = line.split(':');
  return [name.trim(), value.join(':').trim()];
}

/** Text that is not JSON is the value itself. */
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
