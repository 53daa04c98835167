/** Writes and reads tar archives as streams (tar-stream), with times in milliseconds. */
import { type Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import tar from 'tar-stream'
import { fromSeconds, toSeconds } from '../../base/clock.ts'

export type TarHeader = {
  path: string
  type: 'file' | 'directory' | 'link'
  mode: number
  mtimeMs: number
  /** Of a file. */
  size: number
  /** Of a link. */
  target: string | null
}

/** The extended header: ustar has whole seconds only. */
const paxOf = (mtimeMs: number) => ({ mtime: toSeconds(mtimeMs).toFixed(6) })

const TYPES = { file: 'file', directory: 'directory', link: 'symlink' } as const

export class TarWriter {
  readonly #pack = tar.pack()
  // streamx has types of its own; Node's pipeline accepts its streams.
  readonly stream: Readable

  constructor() {
    this.stream = this.#pack as unknown as Readable
  }

  /** Resolves when the content was accepted, which has exactly `header.size` bytes. */
  async add(
    { path, type, mode, mtimeMs, size, target }: TarHeader,
    content?: AsyncIterable<Buffer> | Buffer,
  ): Promise<void> {
    const header = {
      name: path,
      type: TYPES[type],
      mode: mode & 0o777,
      mtime: new Date(mtimeMs),
      size,
      pax: paxOf(mtimeMs),
      ...(target === null ? {} : { linkname: target }),
    }
    if (content !== undefined && !Buffer.isBuffer(content) && size > 0)
      await pipeline(Readable.from(content, { objectMode: true }), this.#pack.entry(header))
    else
      await new Promise<void>((resolve, reject) => {
        const bytes = Buffer.isBuffer(content) ? content : ''
        this.#pack.entry(header, bytes, error => (error ? reject(error) : resolve()))
      })
  }

  end(): void {
    this.#pack.finalize()
  }
}

const NAMES: Readonly<Record<string, TarHeader['type']>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  symlink: 'link',
}

export type TarEntry = {
  /** `type` is null for a device, a pipe, a hard link, and everything else that no backup has. */
  header: Omit<TarHeader, 'type'> & { type: TarHeader['type'] | null }
  /** Must be read to its end. */
  content: AsyncIterable<Buffer>
}

/** Reads the entries of an archive, which `unpack` decompresses. Throws when it is cut off or damaged. */
export async function* readTar(source: Readable, unpack?: Duplex): AsyncGenerator<TarEntry> {
  const extract = tar.extract()
  // Its error reaches the loop below through `extract`, which it destroys.
  const fed = unpack ? pipeline(source, unpack, extract) : pipeline(source, extract)
  const failed = fed.then(
    () => undefined,
    (error: unknown) => error,
  )
  try {
    for await (const entry of extract) {
      const { header } = entry
      const { name, type, mode = 0o600, mtime, size = 0, linkname } = header
      const { pax } = header as { pax?: Record<string, string> }
      const seconds = Number(pax?.mtime)
      yield {
        header: {
          path: name.replace(/\/$/, ''),
          type: NAMES[type ?? ''] ?? null,
          mode,
          mtimeMs: seconds > 0 ? fromSeconds(seconds) : (mtime?.getTime() ?? 0),
          size,
          target: linkname ?? null,
        },
        content: entry as AsyncIterable<Buffer>,
      }
    }
  } catch (error) {
    throw (await failed) ?? error
  }
  const error = await failed
  if (error) throw error
}
