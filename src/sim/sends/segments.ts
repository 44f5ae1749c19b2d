/**
 * The number of SMS segments of a text, by GSM 03.38: up to 160 septets in one, 153 each in
 * several. A text with any other character uses UCS-2: 70 units in one, 67 each in several. A
 * character of two units (an escaped GSM character, a surrogate pair) is never split.
 * Assumes: quotaUnit, under which segments are counted.
 */

export interface Segmentation {
  readonly encoding: 'GSM-7' | 'UCS-2';
  readonly segments: number;
}

/** How much a segment carries: alone, or as one of several, each of which has a header. */
interface Capacity {
  readonly alone: number;
  readonly ofSeveral: number;
}

/** Capacities in septets. */
const gsmCapacity: Capacity = { alone: 160, ofSeveral: 153 };
/** Capacities in UTF-16 units. */
const ucs2Capacity: Capacity = { alone: 70, ofSeveral: 67 };

const gsmBasic = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
const gsmExtended = new Set('\f^{}\\[~]|€');

export function segmentText(text: string): Segmentation {
  const septets: number[] = [];
  for (const character of text) {
    if (gsmBasic.has(character)) septets.push(1);
    else if (gsmExtended.has(character)) septets.push(2);
    else {
      const utf16Widths = Array.from(text, ({ length }) => length);
      return { encoding: 'UCS-2', segments: countSegments(utf16Widths, ucs2Capacity) };
    }
  }
  return { encoding: 'GSM-7', segments: countSegments(septets, gsmCapacity) };
}

/** `widths`: how much room each character needs. */
function countSegments(widths: readonly number[], { alone, ofSeveral }: Capacity): number {
  const total = widths.reduce((sum, width) => sum + width, 0);
  if (total <= alone) return 1;
  let segments = 1;
  let used = 0;
  for (const width of widths) {
    if (used + width > ofSeveral) {
      segments++;
      used = 0;
    }
    used += width;
  }
  return segments;
}
