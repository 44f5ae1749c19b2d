/**
 * Reads YAML. A module of its own, loaded on demand: only those who write YAML load the parser.
 */
import { parseDocument } from 'yaml';
import { firstLine, UsageError } from './command-error.ts';

/** `file` names the text in the UsageError that every mistake in it makes a line of. */
export function parseYaml(file: string, text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0) {
    throw new UsageError(...document.errors.map(({ message }) => `${file}: ${firstLine(message)}`));
  }
  try {
    return document.toJS();
  } catch (error) {
    // Aliases that would expand without end are only found here.
    throw new UsageError(`${file}: ${firstLine((error as Error).message)}`);
  }
}
