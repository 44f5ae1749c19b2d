/**
 * Reads YAML. Loaded on demand, so the parser is only loaded for YAML files.
 */
import { parseDocument } from 'yaml';
import { firstLine, UsageError } from './command-error.ts';

/** Throws a UsageError with one line per mistake; `file` starts each line. */
export function parseYaml(file: string, text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new UsageError(...document.errors.map(({ message }) => `${file}: ${firstLine(message)}`));
  }
  try {
    return document.toJS();
  } catch (error) {
    // toJS() also refuses aliases that expand without end.
    throw new UsageError(`${file}: ${firstLine((error as Error).message)}`);
  }
}
