/**
 * Writes JSON schemas as TypeScript types, with each description as a comment. A schema with an id
 * becomes a type of that name. The type of an input has another name than that of an output, since
 * its defaults are not filled in yet.
 */
import type { Json } from '#src/control/openapi/json-schema.ts';

type Direction = 'input' | 'output';

/** Collects the named types that the texts of types use. */
export class TypeTexts {
  /** The text of each named type. Empty while it is made: a type may refer to itself. */
  readonly #named = new Map<string, string>();
  /** The description of each named type, which fields of that type show. */
  readonly #descriptions = new Map<string, unknown>();

  /** The declarations of all named types that were used. */
  named(): readonly string[] {
    return [...this.#named].map(
      ([name, text]) =>
        `/** ${this.#descriptions.get(name) ?? `${name}.`} */\nexport type ${name} = ${text};\n`,
    );
  }

  /** The text of a schema's type; `void` without a schema. */
  of(schema: Json | undefined, direction: Direction): string {
    if (schema === undefined) return 'void';
    const definitions = Object.entries((schema['$defs'] ?? {}) as Record<string, Json>);
    for (const [id, { description }] of definitions) {
      if (description !== undefined) this.#descriptions.set(nameOf(id, direction), description);
    }
    for (const [id, definition] of definitions) {
      const name = nameOf(id, direction);
      if (this.#named.has(name)) continue;
      this.#named.set(name, '');
      this.#named.set(name, this.#text(definition, direction, ''));
    }
    return this.#text(schema, direction, '  ');
  }

  #text(schema: Json, direction: Direction, indent: string): string {
    const { $ref, const: value, enum: values, anyOf, oneOf, allOf, type, items } = schema;
    const joined = (schemas: unknown, separator: string) => {
      const texts = new Set((schemas as Json[]).map((part) => this.#text(part, direction, indent)));
      // A flag may also be a text, but only in a query.
      const shown = [...texts].filter((text) => !texts.has('boolean') || !/"true"/.test(text));
      return shown.join(separator);
    };
    if (typeof $ref === 'string') return nameOf(idIn($ref), direction);
    if (value !== undefined) return JSON.stringify(value);
    if (Array.isArray(values)) return values.map((each) => JSON.stringify(each)).join(' | ');
    if (anyOf !== undefined || oneOf !== undefined) return joined(anyOf ?? oneOf, ' | ');
    if (allOf !== undefined) return joined(allOf, ' & ');
    if (type === 'array') {
      const item = items === undefined ? 'unknown' : this.#text(items as Json, direction, indent);
      const isCompound = /[|&]/.test(item);
      return `${readonlyIn(direction)}${isCompound ? `(${item})` : item}[]`;
    }
    if (type === 'object') return this.#object(schema, direction, indent);
    if (Array.isArray(type)) return type.map((each) => plainTypes[each] ?? 'unknown').join(' | ');
    return plainTypes[String(type)] ?? 'unknown';
  }

  #descriptionOf($ref: unknown, direction: Direction): unknown {
    return typeof $ref === 'string'
      ? this.#descriptions.get(nameOf(idIn($ref), direction))
      : undefined;
  }

  #object(schema: Json, direction: Direction, indent: string): string {
    const { properties = {}, required = [], additionalProperties: others } = schema;
    const readonly = readonlyIn(direction);
    const inner = `${indent}  `;
    const lines = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
      // The description of one of several alternatives is shown at the field that identifies it.
      const { $ref, const: value, description = this.#descriptionOf($ref, direction) } = field;
      const shown = description ?? (value === undefined ? undefined : schema['description']);
      const comment = shown === undefined ? '' : `${inner}/** ${shown} */\n`;
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

const plainTypes: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

function nameOf(id: string, direction: Direction): string {
  return direction === 'input' ? `${id}Input` : id;
}

/** The id of the schema that a `$ref` points to. */
function idIn($ref: string): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}

/** The modifier of the fields and lists of an output. */
function readonlyIn(direction: Direction): string {
  return direction === 'output' ? 'readonly ' : '';
}
