/**
 * Buttons that run an action: they show that it is running, or why it was refused.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
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
  /** The verb; the confirming button shows `Really` before it. */
  readonly children: string;
  /** The object of the action, for screen readers. */
  readonly what?: string;
}

/** A button that asks for confirmation before it acts. */
export function ConfirmedAction({ act, children, what = '' }: ConfirmedProps) {
  const isAsked = useSignal(false);
  const really = `Really ${children.toLowerCase()}`;
  if (isAsked.value) {
    const actOnce = async () => {
      await act();
      isAsked.value = false;
    };
    return (
      <Action act={actOnce} kind="danger" label={`${really} ${what}`.trim()}>
        {really}
      </Action>
    );
  }
  return (
    <button
      type="button"
      class="button plain"
      aria-label={`${children} ${what}`.trim()}
      onClick={() => {
        isAsked.value = true;
      }}
    >
      {children}
    </button>
  );
}

/** Copies the result of `text` and confirms it. */
export function CopyButton(props: { readonly text: () => string; readonly children: string }) {
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
      <span aria-live="polite">{copied.value ? 'Copied' : props.children}</span>
    </button>
  );
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
