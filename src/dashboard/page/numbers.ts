/**
 * Reads numbers from inputs, strictly: `1,000`, `0x10`, `1e3` and `abc` are mistakes.
 */

/** The mistakes of a form, by field. The fields show them, and the form is not sent. */
export class FieldMistakes extends Error {
  override readonly name = 'FieldMistakes';
  readonly fields: Readonly<Record<string, string>>;

  constructor(fields: Readonly<Record<string, string>>) {
    super(Object.values(fields).join('; '));
    this.fields = fields;
  }
}

/** Reads every field; throws all mistakes together. */
export function readFields<T>(readers: { readonly [K in keyof T]: () => T[K] }): T {
  const values: Partial<T> = {};
  const mistakes: Record<string, string> = {};
  for (const field of Object.keys(readers) as (keyof T & string)[]) {
    try {
      values[field] = readers[field]();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      mistakes[field] = error.message;
    }
  }
  if (Object.keys(mistakes).length > 0) throw new FieldMistakes(mistakes);
  return values as T;
}

/** Throws a RangeError that says what was expected. */
export function wholeNumber(text: string, least: number, most: number): number {
  return inRange(text, /^[0-9]+$/, 'a whole number', least, most);
}

/** Throws a RangeError that says what was expected. */
export function decimalNumber(text: string, least: number, most: number): number {
  return inRange(text, /^[0-9]+(\.[0-9]+)?$/, 'a number', least, most);
}

function inRange(text: string, form: RegExp, what: string, least: number, most: number): number {
  const trimmed = text.trim();
  const number = form.test(trimmed) ? Number(trimmed) : Number.NaN;
  if (number >= least && number <= most) return number;
  const range = `${what} from ${least} to ${most}, in plain digits`;
  throw new RangeError(
    trimmed === '' ? `expected ${range}` : `expected ${range}; got "${trimmed}"`,
  );
}
