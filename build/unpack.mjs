/** A thread of install.mjs: unpacks archives of packages into the folder `workerData`. Runs on any Node. */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parentPort, workerData as folder } from 'node:worker_threads'
import { gunzipSync } from 'node:zlib'
import { isUnread } from './unneeded.mjs'

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

/** Is answered with what went wrong, or with nothing. */
parentPort.on('message', ({ path, checksum, archive }) => {
  try {
    if (createHash('sha512').update(archive).digest('base64') !== checksum)
      throw new Error('its checksum differs')
    unpack(archive, path)
    parentPort.postMessage({})
  } catch (error) {
    parentPort.postMessage({ problem: error.message })
  }
})
