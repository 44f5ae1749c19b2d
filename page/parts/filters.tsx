/**
 * The inputs that filter a page. Filters are kept in the address (`page/route.ts`).
 */
import { filterValue, setFilter } from '../route.ts';
import { type Choice, Choices } from './fields.tsx';

interface FilterProps {
  /** The filter that the input sets. */
  readonly name: string;
  readonly label: string;
}

/** A search whose placeholder is its label. */
export function SearchInput({ name, label }: FilterProps) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={filterValue(name)}
      onInput={(event) => setFilter(name, event.currentTarget.value)}
    />
  );
}

/** A select that sets a filter. `any`: the label of the choice that removes the filter. */
export function FilterChoices(
  props: FilterProps & { readonly any: string; readonly choices: readonly Choice[] },
) {
  const { name, label, any, choices } = props;
  return (
    <Choices
      aria-label={label}
      value={filterValue(name)}
      onChoose={(value) => setFilter(name, value)}
      choices={[{ value: '', label: any }, ...choices]}
    />
  );
}
