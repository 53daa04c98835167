/** What the build packed beside the code – assets, native addon, search worker, version – read block by block when first used; an unbuilt run has none. */
import { createHash } from 'node:crypto'
import { fstatSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import zlib from 'node:zlib'
import type { Asset, AssetTable } from './http/static.ts'

/** A stretch of the payload: where it begins and how long it is in base64 characters, and the SHA-256 of its bytes. */
export type Block = Readonly<{ at: number; size: number; sha256: string }>

/** What the build writes into the code, as JSON text in place of `PACKING`. */
export type Packing = Readonly<{
  version: string
  /** `linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, … */
  target: string
  payloadSize: number
  /** The table of contents. */
  contents: Block
}>
type Contents = Readonly<{
  /** CommonJS as a function, packed with zstd. */
  server: Block
  /** What V8 makes of it; absent where the build could not run it. */
  compiled?: Block
  /** CommonJS, packed with zstd. */
  worker: Block
  /** The addon is packed with zstd; `sha256` is of the addon itself. */
  addon: Readonly<{ block: Block; sha256: string }>
  assets: readonly PackedAsset[]
}>
export type PackedAsset = Readonly<{
  path: string
  type: string
  etag: string
  immutable: boolean
  /** One of the two: Brotli's bytes, or the file's own where packing gains nothing. */
  br?: Block
  raw?: Block
}>

export type Packed = Readonly<{
  version: string
  target: string
  /** What `build/launch.mjs` runs. */
  server(): { code: string; compiled: Buffer | undefined }
  /** CommonJS text for `new Worker(text, { eval: true })`. */
  searchWorker(): string
  addon: Readonly<{ sha256: string; read(): Buffer }>
  assets: AssetTable
}>

declare const PACKING: string | undefined

/** The trailer after the payload in the one file: the end of the comment that holds it. */
const TRAILER = '*/\n'.length

/** Reads base64 characters of the payload. The file stays open, so that a build that replaces it cannot mix with us. */
const openPayload = (
  payloadSize: number,
  selfUrl: string,
): ((at: number, size: number) => string) => {
  // Asked for at run time: an older Node that lacks the module shall get as far as being told its age.
  const sea = process.getBuiltinModule('node:sea')
  if (sea.isSea()) {
    const payload = Buffer.from(sea.getRawAsset('payload'))
    return (at, size) => payload.toString('latin1', at, at + size)
  }
  const fd = openSync(fileURLToPath(selfUrl), 'r')
  const start = fstatSync(fd).size - TRAILER - payloadSize
  return (at, size) => {
    const text = Buffer.allocUnsafe(size)
    readSync(fd, text, 0, size, start + at)
    return text.toString('latin1')
  }
}

/** `make` once, at first use. */
const once = <T>(make: () => T): (() => T) => {
  const made: T[] = []
  return () => {
    if (made.length === 0) made.push(make())
    return made[0] as T
  }
}

/** Every form is made at first use and then kept: read, unpacked, or packed anew for those who take gzip only. */
const lazyAsset = (file: PackedAsset, read: (block: Block) => Buffer): Asset => {
  const { br, raw } = file
  const asset = { type: file.type, etag: file.etag, immutable: file.immutable }
  const add = (name: 'raw' | 'br' | 'gzip', get: () => Buffer) =>
    Object.defineProperty(asset, name, { enumerable: true, get: once(get) })
  if (br) {
    const readBr = once(() => read(br))
    const unpack = once(() => zlib.brotliDecompressSync(readBr()))
    add('br', readBr)
    add('raw', unpack)
    add('gzip', () => zlib.gzipSync(unpack(), { level: 9 }))
  } else if (raw) {
    add('raw', () => read(raw))
  }
  return asset as Asset
}

/** Whether this program is the executable that brings its own Node along. */
export const isExecutable = (): boolean => process.getBuiltinModule('node:sea')?.isSea() === true

/** Opens the payload of this very file; undefined in an unbuilt run. */
export const openPacked = (
  text: string | undefined = typeof PACKING === 'undefined' ? undefined : PACKING,
  selfUrl: string = import.meta.url,
): Packed | undefined => {
  if (text === undefined) return undefined
  const packing: Packing = JSON.parse(text)
  const readText = openPayload(packing.payloadSize, selfUrl)
  const read = (block: Block): Buffer => {
    const bytes = Buffer.from(readText(block.at, block.size), 'base64')
    // Somebody may have written into the file while we run: better no answer than half of another version.
    if (createHash('sha256').update(bytes).digest('hex') !== block.sha256) {
      throw new Error('The program file was changed while it runs; start it again')
    }
    return bytes
  }
  const unpack = (block: Block): Buffer => zlib.zstdDecompressSync(read(block))
  const { server, compiled, worker, addon, assets }: Contents = JSON.parse(
    read(packing.contents).toString(),
  )
  return {
    version: packing.version,
    target: packing.target,
    server: () => ({
      code: unpack(server).toString('latin1'),
      compiled: compiled && unpack(compiled),
    }),
    searchWorker: () => unpack(worker).toString('latin1'),
    addon: { sha256: addon.sha256, read: () => unpack(addon.block) },
    assets: new Map(assets.map(file => [file.path, lazyAsset(file, read)])),
  }
}
