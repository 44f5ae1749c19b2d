/** The output and environment of a command in a test. */

/** An `io` for a command, and the texts that the command writes to it. */
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
