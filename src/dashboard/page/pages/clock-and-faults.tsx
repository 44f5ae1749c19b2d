/**
 * Clock and Faults: when things happen, and what goes wrong.
 */
import { ClockPanel } from './clock-panel.tsx';

export function ClockAndFaultsPage() {
  return (
    <div class="columns">
      <ClockPanel />
    </div>
  );
}
