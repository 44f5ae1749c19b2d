/** Reads YAML. A module of its own, because it is only loaded, with the parser, for YAML files. */
import { parseDocument } from 'yaml';
import { firstLine, UsageError } from './command-error.ts';

/** The size of the largest file: the parser takes about two seconds for a megabyte. */
export const mostYamlBytes = 1_048_576;
/** The deepest nesting of brackets: the parser's time grows with the square of the depth. */
const deepestFlow = 1_000;

/** Throws a UsageError that `file` starts. It has the first mistake: others may follow from it. */
export function parseYaml(file: string, text: string): unknown {
  if (text.trim() === '') throw new UsageError(`${file}: it is empty`);
  if (flowDepthOf(text) > deepestFlow) {
    const message = `lists and maps in brackets are nested deeper than ${deepestFlow}`;
    throw new UsageError(`${file}: ${message}`);
  }
  const document = parseDocument(text);
  const [mistake] = document.errors;
  if (mistake !== undefined) throw new UsageError(`${file}: ${firstLine(mistake.message)}`);
  try {
    return document.toJS();
  } catch (error) {
    // toJS() also refuses aliases that expand without end.
    throw new UsageError(`${file}: ${firstLine((error as Error).message)}`);
  }
}

/** How deep brackets are nested, about: it also counts those in texts and comments. */
function flowDepthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [bracket] of text.matchAll(/[[{}\]]/g)) {
    depth = bracket === '[' || bracket === '{' ? depth + 1 : Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
