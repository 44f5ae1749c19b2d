/**
 * Serves the dashboard's files on the control port. A checkout builds them on the first request; a
 * package has them in `dist/dashboard/`. They need no token, since the page asks for it. The guard
 * still checks `Host` and `Origin`.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { shippedFile, shippedNames } from '../commands/shipped-files.ts';
import type { ContentReply, ControlRequest } from '../http/transport/transport.ts';

const typeOf: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** The page loads everything from this port, cannot be framed, and submits no forms. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
};

type Answer = (request: ControlRequest) => ContentReply;

/** True if a path belongs to the page, even if no such file exists. */
export function isDashboardPath(path: string): boolean {
  return path === '/' || path.startsWith('/assets/');
}

let loading: Promise<ReadonlyMap<string, Answer>> | undefined;

/** The requested file, or undefined. */
export async function dashboardFile(request: ControlRequest): Promise<ContentReply | undefined> {
  // Shared by all simulators of a process; a failure is not cached.
  loading ??= loadFiles().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return (await loading).get(request.path)?.(request);
}

/** Builds the files in a checkout; reads those of a package. */
async function loadFiles(): Promise<ReadonlyMap<string, Answer>> {
  const files = import.meta.url.endsWith('.ts')
    ? await (await import('./bundle.ts')).bundleDashboard()
    : shippedNames('dashboard').map((name) => ({ name, bytes: shippedFile(`dashboard/${name}`) }));
  return new Map(
    files.map(({ name, bytes }) => [
      name === 'index.html' ? '/' : `/assets/${name}`,
      answerWith(name, bytes),
    ]),
  );
}

function answerWith(name: string, bytes: Uint8Array): Answer {
  const contentType = typeOf[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  const zipped = gzipSync(bytes, { level: 9 });
  const plain: ContentReply = {
    status: 200,
    content: bytes,
    contentType,
    etag: `"${digest}"`,
    headers: pageHeaders,
  };
  const compressed: ContentReply = {
    ...plain,
    content: zipped,
    etag: `"${digest}-gzip"`,
    headers: { ...pageHeaders, 'content-encoding': 'gzip' },
  };
  return ({ headers }) => (/\bgzip\b/.test(headers['accept-encoding'] ?? '') ? compressed : plain);
}
