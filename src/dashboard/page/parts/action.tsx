/**
 * A button that does something which takes a moment and may be refused.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { Failure } from './notices.tsx';

interface ActionProps {
  readonly act: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly kind?: 'main' | 'danger' | 'plain';
  readonly disabled?: boolean;
  /** A name that says of what, where the text alone does not. */
  readonly label?: string;
}

export function Action({ act, children, kind = 'plain', disabled = false, label }: ActionProps) {
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
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
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={disabled}
        aria-busy={busy.value}
        aria-label={label}
        onClick={() => void run()}
      >
        {children}
      </button>
      <Failure error={error.value} />
    </>
  );
}

/** Copies what `text` gives, and says so. */
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

/**
 * The clipboard's own interface needs a secure origin, which an address in the local network is
 * not.
 */
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
