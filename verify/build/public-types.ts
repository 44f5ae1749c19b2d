/**
 * Generates TypeScript declarations of a simulator's methods from the table of operations, with a
 * comment on each method and field. `build.ts` replaces the compiler's declarations by them. A test
 * compiles them against the simulator.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { schemaOf } from '#src/control/openapi/json-schema.ts';
import { needsInput, type Operation } from '#src/operations/define.ts';
import { idOf, methodsOf, ownArguments, ownResults, resultSchema, shownNouns } from './methods.ts';
import { TypeTexts } from './type-texts.ts';

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

function methodTypes(): string {
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

/** Rooms import each other by `#room/…`, which the package does not ship: writes relative paths. */
function withoutSubpaths(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    const up = relative(dirname(file), folder) || '.';
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"])#(?=[a-z]+\/)/g, `$1${up}/`));
  }
}

/** Replaces the compiler's declarations of the methods in a folder of declarations. */
export function writePublicTypes(folder: string): void {
  withoutSubpaths(folder);
  writeFileSync(`${folder}/src/methods.d.ts`, methodTypes());
  const api = readFileSync(`${folder}/src/api.d.ts`, 'utf8')
    .replace(/import type \{ (?!Activity)\w+ \} from '\.\/operations\/.*\n/g, '')
    .replace(/NounMethods\['(\w+)'\]/g, (_, noun: string) => `methods.${interfaceOf(noun)}`);
  writeFileSync(`${folder}/src/api.d.ts`, `import type * as methods from './methods.ts';\n${api}`);
}

/** Removes the declarations that none of these files refers to, through others or by itself. */
export function keepReachable(folder: string, entries: readonly string[]): void {
  const reachable = new Set(entries.map((entry) => join(folder, entry)));
  for (const file of reachable) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/['"](\.[^'"]+)\.ts['"]/g))
      reachable.add(`${join(dirname(file), path)}.d.ts`);
  }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = join(folder, name);
    if (name.endsWith('.d.ts') && !reachable.has(file)) rmSync(file);
  }
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
  const result = ownResults[operation.name] ?? texts.of(resultSchema(operation), 'output');
  return operation.isAsync === true ? `Promise<${result}>` : result;
}

function commentOf({ summary, description }: Operation): string {
  const lines = description === undefined ? [summary] : [summary, description];
  return `  /** ${lines.join(' ').replaceAll('*/', '* /')} */\n`;
}
