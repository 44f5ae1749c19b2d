/**
 * The input for one assumption: a list of its answers, or a text field if a number or a list is
 * also an answer.
 */
import { useSignal } from '@preact/signals';
import { errorText } from '../control.ts';
import { FieldMistakes } from '../numbers.ts';
import type { AssumptionValue, LedgerEntry, Templates } from '../wire.ts';

interface AssumptionInputProps {
  readonly entry: LedgerEntry;
  readonly value: AssumptionValue;
  readonly onSwitch: (value: AssumptionValue) => Promise<void>;
}

export function asText(value: AssumptionValue): string {
  if (typeof value !== 'object') return String(value);
  return Array.isArray(value) ? value.join(', ') : JSON.stringify(value);
}

export function AssumptionInput({ entry, value, onSwitch }: AssumptionInputProps) {
  const problem = useSignal('');
  const isChoice = entry.answers.length > 0 && entry.permitted.startsWith('one of');
  const onlyOne = entry.answers.length === 1 && entry.permitted === `"${entry.answers[0]}"`;
  const change = async (text: string) => {
    try {
      await onSwitch(readValue(entry, text));
      problem.value = '';
    } catch (failure) {
      problem.value = errorText(failure);
    }
  };
  return (
    <div class="answer">
      {onlyOne ? (
        <span class="mono">{asText(value)}</span>
      ) : isChoice ? (
        <select
          aria-label={entry.name}
          value={asText(value)}
          onChange={(event) => void change(event.currentTarget.value)}
        >
          {entry.answers.map((answer) => (
            <option key={answer} value={answer}>
              {answer}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="text"
          aria-label={entry.name}
          value={asText(value)}
          onChange={(event) => void change(event.currentTarget.value)}
        />
      )}
      {!isChoice && !onlyOne && <p class="hint">{entry.permitted}</p>}
      {problem.value !== '' && (
        <p class="problem" role="alert">
          {problem.value}
        </p>
      )}
    </div>
  );
}

/** The typed text as a value of the answer's type. */
function readValue(entry: LedgerEntry, text: string): AssumptionValue {
  const trimmed = text.trim();
  const mistake = () =>
    new FieldMistakes({ [entry.name]: `expected ${entry.permitted}; got "${trimmed}"` });
  if (entry.answers.includes(trimmed)) return trimmed;
  if (entry.permitted.includes('a list of')) {
    return trimmed === '' ? [] : trimmed.split(',').map((part) => part.trim());
  }
  if (typeof entry.default === 'object') {
    try {
      return JSON.parse(trimmed) as Templates;
    } catch {
      throw mistake();
    }
  }
  if (!entry.permitted.includes('number')) return trimmed;
  if (/^[0-9]+(\.[0-9]+)?$/.test(trimmed)) return Number(trimmed);
  throw mistake();
}
