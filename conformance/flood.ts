/**
 * Sends many requests with a bounded number in flight; replies come in the order of the requests.
 */
export async function flood<T>(
  times: number,
  one: (index: number) => Promise<T>,
  width = 16,
): Promise<T[]> {
  const replies: T[] = new Array(times);
  let next = 0;
  const worker = async () => {
    while (next < times) {
      const index = next;
      next += 1;
      replies[index] = await one(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(width, times) }, worker));
  return replies;
}
