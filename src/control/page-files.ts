/** Serves the files of the page on the control port (`src/control/control-port.ts`). */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { pageFiles } from '#io/shipped-files.ts';
import type { ContentReply, ControlRequest } from '../http/transport/transport.ts';

const contentTypes: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/**
 * The page may load files only from this port, must not be framed, and must not submit forms.
 * Caches keep the compressed and the plain file apart.
 */
const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  vary: 'accept-encoding',
};

type Answer = (request: ControlRequest) => ContentReply;

/** True if a path belongs to the page, even if no such file exists. */
export function isPagePath(path: string): boolean {
  return path === '/' || path.startsWith('/assets/');
}

/** The files by path; shared by all simulators of a process. */
let loading: Promise<ReadonlyMap<string, Answer>> | undefined;

/** The reply with the requested file; undefined if there is no such file. */
export async function pageFile(request: ControlRequest): Promise<ContentReply | undefined> {
  // A failure is not cached: the next request tries again.
  loading ??= loadFiles().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return (await loading).get(request.path)?.(request);
}

async function loadFiles(): Promise<ReadonlyMap<string, Answer>> {
  const files = await pageFiles();
  return new Map(
    files.map(({ name, bytes }) => [
      name === 'index.html' ? '/' : `/assets/${name}`,
      answerWith(name, bytes),
    ]),
  );
}

/** Characters of a digest in an ETag: 132 bits. */
const digestLength = 22;

function answerWith(name: string, bytes: Uint8Array): Answer {
  const contentType =
    contentTypes[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, digestLength);
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
