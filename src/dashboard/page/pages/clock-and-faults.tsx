/**
 * The page Clock and Faults: the clock, the faults and the scripted recipients.
 */
import { ClockPanel } from './clock-panel.tsx';
import { FaultsPanel } from './faults.tsx';
import { OutcomesPanel } from './outcomes.tsx';

export function ClockAndFaultsPage() {
  return (
    <div class="columns">
      <ClockPanel />
      <div class="stack">
        <FaultsPanel />
        <OutcomesPanel />
      </div>
    </div>
  );
}
