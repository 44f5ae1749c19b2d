/**
 * Buttons that run an action: they show that it is running, or why it was refused.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useRunning } from '../form.ts';
import { Failure } from './notices.tsx';

interface ActionProps {
  readonly act: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly kind?: 'main' | 'danger' | 'plain';
  readonly disabled?: boolean;
  /** An accessible name, needed if the button's text does not name its object. */
  readonly label?: string;
}

export function Action({ act, children, kind = 'plain', disabled = false, label }: ActionProps) {
  const { error, isBusy, run } = useRunning(act);
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={disabled}
        aria-busy={isBusy}
        aria-label={label}
        onClick={() => void run()}
      >
        {children}
      </button>
      <Failure error={error} />
    </>
  );
}

interface ConfirmedProps {
  readonly act: () => Promise<unknown>;
  /** The verb. */
  readonly children: string;
  /** The object of the action. */
  readonly what?: string;
  /** What is lost. */
  readonly warning: string;
}

/** A button that asks in a dialog before it acts. */
export function ConfirmedAction({ act, children, what = '', warning }: ConfirmedProps) {
  const isAsked = useSignal(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const question = `${children} ${what}`.trim();
  useEffect(() => {
    if (isAsked.value) dialog.current?.showModal();
  }, [isAsked.value]);
  const close = () => dialog.current?.close();
  return (
    <>
      <button
        type="button"
        class="button plain"
        aria-label={question}
        onClick={() => {
          isAsked.value = true;
        }}
      >
        {children}
      </button>
      {isAsked.value && (
        <dialog
          ref={dialog}
          class="card"
          aria-label={`${question}?`}
          onClose={() => {
            isAsked.value = false;
          }}
        >
          <h2>{question}?</h2>
          <p>{warning}</p>
          <div class="actions">
            <button type="button" class="button plain" onClick={close}>
              Cancel
            </button>
            <Action act={() => act().then(close)} kind="danger">
              {children}
            </Action>
          </div>
        </dialog>
      )}
    </>
  );
}

/** Copies the result of `text` and confirms it. */
export function CopyButton(props: {
  readonly text: () => string;
  readonly children: string;
  /** What is copied, if the button's text does not name it. */
  readonly what?: string;
}) {
  const copied = useSignal(false);
  const copy = async () => {
    await copyText(props.text());
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, 2_000);
  };
  return (
    <button type="button" class="button plain" onClick={() => void copy()}>
      {props.what !== undefined && <span class="hidden">{props.what}: </span>}
      <span aria-live="polite">{copied.value ? 'Copied' : props.children}</span>
    </button>
  );
}

/** Saves the result of `read` as a file. */
export function DownloadButton(props: {
  readonly read: () => unknown;
  readonly file: string;
  readonly children: string;
}) {
  const save = async () => {
    const text = JSON.stringify(await props.read(), null, 2);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = props.file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <Action act={save}>{props.children}</Action>;
}

/** The clipboard API needs a secure origin; an address in the local network is not secure. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}
