/**
 * `smstwin completion`: prints a script for a shell, which then asks `smstwin complete` for the
 * words that may come next. The library reads commands and flags from the commands themselves.
 */
import { script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { oneOf } from '#io/flag-values.ts';
import { addArgument, type CommandIo, newCommand, readFlags } from '#io/flags.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export async function completion(argv: readonly string[], io: CommandIo): Promise<number> {
  const about = 'Print what completes commands and flags in bash, zsh or fish.';
  const command = newCommand('completion', about, io);
  addArgument(command, '<shell>', shells.join(', '), oneOf(shells));
  if (readFlags(command, argv, io.env) === 'answered') return 0;
  const text = printed(() => script(command.processedArgs[0], 'smstwin', 'smstwin'));
  // Bash offers names of files where there is nothing else to offer, as the other shells do.
  io.out(text.replace('complete -F', 'complete -o default -F'));
  return 0;
}

/** Prints what may come next. `words`: the words after `smstwin`; the last one is unfinished. */
export function complete(words: readonly string[], program: Command, io: CommandIo): void {
  const root = tab(program, { completionCommandName: 'scripts' });
  // The command of the library, which prints what `completion` prints.
  root.commands.delete('scripts');
  // `:4` forbids names of files, which are all that can be offered if nothing else is.
  io.out(printed(() => root.parse([...words])).replace(/^:4\n$/, ':0\n'));
}

/** What the library prints: it knows only the console. */
function printed(print: () => void): string {
  const { log } = console;
  let text = '';
  console.log = (line: string) => {
    text += `${line}\n`;
  };
  try {
    print();
  } finally {
    console.log = log;
  }
  return text;
}
