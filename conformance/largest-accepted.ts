/**
 * Finds the largest accepted value by trying values from both sides, starting with common bounds.
 */
export async function largestAccepted(
  low: number,
  high: number,
  accepts: (n: number) => Promise<boolean>,
  usual: readonly number[] = [],
): Promise<number> {
  let [good, bad] = [low, high + 1];
  const between = usual.filter((n) => n > low && n < high);
  for (let at: number | undefined; ; ) {
    const left = between.filter((n) => n > good && n < bad);
    at = left[Math.floor(left.length / 2)];
    if (at === undefined) break;
    if (await accepts(at)) good = at;
    else bad = at;
  }
  if (usual.includes(good) && bad - good > 1) {
    if (!(await accepts(good + 1))) return good;
    good += 1;
  }
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (await accepts(middle)) good = middle;
    else bad = middle;
  }
  return good;
}
