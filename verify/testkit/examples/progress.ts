/** Examples of the assumptions about a message's progress. */
import { minuteMs } from '#contract/time.ts';
import { numbers } from '../twin/scene.ts';
import { answers, type Examples } from './example.ts';

export const progress = {
  progressPace: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.play({ kind: 'poll_now', who: 0, sim: 0 });
      scene.advance(19_999);
      return scene.statusOf(accepted) === 'sending' ? 'waits for a poll' : 'has moved on';
    },
    shows: answers(['per_poll', 'waits for a poll'], ['own_delay', 'has moved on']),
  },
  taskPickup: {
    scene: (scene) => {
      const accepted = scene.send({ from: numbers.adaExternal });
      scene.get(`/api/devices/${scene.deviceOf(numbers.adaExternal)}/tasks/`);
      return scene.statusOf(accepted);
    },
    shows: answers(['handed_out', 'sending'], ['reported', 'queued']),
  },
  pollIntervalSeconds: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.advance(20_000);
      return scene.statusOf(accepted);
    },
    shows: answers([20, 'sending'], [3600, 'queued']),
    more: [1, 7, 45],
    // Slower than 20 s would break SVC-3, which is a rule.
    judged: [20, 5, 1],
  },
  sendsPerPoll: {
    scene: (scene) => {
      const accepted = Array.from({ length: 26 }, () => scene.send());
      scene.play({ kind: 'poll_now', who: 0, sim: 0 });
      const statuses = accepted.map((each) => scene.statusOf(each));
      return `${statuses.filter((status) => status === 'sending').length} sending`;
    },
    shows: answers(['all', '26 sending'], [1, '1 sending']),
    more: [2, 25],
  },
  failsFrom: {
    scene: (scene) => {
      const accepted = ['60', '61', '62'].map((end) => scene.send({ to: `+120255501${end}` }));
      scene.advance(2 * minuteMs);
      return accepted.map((each) => scene.statusOf(each)).join();
    },
    shows: answers(
      [['queued', 'sending', 'sent'], 'failed,failed,failed'],
      [['queued', 'sent'], 'failed,delivered,failed'],
    ),
    more: [[], ['queued'], ['sending'], ['sent'], ['queued', 'sending'], ['sending', 'sent']],
  },
  failureRate: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.advance(minuteMs);
      return scene.statusOf(accepted);
    },
    shows: answers([0, 'delivered'], [1, 'failed']),
    more: [0.3],
  },
  deactivation: {
    scene: (scene) => {
      const accepted = scene.send();
      scene.play({ kind: 'patch_sim', who: 0, sim: 0, changes: { active: false } });
      return scene.statusOf(accepted);
    },
    shows: answers(['fails', 'failed'], ['stays_queued', 'queued']),
  },
} satisfies Examples;
