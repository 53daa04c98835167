/** Reads the payload of the bundle: assets, native files, workers and version, on first use. */
import { fstatSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import zlib from 'node:zlib'

export type Asset = {
  type: string
  /** Hash of the bytes, without quotes. */
  etag: string
  raw: Buffer
  br?: Buffer | undefined
  gzip?: Buffer | undefined
  /** The name contains a hash, so browsers may cache it forever. */
  immutable: boolean
}

/** URL path (`/static/app.js`) → asset. HTML templates are listed under their path without a leading slash (`index.html`). */
export type AssetTable = ReadonlyMap<string, Asset>

/** A block of the payload: offset and length in base64 characters, and the checksum of its bytes, which tells one version from another. */
export type Block = Readonly<{ at: number; size: number; crc32: number }>

/** `bytes`: the size of what it contains. */
type SizedBlock = Block & Readonly<{ bytes: number }>

/** Code with parts of the server, compressed with zstd like all code: an object of CommonJS functions by name. */
type Script = Readonly<{
  name: string
  code: SizedBlock
  /** V8's code cache; absent when the file is not for the platform that made the build. */
  compiled?: SizedBlock
}>

/** Written into the launcher by the build, as JSON text in place of `PACKING`: what every start needs. */
export type Packing = Readonly<{
  version: string
  /** Of the executable on Linux: the C library that its Node needs, as `glibc 2.28`. */
  libc?: string
  /** Of the executable: SHA-256 of the ripgrep in it. */
  ripgrep?: string
  payloadSize: number
  /** Of the code caches. */
  platform: string
  first: Script
  /** By target (`linux-x64`, `linuxmusl-arm64`, `darwin-arm64`, …), compressed with zstd; `sha256` is that of the uncompressed addon. */
  addons: Readonly<Record<string, Readonly<{ block: Block; sha256: string }>>>
  /** The table of everything else. */
  contents: Block
}>
type Contents = Readonly<{
  /** Each with the names of its parts. */
  scripts: readonly (Script & Readonly<{ parts: readonly string[] }>)[]
  /** CommonJS, compressed with zstd. */
  worker: Block
  /** The same, for the text of documents. */
  documentWorker: Block
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

/** A script with its name. */
export type Code = { script: string; code: string; compiled: Buffer | undefined }

/** A native file. `read` is called only when no earlier start has unpacked it. */
export type PackedFile = Readonly<{ sha256: string; read(): Buffer }>

export type Packed = Readonly<{
  version: string
  /** Only of the executable on Linux. */
  libc: string | undefined
  /** Of the executable: the program for searches. */
  ripgrep: PackedFile | undefined
  /** For `build/launch.mjs`: the script with the parts of the server that every start loads. */
  first(): Code
  /** The script with another part; undefined when there is none of this name. */
  server(name: string): Code | undefined
  /** CommonJS text for `new Worker(text, { eval: true })`. */
  searchWorker(): string
  documentWorker(): string
  /** By target. */
  addons: Readonly<Record<string, PackedFile>>
  assets: AssetTable
}>

/** Passed by the launcher to the code it runs. */
declare const PACKED: Packed | undefined

/** The smallest `chunkSize` of zlib. */
const MIN_CHUNK = 64

/** After the payload, the bundle ends with the end of the comment that contains it. */
const TRAILER = '*/\n'.length

/** Of base64: whole groups of four characters. */
const PIECE = 64 * 1024

/** Returns a reader of the payload's bytes. The file stays open, so that replacing it with a new build does not affect this process. */
const openPayload = (payloadSize: number, selfUrl: string): ((block: Block) => Buffer) => {
  // Resolved at run time: an older Node without the module must get as far as the version check.
  const sea = process.getBuiltinModule('node:sea')
  if (sea.isSea()) {
    const payload = Buffer.from(sea.getRawAsset('payload'))
    return ({ at, size }) => Buffer.from(payload.toString('latin1', at, at + size), 'base64')
  }
  const fd = openSync(fileURLToPath(selfUrl), 'r')
  const start = fstatSync(fd).size - TRAILER - payloadSize
  // Memory that is new takes longer than what is done with it, so the text is read in pieces.
  const text = Buffer.allocUnsafeSlow(PIECE)
  return ({ at, size }) => {
    const bytes = Buffer.allocUnsafe(Math.ceil(size / 4) * 3)
    let length = 0
    for (let from = 0; from < size; from += PIECE) {
      const count = readSync(fd, text, 0, Math.min(PIECE, size - from), start + at + from)
      if (count < Math.min(PIECE, size - from)) throw new Error('The program file is cut off.')
      length += bytes.write(text.toString('latin1', 0, count), length, 'base64')
    }
    return bytes.subarray(0, length)
  }
}

/** Each encoding is read, decompressed or gzipped on first use, and then kept. A class, because there are hundreds of them. */
class LazyAsset implements Asset {
  readonly type: string
  readonly etag: string
  readonly immutable: boolean
  readonly #file: PackedAsset
  readonly #read: (block: Block) => Buffer
  readonly #cache: { raw?: Buffer; br?: Buffer; gzip?: Buffer } = {}

  constructor(file: PackedAsset, read: (block: Block) => Buffer) {
    this.type = file.type
    this.etag = file.etag
    this.immutable = file.immutable
    this.#file = file
    this.#read = read
  }

  get br(): Buffer | undefined {
    const { br } = this.#file
    if (br) this.#cache.br ??= this.#read(br)
    return this.#cache.br
  }

  get raw(): Buffer {
    const { raw } = this.#file
    this.#cache.raw ??= raw ? this.#read(raw) : zlib.brotliDecompressSync(this.br ?? '')
    return this.#cache.raw
  }

  /** For those that compress. */
  get gzip(): Buffer | undefined {
    if (!this.#file.br) return undefined
    this.#cache.gzip ??= zlib.gzipSync(this.raw, { level: 9 })
    return this.#cache.gzip
  }
}

/** A code cache is for one platform; whether a C library is glibc or musl makes no difference to it. */
export const codePlatform = (): string => `${process.platform}-${process.arch}`

/** Whether this is the single executable with its own Node. */
export const isExecutable = (): boolean => process.getBuiltinModule('node:sea')?.isSea() === true

/** What this file contains; undefined when running from sources. */
export const packedHere = (): Packed | undefined =>
  typeof PACKED === 'undefined' ? undefined : PACKED

/** Opens the payload of the file at `selfUrl`. */
export const openPacked = (text: string, selfUrl: string): Packed => {
  const packing: Packing = JSON.parse(text)
  const readBlock = openPayload(packing.payloadSize, selfUrl)
  const read = (block: Block): Buffer => {
    const bytes = readBlock(block)
    // The file may have been overwritten in place: never return data of another version.
    if (zlib.crc32(bytes) !== block.crc32) {
      throw new Error('The program file was changed while it was running. Restart it.')
    }
    return bytes
  }
  const unpack = (block: Block): Buffer => zlib.zstdDecompressSync(read(block))
  /** In one piece, which takes half the time. */
  const unpackWhole = (block: SizedBlock): Buffer =>
    zlib.zstdDecompressSync(read(block), { chunkSize: Math.max(block.bytes, MIN_CHUNK) })
  const hasCaches = packing.platform === codePlatform()
  const codeOf = ({ name, code, compiled }: Script): Code => ({
    script: name,
    code: unpackWhole(code).toString('latin1'),
    compiled: hasCaches && compiled ? unpackWhole(compiled) : undefined,
  })
  let cache: Contents | undefined
  const contents = (): Contents => {
    cache ??= JSON.parse(unpack(packing.contents).toString())
    return cache as Contents
  }
  let scripts: Map<string, Script> | undefined
  let assets: AssetTable | undefined
  return {
    version: packing.version,
    libc: packing.libc,
    ripgrep:
      packing.ripgrep === undefined
        ? undefined
        : {
            sha256: packing.ripgrep,
            read: () => Buffer.from(process.getBuiltinModule('node:sea').getRawAsset('rg')),
          },
    first: () => codeOf(packing.first),
    server(name) {
      scripts ??= new Map(
        contents().scripts.flatMap(script => script.parts.map(part => [part, script])),
      )
      const script = scripts.get(name)
      return script && codeOf(script)
    },
    searchWorker: () => unpack(contents().worker).toString('latin1'),
    documentWorker: () => unpack(contents().documentWorker).toString('latin1'),
    addons: Object.fromEntries(
      Object.entries(packing.addons).map(([target, { block, sha256 }]) => [
        target,
        { sha256, read: () => unpack(block) },
      ]),
    ),
    get assets() {
      assets ??= new Map(contents().assets.map(file => [file.path, new LazyAsset(file, read)]))
      return assets
    },
  }
}
