/** Reads a server's metrics in the text format of Prometheus. */

export type Labels = Readonly<Record<string, string>>;

export class MetricsText {
  readonly #samples = new Map<string, number>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name !== '') this.#samples.set(keyOf(name, labelsOf(labels)), Number(value));
    }
  }

  /** The value of a sample; NaN if there is no such sample. */
  value(name: string, labels: Labels = {}): number {
    return this.#samples.get(keyOf(name, labels)) ?? Number.NaN;
  }

  /** The samples of one metric, by their labels as `name=value`, sorted. */
  all(name: string): ReadonlyMap<string, number> {
    return new Map(
      [...this.#samples]
        .filter(([key]) => key.startsWith(`${name} `))
        .map(([key, value]) => [key.slice(name.length + 1), value]),
    );
  }

  get names(): ReadonlySet<string> {
    return new Set([...this.#samples.keys()].map((key) => key.split(' ')[0] ?? ''));
  }
}

function labelsOf(text: string): Labels {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

function keyOf(name: string, labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return `${name} ${pairs.sort().join(',')}`;
}
