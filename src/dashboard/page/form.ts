/**
 * The state of an action or a form while it runs: busy, refused, or neither.
 */
import { useSignal } from '@preact/signals';
import { ControlError } from './control.ts';
import { FieldMistakes } from './field.ts';

export interface Running {
  readonly error: unknown;
  readonly isBusy: boolean;
  /** Does nothing if it is already running. */
  readonly run: () => Promise<void>;
}

/** An exception of `act` is kept as the error. */
export function useRunning(act: () => Promise<unknown>): Running {
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const run = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      await act();
    } catch (failure) {
      error.value = failure;
    }
    busy.value = false;
  };
  return { error: error.value, isBusy: busy.value, run };
}

export interface Sending extends Omit<Running, 'run'> {
  readonly onSubmit: (event: Event) => void;
  /** The mistake in this field, found here or by the control API. */
  problem(field: string): string | undefined;
}

/** `send` runs when the form is submitted. */
export function useSending(send: () => Promise<unknown>): Sending {
  const { error, isBusy, run } = useRunning(send);
  return {
    error,
    isBusy,
    onSubmit: (event) => {
      event.preventDefault();
      void run();
    },
    problem: (field) => {
      if (error instanceof FieldMistakes) return error.fields[field];
      return error instanceof ControlError && error.path === field ? error.message : undefined;
    },
  };
}
