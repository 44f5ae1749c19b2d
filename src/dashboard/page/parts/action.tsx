/**
 * Buttons that run an action: they show that it is running, or why it was refused.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { noteUserAction } from '../resource.ts';
import { Failure } from './frame.tsx';

/** What runs `act` unless it is running already; its exception is kept as the error. */
export function useRunning(act: () => Promise<unknown>) {
  const error = useSignal<unknown>(undefined);
  const busy = useSignal(false);
  const run = async () => {
    if (busy.value) return;
    busy.value = true;
    error.value = undefined;
    noteUserAction();
    try {
      await act();
    } catch (failure) {
      error.value = failure;
    }
    busy.value = false;
  };
  return { error: error.value, isBusy: busy.value, run };
}

interface ActionProps {
  readonly act: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly kind?: 'main' | 'danger' | 'plain';
  readonly disabled?: boolean;
  /** An accessible name, needed if the button's text does not name its object. */
  readonly label?: string;
  /** What is lost: the button asks in a dialog before it acts. */
  readonly warning?: string | undefined;
}

export function Action(props: ActionProps) {
  const { act, children, kind = 'plain', disabled = false, label, warning } = props;
  const { error, isBusy, run } = useRunning(act);
  const isAsked = useSignal(false);
  const ask = (isOpen: boolean) => {
    isAsked.value = isOpen;
  };
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={disabled}
        aria-busy={isBusy}
        aria-label={label}
        onClick={() => (warning === undefined ? void run() : ask(true))}
      >
        {children}
      </button>
      <Failure error={error} />
      {isAsked.value && (
        <Dialog title={`${label ?? children}?`} leave="Cancel" onClose={() => ask(false)}>
          <p>{warning}</p>
          <Action act={() => act().then(() => ask(false))} kind="danger">
            {children}
          </Action>
        </Dialog>
      )}
    </>
  );
}

interface DialogProps {
  readonly title: string;
  /** The button that does nothing else. */
  readonly leave?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Once it is closed, the focus returns to what opened it. */
export function Dialog({ title, leave = 'Close', onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} class="card" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      <div class="said-in">{children}</div>
      <form method="dialog">
        <button type="submit" class="button plain">
          {leave}
        </button>
      </form>
    </dialog>
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

interface DownloadProps {
  readonly read: () => unknown;
  readonly file: string;
}

/** Saves the result of `read` as a file: text as it is, all else as JSON. */
export function DownloadButton(props: DownloadProps & { readonly children: string }) {
  const save = async () => {
    const made = await props.read();
    const text = typeof made === 'string' ? made : JSON.stringify(made, null, 2);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = props.file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <Action act={save}>{props.children}</Action>;
}

/** Saves rows as JSON or CSV. */
export function Downloads({ read, file }: DownloadProps) {
  const asCsv = async () => csvOf((await read()) as readonly object[]);
  return (
    <>
      <DownloadButton read={read} file={`${file}.json`}>
        Save these as JSON
      </DownloadButton>
      <DownloadButton read={asCsv} file={`${file}.csv`}>
        Save these as CSV
      </DownloadButton>
    </>
  );
}

/** RFC 4180; a value that is not a text or a number is JSON. */
function csvOf(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const cell = (value: unknown) => {
    const text =
      typeof value === 'object' && value !== null ? JSON.stringify(value) : `${value ?? ''}`;
    // A spreadsheet would take these for a formula.
    const safe = /^[=@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = rows.map((row) => Object.values(row).map(cell).join());
  return [names.join(), ...lines, ''].join('\r\n');
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
