/**
 * Writes JSON schemas as TypeScript, with each description as a comment. Schemas with an id become
 * types of that name; those of inputs are named apart, as their defaults are not filled in yet.
 */
import type { Json } from '../src/openapi/json-schema.ts';

type Direction = 'input' | 'output';

export class TypeTexts {
  readonly #named = new Map<string, string>();
  /** What each named type is, for the fields that have it. */
  readonly #abouts = new Map<string, unknown>();

  /** The declarations of all named types that were used. */
  named(): readonly string[] {
    return [...this.#named].map(
      ([name, text]) =>
        `/** ${this.#abouts.get(name) ?? `${name}.`} */\nexport type ${name} = ${text};\n`,
    );
  }

  /** The type of a schema; `void` without one. */
  of(schema: Json | undefined, io: Direction): string {
    if (schema === undefined) return 'void';
    const definitions = Object.entries((schema['$defs'] ?? {}) as Record<string, Json>);
    for (const [id, { description }] of definitions) {
      if (description !== undefined) this.#abouts.set(nameOf(id, io), description);
    }
    for (const [id, definition] of definitions) {
      const name = nameOf(id, io);
      if (this.#named.has(name)) continue;
      this.#named.set(name, '');
      this.#named.set(name, this.#text(definition, io, ''));
    }
    return this.#text(schema, io, '  ');
  }

  #text(schema: Json, io: Direction, indent: string): string {
    const { $ref, const: value, enum: values, anyOf, oneOf, allOf, type, items } = schema;
    const all = (list: unknown, by: string) => {
      const parts = [...new Set((list as Json[]).map((part) => this.#text(part, io, indent)))];
      // Only a query gives a flag as text.
      if (parts.includes('boolean')) return parts.filter((part) => !/"true"/.test(part)).join(by);
      return parts.join(by);
    };
    if (typeof $ref === 'string') return nameOf($ref.slice($ref.lastIndexOf('/') + 1), io);
    if (value !== undefined) return JSON.stringify(value);
    if (Array.isArray(values)) return values.map((one) => JSON.stringify(one)).join(' | ');
    if (anyOf !== undefined || oneOf !== undefined) return all(anyOf ?? oneOf, ' | ');
    if (allOf !== undefined) return all(allOf, ' & ');
    if (type === 'array') {
      const item = items === undefined ? 'unknown' : this.#text(items as Json, io, indent);
      return `${io === 'output' ? 'readonly ' : ''}${/[|&]/.test(item) ? `(${item})` : item}[]`;
    }
    if (type === 'object') return this.#object(schema, io, indent);
    if (Array.isArray(type)) return type.map((one) => plainTypes[one] ?? 'unknown').join(' | ');
    return plainTypes[String(type)] ?? 'unknown';
  }

  #about($ref: unknown, io: Direction): unknown {
    const id = typeof $ref === 'string' ? $ref.slice($ref.lastIndexOf('/') + 1) : '';
    return this.#abouts.get(nameOf(id, io));
  }

  #object(schema: Json, io: Direction, indent: string): string {
    const { properties = {}, required = [], additionalProperties: others } = schema;
    const readonly = io === 'output' ? 'readonly ' : '';
    const inner = `${indent}  `;
    const lines = Object.entries(properties as Record<string, Json>).map(([name, field]) => {
      // What one of several objects means stands at the field that tells them apart.
      const { $ref, const: value, description = this.#about($ref, io) } = field;
      const about = description ?? (value === undefined ? undefined : schema['description']);
      const comment = about === undefined ? '' : `${inner}/** ${about} */\n`;
      const mark = (required as readonly string[]).includes(name) ? '' : '?';
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
      return `${comment}${inner}${readonly}${key}${mark}: ${this.#text(field, io, inner)};\n`;
    });
    if (lines.length > 0) return `{\n${lines.join('')}${indent}}`;
    const isOpen = typeof others === 'object' && others !== null;
    const value = isOpen ? this.#text(others as Json, io, indent) : 'unknown';
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

function nameOf(id: string, io: Direction): string {
  return io === 'input' ? `${id}Input` : id;
}
