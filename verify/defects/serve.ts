/** `npm run serve:defects`: `smstwin serve` with the flags that plant a defect. */
import { processIo, runSubcommand } from '#cli/process.ts';

process.exitCode = await runSubcommand(
  'serve',
  async (argv, io) => {
    const { serve } = await import('#cli/serve/serve.ts');
    const { defectFlags } = await import('./flags.ts');
    return serve(argv, io, defectFlags);
  },
  process.argv.slice(2),
  processIo(),
);
