/** Files of the page: a table made at start, so a request is a lookup and a path can lead nowhere else. */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { extname } from 'node:path'
import type { Reply } from './endpoint.ts'
import { bytes } from './reply.ts'

export type Asset = {
  type: string
  /** Hash of the bytes, without quotes. */
  etag: string
  raw: Buffer
  br?: Buffer
  gzip?: Buffer
  /** The name holds the hash, so a browser may keep it for ever. */
  immutable: boolean
}

/** URL path (`/static/app.js`) → file; templates of pages stand beside under their bare name (`index.html`). */
export type AssetTable = ReadonlyMap<string, Asset>

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'application/javascript; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.ico': 'image/x-icon',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.webmanifest': 'application/manifest+json',
}

export const mediaType = (name: string): string =>
  TYPES[extname(name).toLowerCase()] ?? 'text/plain; charset=utf-8'

export const createAsset = (
  name: string,
  raw: Buffer,
  { immutable = false, ...packed }: { immutable?: boolean; br?: Buffer; gzip?: Buffer } = {},
): Asset => ({
  type: mediaType(name),
  etag: hash('sha1', raw, 'base64url'),
  raw,
  immutable,
  ...packed,
})

const BROTLI = /(?:^|,)\s*br\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i
const GZIP = /(?:^|,)\s*gzip\s*(?:;\s*q=([\d.]+)\s*)?(?:,|$)/i

/** `q=0` means no. */
const accepts = (coding: RegExp, accepted: string): boolean => {
  const match = coding.exec(accepted)
  return match !== null && Number(match[1] ?? 1) > 0
}

/** The smallest form of this file that the caller can unpack; undefined is the file as it is. */
export const encodingFor = (
  asset: Asset,
  accepted: string | undefined,
): 'br' | 'gzip' | undefined => {
  if (accepted === undefined) return undefined
  if (asset.br && accepts(BROTLI, accepted)) return 'br'
  return asset.gzip && accepts(GZIP, accepted) ? 'gzip' : undefined
}

/** The answer to a request for this file: the form the caller reads, or that it has it already. */
export const assetReply = (asset: Asset, asked: IncomingHttpHeaders, cache?: string): Reply => {
  const encoding = encodingFor(asset, asked['accept-encoding'])
  const headers: Record<string, string> = {}
  if (asset.br || asset.gzip) headers.Vary = 'Accept-Encoding'
  if (encoding) headers['Content-Encoding'] = encoding
  return bytes((encoding && asset[encoding]) ?? asset.raw, {
    type: asset.type,
    // Each form has its own tag: a strong tag stands for bytes.
    etag: `"${asset.etag}${encoding ? `-${encoding}` : ''}"`,
    cache: cache ?? (asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache'),
    headers,
  })
}
