/**
 * Clock and Faults: when things happen, and what goes wrong.
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
