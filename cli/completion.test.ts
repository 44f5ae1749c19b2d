/** What a shell is offered. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { newIo } from '#verify/testkit/io-fixture.ts';
import { complete, completion } from './completion.ts';
import { commandsOf, subcommands, wholeProgram } from './subcommands.ts';

/** The words that may come next, and whether names of files may. */
async function offered(...words: string[]) {
  const { io, texts } = newIo();
  complete(words, await wholeProgram(io), io);
  const lines = texts.out.trimEnd().split('\n');
  return { words: lines.slice(0, -1).map((line) => line.split('\t')[0]), directive: lines.at(-1) };
}

test('every command is offered, and no other', async () => {
  const { words } = await offered('');
  expect(words.toSorted()).toEqual([...Object.keys(subcommands), 'help'].toSorted());
  expect((await offered('ref')).words).toEqual(['referee']);
});

test('the flags of a command are offered, and the words that a flag takes', async () => {
  const [serve] = await commandsOf(['serve'], newIo().io);
  const { words } = await offered('serve', '--');
  expect(words).toEqual(expect.arrayContaining(serve?.options.map(({ long }) => long) ?? []));
  expect((await offered('serve', '--clock', '')).words).toEqual(['real', 'scaled', 'manual']);
  expect((await offered('conform', '--profile', 'b')).words).toEqual(['budget']);
});

test.each([
  ['serve', '--world', ''],
  ['referee', 'run'],
])('where nothing else may come, names of files may: %s', async (...words) => {
  expect(await offered(...words)).toEqual({ words: [], directive: ':0' });
});

test.each(['bash', 'zsh', 'fish'])('the script for %s asks smstwin', async (shell) => {
  const { io, texts } = newIo();
  expect(await completion([shell], io)).toBe(0);
  expect(texts.out).toContain('smstwin complete --');
  if (shell === 'bash') execFileSync('bash', ['-n'], { input: texts.out });
});

test('bash offers what smstwin answers', async () => {
  const { io, texts } = newIo();
  await completion(['bash'], io);
  // `smstwin` stands for the program on the PATH, whose answers are tested above.
  const script = `
    smstwin() { printf -- '--port\tport\n--pool\tpool\n:4\n'; }
    _get_comp_words_by_ref() { cur=--po; words=(smstwin serve --po); cword=2; }
    compopt() { :; }
    ${texts.out}
    COMP_WORDS=(smstwin serve --po); COMP_CWORD=2; COMP_LINE='smstwin serve --po'; COMP_POINT=18
    __smstwin_complete
    echo "\${COMPREPLY[@]}"`;
  const offer = execFileSync('bash', { input: script, encoding: 'utf8' });
  expect(offer).toBe('--port --pool\n');
});

test.each([[[]], [['tcsh']], [['bash', 'zsh']]])('%j is refused', async (argv) => {
  await expect(completion(argv, newIo().io)).rejects.toMatchObject({ exitCode: 2 });
});
