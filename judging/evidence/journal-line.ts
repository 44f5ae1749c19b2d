/**
 * One line of a journal: reads it, and writes and checks the checksum at its end: the CRC-32 of the
 * bytes before it, as the last member of the line's JSON object. It stands for one line alone, so
 * lines can be left out.
 */
import { crc32 } from 'node:zlib';
import { CommandError } from '#io/command-error.ts';
import { type Entry, entryIn } from './journal-entry.ts';

/** A journal that cannot be used. The message is one line for the user. */
export class JournalError extends CommandError {
  override readonly name = 'JournalError';
  constructor(message: string, options: ErrorOptions = {}) {
    super(2, message);
    this.cause = options.cause;
  }
}

export const checksumMember = ',"crc32":';

/** A line with its checksum and its line break. */
export function lineOf(value: object): string {
  const text = JSON.stringify(value).slice(0, -1);
  return `${text}${checksumMember}${crc32(text)}}\n`;
}

/**
 * True if the line ends with the checksum of what precedes it; undefined without a checksum. A
 * copy may have changed the line breaks to CRLF.
 */
export function isIntact(line: string): boolean | undefined {
  const end = line.lastIndexOf(checksumMember);
  if (end < 0) return undefined;
  const written = line.slice(end + checksumMember.length, line.endsWith('\r') ? -1 : undefined);
  return written === `${crc32(line.slice(0, end))}}`;
}

/** A journal's text with each line changed, under a checksum of the changed line. */
export function withChangedLines(journal: string, change: (text: string) => string): string {
  if (change(journal) === journal) return journal;
  const changed = journal.split('\n').map((line) => {
    const end = line.lastIndexOf(checksumMember);
    if (end < 0) return change(line);
    const text = change(line.slice(0, end));
    return `${text}${checksumMember}${crc32(text)}}`;
  });
  return changed.join('\n');
}

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
    return entryIn(parseJournalLine(line));
  } catch {
    return undefined;
  }
}

/** Parses a line. The body of a reply is its text again, byte for byte as it was sent. */
export function parseJournalLine(text: string): unknown {
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
