/** Generates the page `docs/methods.md` from the table of operations; a test compares them. */
import { inspect } from 'node:util';
import { type Json, schemaOf } from '#src/control/openapi/json-schema.ts';
import {
  idOf,
  type Method,
  methodsOf,
  ownArguments,
  ownResults,
  resultSchema,
  shownNouns,
} from '../build/methods.ts';

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

export function callOf({ operation, path }: Method): string {
  const { input, inputFrom, arguments: own } = operation;
  const fields = input === undefined || inputFrom ? '' : shapeOf(schemaOf(input, 'input'));
  const args = own === undefined ? fields : (ownArguments[operation.name] ?? '');
  return `${path}(${[idOf(operation), args].filter(Boolean).join(', ')})`;
}

function rowOf(method: Method): string {
  const { operation, path } = method;
  const { examples, summary, isAsync } = operation;
  const id = idOf(operation);
  const exampleArgs = [id === 'account_id' ? "'acme'" : id, exampleOf(examples)].filter(Boolean);
  const result = ownResults[operation.name] ?? shapeOf(resultSchema(operation) ?? {});
  const returned = /^(void)?$/.test(result)
    ? ''
    : `\`${isAsync === true ? `Promise of ${result}` : result}\``;
  const cells = [
    `\`${callOf(method)}\``,
    returned,
    summary,
    `\`${path}(${exampleArgs.join(', ')})\``,
  ];
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
