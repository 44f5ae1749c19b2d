/** The flags of `smstwin conform` about recorded traffic (`--traffic`), which is judged without a target. */
import { existsSync, statSync } from 'node:fs';
import { UsageError } from '#io/command-error.ts';

/** Recorded traffic to judge instead of a target. */
export type TrafficFlags = NonNullable<ReturnType<typeof trafficOf>>;

/** Names a flag as the user gave it: on the command line, or by a variable of the environment. */
export type NameOf = (attribute: string) => string;

/** The values of the flags that these read. */
interface Values {
  readonly traffic: readonly string[];
  readonly drift?: string | undefined;
  readonly sameAccount: readonly string[];
  readonly trafficComplete?: boolean | undefined;
  readonly list?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly recheck?: boolean | undefined;
  readonly discover?: string | undefined;
  readonly writeExpected?: string | undefined;
  readonly report: readonly { readonly file?: string }[];
}

/**
 * The flags about recorded traffic; undefined without `--traffic`. A shell expands `*` to several
 * arguments, so arguments that name files are recordings too.
 */
export function trafficOf(
  values: Values,
  baseUrl: string | undefined,
  patterns: readonly string[],
  nameOf: NameOf,
) {
  const { traffic: named, drift, sameAccount, trafficComplete } = values;
  if (named.length === 0) return undefined;
  if (baseUrl !== undefined)
    throw new UsageError('--traffic judges recordings and sends nothing: leave out the base_url');
  const ofTarget = (['list', 'dryRun', 'recheck'] as const).find((name) => values[name]);
  if (ofTarget !== undefined)
    throw new UsageError(`${nameOf(ofTarget)} is for a target: leave it out with --traffic`);
  const files = [...named, ...patterns.filter((pattern) => existsSync(pattern))];
  refuseOverwriting(values, drift === undefined ? files : [...files, drift], nameOf);
  return {
    files,
    /** True if the files hold all traffic of their accounts and addresses. */
    isComplete: trafficComplete === true,
    /** Lists of keys; the keys of a list belong to one account. */
    joined: sameAccount.map(keysOfOneAccount),
    drift,
  };
}

function keysOfOneAccount(text: string): string[] {
  const keys = text.split(',').map((key) => key.trim());
  const misnamed = keys.find((key) => !keyName.test(key));
  if (misnamed === undefined) return keys;
  throw new UsageError(
    `--same-account ${misnamed}: expected the name of a key in the file, such as key:0123456789ab`,
  );
}

/** The name of a key: its digest in a recording or a HAR file, its id in a journal. */
const keyName = /^(?:(?:key|sha256):[0-9a-f]{12,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Refuses an output file that is also an input: it would replace the recording. */
function refuseOverwriting(values: Values, inputs: readonly string[], nameOf: NameOf): void {
  const inputIds = new Set(inputs.map(fileId));
  const outputs = [
    { attribute: 'discover', file: values.discover },
    { attribute: 'writeExpected', file: values.writeExpected },
    ...values.report.map(({ file }) => ({ attribute: 'report', file })),
  ];
  for (const { attribute, file } of outputs) {
    const id = file === undefined ? undefined : fileId(file);
    if (id !== undefined && inputIds.has(id))
      throw new UsageError(
        `${nameOf(attribute)} ${file}: it is read by this run; name another file`,
      );
  }
}

/** Equal for all paths of one file; undefined if there is none. */
function fileId(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev} ${found.ino}`;
}
