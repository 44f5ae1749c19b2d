/** The judge of each rule. */
import type { RuleId } from '#contract/rules.ts';
import { retryAfterJudges } from '../limiter/retry-after.ts';
import { throttleJudges } from '../limiter/throttle.ts';
import { accessJudges } from './access.ts';
import { bodyJudges } from './body.ts';
import type { Judge } from './judge.ts';
import { paceJudges } from './pace.ts';
import { quotaJudges } from './quota.ts';
import { readJudges } from './read.ts';
import { replayJudges } from './replay.ts';
import { sendJudges } from './send.ts';
import { statusJudges } from './status.ts';

export const judges: Readonly<Record<RuleId, Judge>> = {
  ...accessJudges,
  ...bodyJudges,
  ...paceJudges,
  ...statusJudges,
  ...quotaJudges,
  ...readJudges,
  ...replayJudges,
  ...retryAfterJudges,
  ...sendJudges,
  ...throttleJudges,
};
