/**
 * Compares the table of `docs/control-api.md` with the operations; `npx vitest run
 * verify/repository/control-api.test.ts -u` rewrites it.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { servedOperations } from '#src/control/documents.ts';
import { type Json, schemaOf } from '#src/control/openapi/json-schema.ts';
import { type Operation, successStatus, takesQuery } from '#src/operations/define.ts';

const page = fileURLToPath(new URL('../../docs/control-api.md', import.meta.url));

test('every operation has its row in docs/control-api.md', async () => {
  const text = readFileSync(page, 'utf8');
  const [before = '', , after = ''] = text.split(/(\| request \|[\s\S]*?\n)(?=\n)/);
  const rows = servedOperations.map(rowOf);
  const table = ['| request | takes | answers | does |', '|---|---|---|---|', ...rows, ''].join(
    '\n',
  );
  await expect(`${before}${table}${after}`).toMatchFileSnapshot(page);
});

function rowOf(operation: Operation): string {
  const { verb, path, input, inputFrom, output, contentType, summary } = operation;
  const request = `${verb} \`${path.replace(/\{(\w+)\}/, '<$1>')}\``;
  const taken = input === undefined || inputFrom !== undefined ? '' : takenBy(operation);
  const status = successStatus(operation);
  const reply = output && (contentType ?? shapeOf(schemaOf(output, 'output')));
  const answer = reply === undefined || status === 204 ? '' : ` \`${reply}\``;
  return `| ${request} | ${taken} | ${status}${answer} | ${summary} |`;
}

function takenBy(operation: Operation): string {
  if (operation.input === undefined) return '';
  const { required = [], ...schema } = schemaOf(operation.input, 'input');
  if (!takesQuery(operation)) return `\`${shapeOf({ required, ...schema })}\``;
  return `\`?${Object.keys(schema['properties'] as Json).join('&')}\``;
}

/** `{"name", "monthly_quota"?}`: the keys of an object, and of others what they are. */
function shapeOf(schema: Json): string {
  const { $ref, anyOf, items, properties, required = [] } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if (Array.isArray(anyOf)) return anyOf.map(shapeOf).join(' or ');
  if (items !== undefined) return `[${shapeOf(items as Json)}]`;
  if (properties === undefined) return '';
  const keys = Object.entries(properties as Readonly<Record<string, Json>>).map(([key, value]) => {
    const shape = 'items' in value || '$ref' in value ? shapeOf(value) : '';
    const mark = (required as readonly string[]).includes(key) ? '' : '?';
    return `"${key}"${mark}${/\w/.test(shape) && shape.length < 30 ? `: ${shape}` : ''}`;
  });
  return keys.length > 8 ? `{${keys.slice(0, 3).join(', ')}, …}` : `{${keys.join(', ')}}`;
}
