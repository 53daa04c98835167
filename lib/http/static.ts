/**
 * The assets of the page: from the bundle, or built in memory when running from sources. A request is a lookup in their
 * table, so no path can leave it.
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { extname } from 'node:path'
import type { Reply } from './endpoint.ts'
import { bytes } from './reply.ts'
import type { Asset, AssetTable, Packed } from '../store/packed.ts'

const build = async (): Promise<AssetTable> => {
  // Development only: the bundle does not include the bundler.
  const { buildAssets } = await import('../../build/browser.mjs')
  return buildAssets()
}

/** Returns a function that loads the asset table on first use, so that API-only use never waits for it. */
export const createAssets = (packed: Packed | undefined): (() => Promise<AssetTable>) => {
  let built: Promise<AssetTable> | undefined
  return () => {
    built ??= packed ? Promise.resolve(packed.assets) : build()
    return built
  }
}

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

const mediaType = (name: string): string =>
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

/** `q=0` means not acceptable. */
const accepts = (coding: RegExp, accepted: string): boolean => {
  const match = coding.exec(accepted)
  return match !== null && Number(match[1] ?? 1) > 0
}

/** The best encoding that the client accepts; undefined for none. */
export const encodingFor = (
  asset: Asset,
  accepted: string | undefined,
): 'br' | 'gzip' | undefined => {
  if (accepted === undefined) return undefined
  if (asset.br && accepts(BROTLI, accepted)) return 'br'
  return asset.gzip && accepts(GZIP, accepted) ? 'gzip' : undefined
}

export const cacheOf = ({ immutable }: Asset): string =>
  immutable ? 'public, max-age=31536000, immutable' : 'no-cache'

/** The reply for an asset in the encoding that the client accepts. */
export const assetReply = (asset: Asset, request: IncomingHttpHeaders, cache?: string): Reply => {
  const encoding = encodingFor(asset, request['accept-encoding'])
  const headers: Record<string, string> = {}
  if (asset.br || asset.gzip) headers.Vary = 'Accept-Encoding'
  if (encoding) headers['Content-Encoding'] = encoding
  return bytes((encoding && asset[encoding]) ?? asset.raw, {
    type: asset.type,
    // A strong ETag identifies bytes, so each encoding has its own.
    etag: `"${asset.etag}${encoding ? `-${encoding}` : ''}"`,
    cache: cache ?? cacheOf(asset),
    headers,
  })
}
