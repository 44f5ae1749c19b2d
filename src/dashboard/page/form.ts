/**
 * The state of a form that is sent: busy, refused, or neither.
 */
import { type Signal, useSignal } from '@preact/signals';
import { ControlError } from './control.ts';
import { FieldMistakes } from './numbers.ts';

export interface Sending {
  readonly error: unknown;
  readonly isBusy: boolean;
  readonly onSubmit: (event: Event) => void;
  /** What is wrong with this field: found here, or by the control API. */
  problem(field: string): string | undefined;
}

/** `send` runs when the form is submitted; what it throws is shown. */
export function useSending(send: () => Promise<void>): Sending {
  const error: Signal<unknown> = useSignal(undefined);
  const busy = useSignal(false);
  const run = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    try {
      await send();
    } catch (failure) {
      error.value = failure;
    }
    busy.value = false;
  };
  return {
    error: error.value,
    isBusy: busy.value,
    onSubmit: (event) => {
      event.preventDefault();
      void run();
    },
    problem: (field) => {
      if (error.value instanceof FieldMistakes) return error.value.fields[field];
      const isNamed = error.value instanceof ControlError && error.value.path === field;
      return isNamed ? (error.value as ControlError).message : undefined;
    },
  };
}
