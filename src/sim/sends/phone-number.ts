/**
 * E.164 numbers. Rules: SEND-2, RES-2. Assumes: numberCheck.
 * Parsing takes microseconds and numbers repeat, so a bounded cache keeps the verdicts.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { LRUCache } from 'lru-cache';
import type { Assumptions } from '../assumptions.ts';

/** The shape of E.164: a plus sign and at most 15 digits, not starting with 0. */
export const e164 = /^\+[1-9][0-9]{1,14}$/;
export const rememberedVerdicts = 20_000;

type Verdict = 'not_e164' | 'shape' | 'possible' | 'valid';
const strictness: Record<Verdict, number> = { not_e164: 0, shape: 1, possible: 2, valid: 3 };

// A verdict depends only on the number, so all simulators of a process share this cache.
const verdicts = new LRUCache<string, Verdict>({ max: rememberedVerdicts });

/** A number whose last three digits do not change the verdict: the numbering plan ignores them. */
const northAmerican = /^\+1[2-9]\d{9}$/;

/** Whether `text` is an E.164 number, as strictly as `numberCheck` asks. */
export function isPhoneNumber(text: string, check: Assumptions['numberCheck']): boolean {
  if (!e164.test(text)) return false;
  if (check === 'shape') return true;
  // The key has no plus sign, so it differs from the key of any other number.
  const key = northAmerican.test(text) ? text.slice(1, -3) : text;
  let verdict = verdicts.get(key);
  if (verdict === undefined) {
    verdict = verdictOn(text);
    verdicts.set(key, verdict);
  }
  return strictness[verdict] >= strictness[check];
}

export function verdictCount(): number {
  return verdicts.size;
}

function verdictOn(text: string): Verdict {
  const number = parsePhoneNumberFromString(text);
  // The library accepts some numbers of wrong length by removing a national prefix; such a result
  // is another number.
  if (number === undefined || number.number !== text || !number.isPossible()) return 'shape';
  return number.isValid() ? 'valid' : 'possible';
}
