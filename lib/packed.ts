/** Reads the payload of the bundle: assets, native addon, workers and version, block by block on first use. */
import { createHash } from 'node:crypto'
import { fstatSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import zlib from 'node:zlib'
import type { Asset, AssetTable } from './http/static.ts'

/** A block of the payload: offset and length in base64 characters, and the SHA-256 of its bytes. */
export type Block = Readonly<{ at: number; size: number; sha256: string }>

/** Written into the code by the build, as JSON text in place of `PACKING`. */
export type Packing = Readonly<{
  version: string
  /** Of the executable on Linux: the C library that its Node needs, as `glibc 2.28`. */
  libc?: string
  payloadSize: number
  /** The table of contents. */
  contents: Block
}>
type Contents = Readonly<{
  /** A CommonJS function, compressed with zstd. */
  server: Block
  /** V8's code cache for it, of the platform that made the build; absent when the file is not for that platform. */
  compiled?: Readonly<{ platform: string; block: Block }>
  /** CommonJS, compressed with zstd. */
  worker: Block
  /** The same, for the text of documents. */
  documentWorker: Block
  /** By target (`linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, …), compressed with zstd; `sha256` is that of the uncompressed addon. */
  addons: Readonly<Record<string, Readonly<{ block: Block; sha256: string }>>>
  assets: readonly PackedAsset[]
}>
export type PackedAsset = Readonly<{
  path: string
  type: string
  etag: string
  immutable: boolean
  /** Either Brotli-compressed, or raw when compression gains nothing. */
  br?: Block
  raw?: Block
}>

export type Packed = Readonly<{
  version: string
  /** Only of the executable on Linux. */
  libc: string | undefined
  /** Run by `build/launch.mjs`. */
  server(): { code: string; compiled: Buffer | undefined }
  /** CommonJS text for `new Worker(text, { eval: true })`. */
  searchWorker(): string
  documentWorker(): string
  /** By target. */
  addons: Readonly<Record<string, Readonly<{ sha256: string; read(): Buffer }>>>
  assets: AssetTable
}>

declare const PACKING: string | undefined

/** After the payload, the bundle ends with the end of the comment that contains it. */
const TRAILER = '*/\n'.length

/** Returns a reader of the payload. The file stays open, so that replacing it with a new build does not affect this process. */
const openPayload = (
  payloadSize: number,
  selfUrl: string,
): ((at: number, size: number) => string) => {
  // Resolved at run time: an older Node without the module must get as far as the version check.
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

/** Calls `make` on first use and caches the result. */
const once = <T>(make: () => T): (() => T) => {
  const made: T[] = []
  return () => {
    if (made.length === 0) made.push(make())
    return made[0] as T
  }
}

/** An asset whose encodings are read, decompressed or gzipped on first use and then cached. */
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

/** A code cache is for one platform; whether a C library is glibc or musl makes no difference to it. */
export const codePlatform = (): string => `${process.platform}-${process.arch}`

/** Whether this is the single executable with its own Node. */
export const isExecutable = (): boolean => process.getBuiltinModule('node:sea')?.isSea() === true

/** Opens the payload of this file; undefined when running from sources. */
export const openPacked = (
  text: string | undefined = typeof PACKING === 'undefined' ? undefined : PACKING,
  selfUrl: string = import.meta.url,
): Packed | undefined => {
  if (text === undefined) return undefined
  const packing: Packing = JSON.parse(text)
  const readText = openPayload(packing.payloadSize, selfUrl)
  const read = (block: Block): Buffer => {
    const bytes = Buffer.from(readText(block.at, block.size), 'base64')
    // The file may have been overwritten in place: never return data of another version.
    if (createHash('sha256').update(bytes).digest('hex') !== block.sha256) {
      throw new Error('The program file was changed while it was running. Restart it.')
    }
    return bytes
  }
  const unpack = (block: Block): Buffer => zlib.zstdDecompressSync(read(block))
  const { server, compiled, worker, documentWorker, addons, assets }: Contents = JSON.parse(
    read(packing.contents).toString(),
  )
  return {
    version: packing.version,
    libc: packing.libc,
    server: () => ({
      code: unpack(server).toString('latin1'),
      compiled: compiled?.platform === codePlatform() ? unpack(compiled.block) : undefined,
    }),
    searchWorker: () => unpack(worker).toString('latin1'),
    documentWorker: () => unpack(documentWorker).toString('latin1'),
    addons: Object.fromEntries(
      Object.entries(addons).map(([target, { block, sha256 }]) => [
        target,
        { sha256, read: () => unpack(block) },
      ]),
    ),
    assets: new Map(assets.map(file => [file.path, lazyAsset(file, read)])),
  }
}
