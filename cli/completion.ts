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
  const text = capture(() => script(command.processedArgs[0], 'smstwin', 'smstwin'));
  // Lets bash complete file names if there is no other suggestion, as the other shells do.
  io.out(text.replace('complete -F', 'complete -o default -F'));
  return 0;
}

/** Prints the words that may come next. `words`: those after `smstwin`; the last is unfinished. */
export function complete(words: readonly string[], program: Command, io: CommandIo): void {
  const root = tab(program, { completionCommandName: 'scripts' });
  // The library adds this command, which does the same as `completion`.
  root.commands.delete('scripts');
  // `:4` forbids file names and `:0` permits them: they help if there is no other suggestion.
  io.out(capture(() => root.parse([...words])).replace(/^:4\n$/, ':0\n'));
}

/** Captures what the library prints: it can only write to the console. */
function capture(print: () => void): string {
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
