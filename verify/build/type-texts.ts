/**
 * Writes JSON schemas as TypeScript types, with each description as a comment. The compiler can
 * emit the inferred types too, but without a schema's descriptions and names. A schema with an id
 * becomes a type of that name. The type of an input has another name than that of an output, since
 * its defaults are not filled in yet.
 */
import type { Json } from '#src/control/openapi/json-schema.ts';

type Direction = 'input' | 'output';

export class TypeTexts {
  /** The schema of each named type, and its text, which is missing while it is made. */
  readonly #named = new Map<string, { readonly schema: Json; text?: string }>();

  /** The declarations of all named types that were used. */
  named(): readonly string[] {
    return [...this.#named].map(
      ([name, { schema, text }]) =>
        `/** ${schema['description'] ?? `${name}.`} */\nexport type ${name} = ${text};\n`,
    );
  }

  /** The text of a schema's type; `void` without a schema. */
  of(schema: Json | undefined, direction: Direction): string {
    if (schema === undefined) return 'void';
    const definitions = Object.entries((schema['$defs'] ?? {}) as Record<string, Json>)
      .map(([id, definition]) => [nameOf(id, direction), definition] as const)
      .filter(([name]) => !this.#named.has(name));
    for (const [name, definition] of definitions) this.#named.set(name, { schema: definition });
    for (const [name, definition] of definitions) {
      const text = this.#text(definition, direction, '');
      this.#named.set(name, { schema: definition, text });
    }
    return this.#text(schema, direction, '  ');
  }

  #text(schema: Json, direction: Direction, indent: string): string {
    const { $ref, const: value, enum: values, anyOf, oneOf, allOf, type, items } = schema;
    const textOf = (part: unknown) => this.#text(part as Json, direction, indent);
    if (typeof $ref === 'string') return nameOf($ref, direction);
    if (value !== undefined) return JSON.stringify(value);
    if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(' | ');
    const alternatives = anyOf ?? oneOf;
    if (Array.isArray(alternatives)) {
      const texts = new Set(alternatives.map(textOf));
      // A flag may also be a text, but only in a query.
      return [...texts].filter((text) => !texts.has('boolean') || !/"true"/.test(text)).join(' | ');
    }
    if (Array.isArray(allOf)) return allOf.map(textOf).join(' & ');
    if (type === 'array') {
      const item = items === undefined ? 'unknown' : textOf(items);
      return `${readonlyIn[direction]}${/[|&]/.test(item) ? `(${item})` : item}[]`;
    }
    if (type === 'object') return this.#object(schema, direction, indent);
    return [type].flat().map(plainType).join(' | ');
  }

  #object(schema: Json, direction: Direction, indent: string): string {
    const { properties = {}, required = [], additionalProperties: others } = schema;
    const readonly = readonlyIn[direction];
    const inner = `${indent}  `;
    const lines = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
      // The description of one of several alternatives is shown at the field that identifies it.
      const ofAlternative = field['const'] === undefined ? undefined : schema['description'];
      const ofType = this.#named.get(nameOf(String(field['$ref']), direction))?.schema;
      const text = field['description'] ?? ofType?.['description'] ?? ofAlternative;
      const comment = text === undefined ? '' : `${inner}/** ${text} */\n`;
      const optional = (required as readonly string[]).includes(name) ? '' : '?';
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      return `${comment}${inner}${readonly}${key}${optional}: ${this.#text(field, direction, inner)};\n`;
    });
    if (lines.length > 0) return `{\n${lines.join('')}${indent}}`;
    const hasValueSchema = typeof others === 'object' && others !== null;
    const value = hasValueSchema ? this.#text(others as Json, direction, indent) : 'unknown';
    return `{ ${readonly}[name: string]: ${value} }`;
  }
}

/** The modifier of fields and lists: a caller may pass one that it changes. */
const readonlyIn = { input: '', output: 'readonly ' } as const;

function plainType(type: unknown): string {
  if (type === 'integer') return 'number';
  const isPlain = ['string', 'number', 'boolean', 'null'].includes(String(type));
  return isPlain ? String(type) : 'unknown';
}

/** The name of the schema with this id, or that a `$ref` points to. */
function nameOf(ref: string, direction: Direction): string {
  const id = ref.slice(ref.lastIndexOf('/') + 1);
  return direction === 'input' ? `${id}Input` : id;
}
