/** Security headers of every response, including those that Node would write itself. */
import type { ErrorCode } from '../schema/error-code.ts'

/** Content-Security-Policy of our pages: no third parties, no inline scripts, inline styles only with the nonce. */
export const contentPolicy = (styleNonce?: string): string =>
  [
    "default-src 'self'",
    "script-src 'self'",
    styleNonce === undefined ? "style-src 'self'" : `style-src 'self' 'nonce-${styleNonce}'`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    // PDF files by blob: URLs, and the document for artifacts; all other responses refuse to be framed.
    "frame-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    // Policies of public/markdown/trusted-types.ts, and of the DOMPurify copy in mermaid.
    "require-trusted-types-for 'script'",
    'trusted-types agent-webui default dompurify',
  ].join('; ')

const CONTENT_POLICY = contentPolicy()

/** `agent-webui/1.2.3`, or only the name when the version is unknown. */
export const serverName = (version: string): string =>
  version === 'unknown' ? 'agent-webui' : `agent-webui/${version.replace(/^v/, '')}`

/** Nothing runs in such a document, so it needs no process of its own; Chromium warns when it is asked for one. */
const isInert = (policy: string): boolean =>
  policy.startsWith('sandbox') && !policy.includes('allow-scripts')

/** Flat list of names and values, the form that `writeHead` takes without building an object. */
export const securityHeaders = (
  version: string,
  policy = CONTENT_POLICY,
  referrer = 'same-origin',
): readonly string[] => [
  'X-Content-Type-Options',
  'nosniff',
  'X-Frame-Options',
  'DENY',
  'Referrer-Policy',
  referrer,
  // Other sites must not embed our responses, for example an image of the workspace.
  'Cross-Origin-Resource-Policy',
  'same-origin',
  // The browser runs the sandboxed frame of an artifact in a process of its own, where an endless loop cannot stop the page.
  ...(isInert(policy) ? [] : ['Origin-Agent-Cluster', '?1']),
  'Permissions-Policy',
  'camera=(), microphone=(self), geolocation=()',
  'Server',
  serverName(version),
  'Content-Security-Policy',
  policy,
]

/** A complete response as text, for those that are written to a raw socket. */
export const rawResponse = (
  version: string,
  status: string,
  reply: { error: string; code: ErrorCode },
): string => {
  const body = JSON.stringify(reply)
  const flat = [
    ...securityHeaders(version),
    'Content-Type',
    'application/json; charset=utf-8',
    'Cache-Control',
    'no-store',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Date',
    new Date().toUTCString(),
    'Connection',
    'close',
  ]
  let head = `HTTP/1.1 ${status}\r\n`
  for (let i = 0; i < flat.length; i += 2) head += `${flat[i]}: ${flat[i + 1]}\r\n`
  return `${head}\r\n${body}`
}
