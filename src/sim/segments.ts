/**
 * The number of SMS segments of a text, by GSM 03.38: up to 160 septets in one, 153 each in
 * several. A text with any other character uses UCS-2: 70 units in one, 67 each in several.
 * Assumes: quotaUnit.
 * A character of two units (an escaped GSM character, a surrogate pair) is never split.
 */

export interface Segmentation {
  readonly encoding: 'GSM-7' | 'UCS-2';
  readonly segments: number;
}

const gsmBasic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
const gsmExtended = new Set('\f^{}\\[~]|€');

export function segmentText(text: string): Segmentation {
  const widths: number[] = [];
  let gsm = true;
  for (const character of text) {
    if (gsmBasic.has(character)) widths.push(1);
    else if (gsmExtended.has(character)) widths.push(2);
    else {
      gsm = false;
      break;
    }
  }
  if (gsm) return { encoding: 'GSM-7', segments: pack(widths, 160, 153) };
  const units = Array.from(text, (character) => character.length);
  return { encoding: 'UCS-2', segments: pack(units, 70, 67) };
}

function pack(widths: readonly number[], single: number, several: number): number {
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total <= single) return 1;
  let segments = 1;
  let used = 0;
  for (const width of widths) {
    if (used + width > several) {
      segments++;
      used = 0;
    }
    used += width;
  }
  return segments;
}
