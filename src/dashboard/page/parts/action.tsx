/**
 * Buttons that do something: run an operation, ask before they lose data, copy a text, save a file.
 * A button shows that it is busy, and why its action failed.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { noteUserAction } from '../resource.ts';
import { Failure } from './frame.tsx';

/** `run` calls `act`, unless it is running already, and keeps its exception as the error. */
export function useRunning(act: () => Promise<unknown>) {
  const error = useSignal<unknown>(undefined);
  const isBusy = useSignal(false);
  const run = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = undefined;
    noteUserAction();
    try {
      await act();
    } catch (failure) {
      error.value = failure;
    }
    isBusy.value = false;
  };
  return { error: error.value, isBusy: isBusy.value, run };
}

interface ActionProps {
  readonly act: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly kind?: 'main' | 'danger' | 'plain';
  readonly disabled?: boolean;
  /** The accessible name, if the button's text does not name its object. */
  readonly label?: string;
  /** What is lost. If set, the button asks in a dialog before it acts. */
  readonly warning?: string | undefined;
}

export function Action(props: ActionProps) {
  const { act, children, kind = 'plain', disabled = false, label, warning } = props;
  const { error, isBusy, run } = useRunning(act);
  const isConfirming = useSignal(false);
  const closeDialog = () => {
    isConfirming.value = false;
  };
  const onClick = () => {
    if (warning === undefined) void run();
    else isConfirming.value = true;
  };
  return (
    <>
      <button
        type="button"
        class={`button ${kind}`}
        disabled={disabled}
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
          <Action act={() => act().then(closeDialog)} kind="danger">
            {children}
          </Action>
        </Dialog>
      )}
    </>
  );
}

interface DialogProps {
  readonly title: string;
  /** The text of the button that closes the dialog. */
  readonly closeText?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. When it closes, the browser returns the focus to what opened it. */
export function Dialog({ title, closeText = 'Close', onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} class="card" aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      <div class="dialog-body">{children}</div>
      <form method="dialog">
        <button type="submit" class="button plain">
          {closeText}
        </button>
      </form>
    </dialog>
  );
}

interface CopyButtonProps {
  readonly text: () => string;
  readonly children: string;
  /** What is copied, if the button's text does not name it. */
  readonly what?: string;
}

const confirmationMs = 2_000;

/** Copies the result of `text` to the clipboard and confirms it for a moment. */
export function CopyButton({ text, children, what }: CopyButtonProps) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await copyText(text());
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, confirmationMs);
  };
  return (
    <button type="button" class="button plain" onClick={() => void copy()}>
      {what !== undefined && <span class="hidden">{what}: </span>}
      <span aria-live="polite">{isCopied.value ? 'Copied' : children}</span>
    </button>
  );
}

interface DownloadProps {
  /** Reads what is saved; may return a promise. */
  readonly read: () => unknown;
  /** The name of the file. */
  readonly file: string;
}

/** Saves the result of `read` as a file: a text unchanged, any other value as JSON. */
export function DownloadButton(props: DownloadProps & { readonly children: string }) {
  const { read, file, children } = props;
  const save = async () => {
    const content = await read();
    const text = typeof content === 'string' ? content : JSON.stringify(content, null, 2);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <Action act={save}>{children}</Action>;
}

/** Two buttons that save rows as JSON or as CSV; `file` has no extension. */
export function RowDownloads({ read, file }: DownloadProps) {
  const readCsv = async () => csvOf((await read()) as readonly object[]);
  return (
    <>
      <DownloadButton read={read} file={`${file}.json`}>
        Save these as JSON
      </DownloadButton>
      <DownloadButton read={readCsv} file={`${file}.csv`}>
        Save these as CSV
      </DownloadButton>
    </>
  );
}

/** Rows as CSV by RFC 4180; the first row gives the columns, and objects become JSON. */
function csvOf(rows: readonly object[]): string {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => Object.values(row).map(csvCell).join());
  return [names.join(), ...lines, ''].join('\r\n');
}

function csvCell(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null;
  const text = isObject ? JSON.stringify(value) : `${value ?? ''}`;
  // Quoted, so that a spreadsheet does not run the text as a formula.
  const safeText = /^[=@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safeText) ? `"${safeText.replaceAll('"', '""')}"` : safeText;
}

/** Without a secure origin, such as on a local network, there is no clipboard API: selects the text. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const textarea = document.createElement('textarea');
    textarea.value = text;
    document.body.append(textarea);
    textarea.select();
    document.execCommand('copy');
    textarea.remove();
  }
}
