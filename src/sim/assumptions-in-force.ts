/**
 * The assumptions in force, held in this one place.
 * Readers keep a reference to `AssumptionsInForce` and read each answer by name when they need it,
 * so all of them see a switch at once. Only `Simulation.assume()` switches.
 */
import type { AssumptionName, Assumptions } from './assumptions.ts';

/** The view that a reader gets. `N` names the assumptions that it reads. */
export interface AssumptionsInForce<N extends AssumptionName = AssumptionName> {
  readonly answers: Pick<Assumptions, N>;
}

export class SwitchableAssumptions implements AssumptionsInForce {
  /**
   * A switch replaces the whole object, so values derived from it can be cached by its identity.
   */
  answers: Assumptions;

  constructor(answers: Assumptions) {
    this.answers = answers;
  }

  switch(overrides: Partial<Assumptions>): void {
    this.answers = { ...this.answers, ...overrides };
  }
}
