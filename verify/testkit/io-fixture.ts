/**
 * Collects a bench's output for a test.
 */
export function newIo() {
  const texts = { out: '', error: '' };
  const io = {
    out: (text: string) => {
      texts.out += text;
    },
    error: (text: string) => {
      texts.error += text;
    },
    env: {},
    version: 'test',
  };
  return { io, texts };
}
