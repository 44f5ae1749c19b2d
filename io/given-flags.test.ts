import { expect, test } from 'vitest';
import { flagsIn, list, newCommand } from './flags.ts';

const io = { env: {}, version: '1', out: () => {}, error: () => {} };

test.each([
  ['--port <name>', 'a, b', ['a', 'b']],
  ['--assume <name=value>', 'one=1,2,two=3', ['one=1,2', 'two=3']],
  ['--header <name: value>', 'Accept: a, b,X-Key: c', ['Accept: a, b', 'X-Key: c']],
  ['--keys <digest,digest>', 'key:a,key:b', ['key:a,key:b']],
])('the variable of %s holds %j as %j', (flag, text, values) => {
  const command = newCommand('program', 'A program.', io);
  const [name = ''] = flag.slice(2).split(' ');
  const env = { [`SMSTWIN_${name.toUpperCase()}`]: text };
  expect(flagsIn(command, [list(flag, 'values', String)], [], { env })).toEqual({ [name]: values });
});
