/** One of the threads of install.mjs: takes the next package until none is left. Runs on any Node. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { workerData } from 'node:worker_threads'
import { gunzipSync } from 'node:zlib'
import { isUnread } from './unneeded.mjs'

const { packages, next, folder, cache } = workerData

const DOWNLOADS = 8
const ANSWER_MS = 10_000

// ── Archives ────────────────────────────────────────────────────────────────────────────────────────────────────────

const BLOCK = 512

const [FILE, OLD_FILE, LONG_NAME, HEADER] = ['0', '\0', 'L', 'x']

/** The files of a tar archive: `{ name, isExecutable, contents }`. Links are skipped, as npm does. */
function* readTar(tar) {
  let longName
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const text = (from, size) =>
      tar.toString('utf8', at + from, at + from + size).replace(/\0.*$/s, '')
    const number = (from, size) => Number.parseInt(text(from, size).trim() || '0', 8)
    const [name, size, prefix] = [text(0, 100), number(124, 12), text(345, 155)]
    const type = String.fromCharCode(tar[at + 156])
    const isExecutable = (number(100, 8) & 0o100) !== 0
    at += BLOCK
    const contents = tar.subarray(at, at + size)
    if (contents.length !== size) throw new Error('the archive is cut off')
    at += Math.ceil(size / BLOCK) * BLOCK
    if (type === LONG_NAME) longName = contents.toString().replace(/\0.*$/s, '')
    else if (type === HEADER) longName = /^\d+ path=(.*)$/m.exec(contents.toString())?.[1]
    else {
      if (type === FILE || type === OLD_FILE)
        yield { name: longName ?? (prefix ? `${prefix}/${name}` : name), isExecutable, contents }
      longName = undefined
    }
  }
}

/** `path`: relative to the folder of all packages. */
const unpack = (archive, path) => {
  const made = new Set()
  for (const { name, isExecutable, contents } of readTar(gunzipSync(archive))) {
    // Everything is in one folder, usually `package`.
    const parts = name.split('/').slice(1)
    if (parts.length === 0 || parts.some(part => part === '' || part === '..'))
      throw new Error(`a file is called ${name}`)
    const file = [path, ...parts].join('/')
    if (isUnread(file)) continue
    const parent = join(folder, dirname(file))
    if (!made.has(parent)) mkdirSync(parent, { recursive: true })
    made.add(parent)
    writeFileSync(join(folder, file), contents, { mode: isExecutable ? 0o777 : 0o666 })
  }
}

// ── Where they are from ─────────────────────────────────────────────────────────────────────────────────────────────

/** npm's cache keeps what it downloaded by checksum. */
const readCached = checksum => {
  const hex = Buffer.from(checksum, 'base64').toString('hex')
  const words = ['_cacache', 'content-v2', 'sha512', hex.slice(0, 2), hex.slice(2, 4), hex.slice(4)]
  const file = join(cache, ...words)
  return existsSync(file) ? readFileSync(file) : undefined
}

/** The time limit is that of the first answer: a large package may take longer. */
const download = async url => {
  if (!url) throw new Error('it is not in the cache, and may not be downloaded')
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), ANSWER_MS)
  const answer = await fetch(url, { signal: late.signal }).finally(() => clearTimeout(timer))
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`)
  return Buffer.from(await answer.arrayBuffer())
}

const install = async ({ path, integrity, url }) => {
  // Others than SHA-512 are not in use any more.
  const [, checksum] = /^sha512-(\S+)$/.exec(integrity ?? '') ?? []
  if (!checksum) throw new Error('it has no checksum')
  const archive = readCached(checksum) ?? (await download(url))
  if (createHash('sha512').update(archive).digest('base64') !== checksum)
    throw new Error('its checksum differs')
  unpack(archive, path)
}

const installNext = async () => {
  for (;;) {
    const work = packages[Atomics.add(next, 0, 1)]
    if (!work) return
    await install(work).catch(error => {
      throw new Error(`${work.path}: ${error.message}`)
    })
  }
}

await Promise.all(Array.from({ length: DOWNLOADS }, installNext))
