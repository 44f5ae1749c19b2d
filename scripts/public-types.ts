/**
 * Generates two descriptions of a simulator's methods from the table of operations: TypeScript
 * declarations with a comment on each method and field, by which `build.ts` replaces the
 * compiler's, and the page `docs/methods.md`. A test compiles the types against the simulator and
 * compares the page.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { type Json, schemaOf } from '../src/openapi/json-schema.ts';
import { needsInput, type Operation } from '../src/operations/define.ts';
import { nouns } from '../src/operations/table.ts';
import { TypeTexts } from './type-texts.ts';

/** Operations that are not methods of a noun, since other methods of the simulator do the same. */
const omittedOperations = [
  'simulator.health',
  'simulator.journal',
  'simulator.shutdown',
  'referee.report',
];

/** The arguments of methods that take more than the input of the control port. */
const ownArguments: Readonly<Record<string, string>> = {
  'clock.setMode':
    "mode: 'manual' | 'real' | 'scaled' | { mode: 'manual' | 'real' | 'scaled'; rate?: number }, rate?: number",
  'clock.advance':
    'how: string | number | { by: string | number } | { to: string | number } | { until_idle: true }',
  'simulator.reset': '',
  'snapshots.restore': 'snapshot: Snapshot',
};

/** The results of methods that differ from the reply over HTTP. */
const ownResults: Readonly<Record<string, string>> = {
  'simulator.metrics': 'readonly MetricFamily[]',
  'simulator.reset': 'void',
  'limits.reset': 'void',
  'snapshots.take': 'Snapshot',
  'snapshots.restore': 'void',
};

const ownTypes = `/** The whole state, as JSON: to be kept and restored, not to be read. */
export interface Snapshot {
  /** The version of its format. */
  readonly snapshot: number;
  readonly [name: string]: unknown;
}

/** One metric with its samples. */
export interface MetricFamily {
  /** Its name in the exposition. */
  readonly name: string;
  /** What it measures. */
  readonly help: string;
  /** Its kind. */
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** A value for each set of labels. */
  readonly values: readonly {
    readonly labels: Readonly<Record<string, string | number>>;
    readonly value: number;
    /** The name of one series of a histogram. */
    readonly metricName?: string;
  }[];
}
`;

interface Method {
  readonly operation: Operation;
  /** As a user writes it: `sim.faults.add`. */
  readonly path: string;
  readonly name: string;
}

function methodsOf(noun: string): Method[] {
  return Object.entries<Operation>(nouns[noun as keyof typeof nouns])
    .filter(([, { name }]) => !omittedOperations.includes(name))
    .map(([name, operation]) => {
      if (operation.name === 'referee.judge') return { operation, name, path: 'sim.referee' };
      return {
        operation,
        name,
        path: noun === 'simulator' ? `sim.${name}` : `sim.${noun}.${name}`,
      };
    });
}

const shownNouns = Object.keys(nouns).filter((noun) => noun !== 'events');

/** The types of all methods, one interface for each noun. */
export function methodTypes(): string {
  const texts = new TypeTexts();
  const interfaces = shownNouns.map((noun) => {
    const methods = methodsOf(noun).map(({ name, operation }) => {
      const args = argumentsOf(operation, texts);
      return `${commentOf(operation)}  readonly ${name}: (${args}) => ${resultOf(operation, texts)};\n`;
    });
    const about = `/** The methods of \`sim.${noun}\`. */`;
    return `${about}\nexport interface ${interfaceOf(noun)} {\n${methods.join('')}}\n`;
  });
  return [...texts.named(), ownTypes, ...interfaces].join('\n');
}

/** Replaces the compiler's declarations of the methods in a folder of declarations. */
export function writePublicTypes(folder: string): void {
  writeFileSync(`${folder}/methods.d.ts`, methodTypes());
  const api = readFileSync(`${folder}/api.d.ts`, 'utf8')
    .replace(/import type \{ (?!Activity)\w+ \} from '\.\/operations\/.*\n/g, '')
    .replace(/NounMethods\['(\w+)'\]/g, (_, noun: string) => `methods.${interfaceOf(noun)}`);
  writeFileSync(`${folder}/api.d.ts`, `import type * as methods from './methods.ts';\n${api}`);
}

function interfaceOf(noun: string): string {
  return `${noun.charAt(0).toUpperCase()}${noun.slice(1)}Methods`;
}

function argumentsOf(operation: Operation, texts: TypeTexts): string {
  const special = ownArguments[operation.name];
  if (special !== undefined) return special;
  const id = idOf(operation);
  const args = id === undefined ? [] : [`${id}: ${id === 'number' ? 'string | number' : 'string'}`];
  if (operation.input !== undefined) {
    const optional = needsInput(operation) ? '' : '?';
    args.push(`input${optional}: ${texts.of(schemaOf(operation.input, 'input'), 'input')}`);
  }
  return args.join(', ');
}

function resultOf(operation: Operation, texts: TypeTexts): string {
  const shown = ownResults[operation.name] ?? texts.of(resultSchema(operation), 'output');
  return operation.isAsync === true ? `Promise<${shown}>` : shown;
}

/** The control port wraps a list in an object, so that it can grow; a method returns the list. */
function resultSchema({ output, reply }: Operation): Json | undefined {
  if (output === undefined) return undefined;
  const schema = schemaOf(output, 'output');
  const [field, ...others] = Object.values((schema['properties'] ?? {}) as Record<string, Json>);
  const isList = reply !== undefined && others.length === 0 && field?.['items'] !== undefined;
  return isList ? { ...field, $defs: schema['$defs'] } : schema;
}

/** The name of the id in the path, such as `account_id`. */
function idOf({ path }: Operation): string | undefined {
  return /\{(\w+)\}/.exec(path)?.[1];
}

function commentOf({ summary, description }: Operation): string {
  const lines = description === undefined ? [summary] : [summary, description];
  return `  /** ${lines.join(' ').replaceAll('*/', '* /')} */\n`;
}

const opening = `# Methods

In JavaScript and TypeScript every operation of the [control port](control-api.md) is a method of the simulator: \`sim\` is what
\`createSimulator()\` resolves to, or the fixture \`simulator\`. An id is the first argument; an account's name may replace its id. The names in braces
are the fields of the input, with \`?\` where they may be absent; an editor shows what each means. A name of a type is that of the [control port](control-api.md)'s document. A method that fails throws an \`OperationRefused\`.

This page is generated from the operations: \`npx vitest run verify/repository/methods-page.test.ts -u\`.
`;

export function methodsPage(): string {
  const sections = shownNouns.map((noun) => {
    const rows = methodsOf(noun).map(rowOf);
    const title = noun === 'simulator' ? 'sim' : `sim.${noun}`;
    const head = '| method | returns | does | example |\n|---|---|---|---|';
    return `\n## ${title}\n\n${head}\n${rows.join('\n')}\n`;
  });
  return `${opening}${sections.join('')}`;
}

function rowOf({ operation, path }: Method): string {
  const { input, examples, summary, isAsync, arguments: own } = operation;
  const id = idOf(operation);
  const fields =
    input === undefined || operation.inputFrom ? '' : shapeOf(schemaOf(input, 'input'));
  const args = own === undefined ? fields : (ownArguments[operation.name] ?? '');
  const call = `${path}(${[id, args].filter(Boolean).join(', ')})`;
  const exampleArgs = [id === 'account_id' ? "'acme'" : id, exampleOf(examples)].filter(Boolean);
  const result = ownResults[operation.name] ?? shapeOf(resultSchema(operation) ?? {});
  const returned = /^(void)?$/.test(result)
    ? ''
    : `\`${isAsync === true ? `Promise of ${result}` : result}\``;
  const cells = [`\`${call}\``, returned, summary, `\`${path}(${exampleArgs.join(', ')})\``];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** The page shows only the first fields of an object with more than these. */
const mostShownFields = 12;

function exampleOf([example]: readonly unknown[]): string {
  return example === undefined ? '' : inspect(example, { depth: 9, breakLength: Infinity });
}

/** A short text for a schema: the fields of an object, `{ name, monthly_quota? }`, or the type. */
function shapeOf(schema: Json): string {
  const { $ref, anyOf, items, properties, required = [], type } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if (Array.isArray(anyOf)) return anyOf.map(shapeOf).join(' or ');
  if (items !== undefined) return `${shapeOf(items as Json) || 'object'}[]`;
  if (properties === undefined) return typeof type === 'string' ? type : '';
  const keys = Object.keys(properties as Json).map((key) =>
    (required as readonly string[]).includes(key) ? key : `${key}?`,
  );
  const isLong = keys.length > mostShownFields;
  return isLong ? `{ ${keys.slice(0, 4).join(', ')}, … }` : `{ ${keys.join(', ')} }`;
}
