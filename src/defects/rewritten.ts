/**
 * Texts and numbers that the service normalises before it counts, checks or compares them.
 * Rules: SEND-2, SEND-6, AUTH-4.
 */
import type { Simulation } from '../simulation/simulation.ts';
import { tooLong, understanding } from './fields.ts';
import type { Defects, Planted } from './planted.ts';

const longest = 1_600;

function rewriting(field: string, rewrite: (text: string) => string): Planted {
  return understanding(({ [field]: text }) =>
    typeof text === 'string' ? { [field]: rewrite(text) } : {},
  );
}

/** Measures the length of another spelling of the text. */
function countedAs(write: (message: string) => string): Planted {
  return tooLong((message) => message.length <= longest && write(message).length > longest);
}

function escaped(message: string): string {
  return message.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

/**
 * Converts decimal digits of other scripts: in the scripts that phones offer, the last four bits
 * are the value.
 */
function asAscii(text: string): string {
  return text.replace(/[\u0660-\u0669\uff10-\uff19]/g, (digit) =>
    String(digit.charCodeAt(0) & 0xf),
  );
}

const comparedDigits = 7;

/** The number of a SIM with the same last digits. */
function sameEnd(from: unknown, { world }: Simulation): unknown {
  if (typeof from !== 'string' || world.deviceByNumber(from) !== undefined) return from;
  const end = from.slice(-comparedDigits);
  const device = [...world.devices.values()].find(({ number }) => number.endsWith(end));
  return end.length < comparedDigits ? from : (device?.number ?? from);
}

export const rewrittenDefects: Defects = {
  'length-trimmed': rewriting('message', (message) => message.trim()),
  'length-normalised': rewriting('message', (message) => message.normalize('NFC')),
  'length-line-ends': rewriting('message', (message) => message.replaceAll('\r\n', '\n')),
  'length-escaped': countedAs(escaped),
  'length-line-feeds-twice': countedAs((message) => message.replaceAll('\n', '\r\n')),
  'to-any-digits': rewriting('to', asAscii),
  'to-line-end': rewriting('to', (to) => to.replace(/\n$/, '')),
  'from-normalised': rewriting('from', (from) => from.replace(/(?<=.)[ ().-]/g, '')),
  'from-last-digits': understanding(({ from }, _, simulation) => ({
    from: sameEnd(from, simulation),
  })),
};
