/** Reads one line of a journal. */
import { checksumMember, isIntact } from './journal-checksum.ts';
import { type Entry, entryIn } from './journal-entry.ts';
import { JournalError } from './journal-error.ts';

/**
 * Returns a function that takes one line after another and returns its entry; undefined for the
 * first line, the header. It throws a JournalError for a damaged line.
 */
export function lineReader(path: string): (line: string) => Entry | undefined {
  let number = 0;
  let hasChecksums = false;
  return (line) => {
    number++;
    // Undefined for a line without a checksum, as in a journal of the first format.
    const isMatching = isIntact(line);
    if (number === 1) {
      hasChecksums = isMatching !== undefined;
      return undefined;
    }
    const isTrusted = isMatching ?? !hasChecksums;
    const entry = isTrusted ? entryOf(line) : undefined;
    if (entry !== undefined) return entry;
    const reason = isTrusted ? '' : ': its checksum differs';
    throw new JournalError(`${path}: line ${number} is damaged${reason}`);
  };
}

/** Undefined if the line is not JSON, or not an entry. */
function entryOf(line: string): Entry | undefined {
  try {
    return entryIn(valueIn(line));
  } catch {
    return undefined;
  }
}

/** Parses a line. The body of a reply is its text again, byte for byte as it was sent. */
export function valueIn(text: string): unknown {
  const start = requestStart.test(text) ? text.indexOf(`${jsonReply}{`) : -1;
  if (start < 0) return JSON.parse(text);
  const end = text.lastIndexOf(`}${checksumMember}`);
  const entry = JSON.parse(text.slice(0, start) + text.slice(end));
  entry.reply.body = text.slice(start + jsonReply.length, end);
  return entry;
}

const requestStart = /^\{"at":"[^"]*","request":/;

/**
 * Precedes a reply that is written as JSON, not as a text. The line cannot have it earlier: quotes
 * in texts are escaped, and the values of headers are texts.
 */
export const jsonReply = ',"json":';
