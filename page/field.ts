/**
 * A field of an operation's input or output, as the page needs it. `page/build/declared.ts` makes
 * the fields from the schemas when the page is built. `typed-values.ts` reads what was typed.
 */
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
