/**
 * Buttons that run an operation, and ask before they lose data. A button shows that it is busy, and
 * why its action failed.
 */
import { useSignal } from '@preact/signals';
import type { ButtonHTMLAttributes, ComponentChildren, FormHTMLAttributes } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Failure } from './frame.tsx';

/** `run` calls `act`, unless it is running already, and keeps its exception as the error. */
export function useRunning(act: () => unknown) {
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const run = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = undefined;
    try {
      await act();
    } catch (failure) {
      error.value = failure;
    }
    isBusy.value = false;
  };
  return { error: error.value, isBusy: isBusy.value, run };
}

/** A form that runs an action in place of the browser's own. */
export function Form(props: FormHTMLAttributes & { readonly act: () => unknown }) {
  const { act, ...attributes } = props;
  const onSubmit = (event: Event) => {
    event.preventDefault();
    void act();
  };
  return <form {...attributes} onSubmit={onSubmit} noValidate />;
}

interface ActionProps extends Pick<ButtonHTMLAttributes, 'title' | 'disabled' | 'aria-pressed'> {
  /** May return a promise. */
  readonly act: () => unknown;
  readonly children: ComponentChildren;
  /** Its classes, of which one is `main`, `danger` or `plain`. */
  readonly kind?: string;
  /** The accessible name, if the button's text does not name its object. */
  readonly label?: string;
  /** What is lost. If set, the button asks in a dialog before it acts. */
  readonly warning?: string | undefined;
}

export function Action(props: ActionProps) {
  const { act, children, kind = 'plain', label, warning, ...attributes } = props;
  const { error, isBusy, run } = useRunning(act);
  const isConfirming = useSignal(false);
  const closeDialog = () => (isConfirming.value = false);
  const onClick = () => {
    if (warning === undefined) void run();
    else isConfirming.value = true;
  };
  return (
    <>
      <button
        {...attributes}
        type="button"
        class={`button ${kind}`}
        aria-busy={isBusy}
        aria-label={label}
        onClick={onClick}
      >
        {children}
      </button>
      <Failure error={error} />
      {isConfirming.value && (
        <Dialog title={`${label ?? children}?`} closeText="Cancel" onClose={closeDialog}>
          <p>{warning}</p>
          <Action act={async () => [await act(), closeDialog()]} kind="danger">
            {children}
          </Action>
        </Dialog>
      )}
    </>
  );
}

type DialogProps = Readonly<{
  title: string;
  closeText?: string;
  onClose: () => void;
  children: ComponentChildren;
}>;

/** A modal dialog. When it closes, the browser returns the focus to what opened it. */
export function Dialog({ title, closeText = 'Close', onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect, so that the dialog gets even a key that is pressed at once.
  useLayoutEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} class="card" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      <div class="dialog-body">{children}</div>
      <form method="dialog">
        <button type="submit" class="button plain" autofocus>
          {closeText}
        </button>
      </form>
    </dialog>
  );
}
