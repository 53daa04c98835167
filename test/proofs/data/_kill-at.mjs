/**
 * Preloaded: SIGKILL to this process before the n-th step that changes a file, a name or what a disk has (`KILL_AT`); a write is done
 * by half. A process that ends by itself says on standard error how many steps it made.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const at = Number(process.env.KILL_AT)
let steps = 0

const step = half => {
  steps += 1
  if (steps !== at) return
  half?.()
  process.kill(process.pid, 'SIGKILL')
}

const wrap = (owner, name, half) => {
  const original = owner[name]
  owner[name] = function (...args) {
    step(half && (() => half.call(this, original, args)))
    return original.apply(this, args)
  }
}

const halfOf = data =>
  typeof data === 'string'
    ? data.slice(0, data.length >> 1)
    : Buffer.from(data.buffer, data.byteOffset, data.byteLength >> 1)

wrap(fs, 'writeSync', (write, [fd, data]) => {
  if (fd > 2) write.call(fs, fd, halfOf(data))
})
for (const name of ['writeFileSync', 'appendFileSync'])
  wrap(fs, name, (write, [to, data, ...more]) => write.call(fs, to, halfOf(data), ...more))
for (const name of ['renameSync', 'rmSync', 'unlinkSync', 'rmdirSync', 'mkdirSync', 'linkSync'])
  wrap(fs, name)
for (const name of ['symlinkSync', 'truncateSync', 'ftruncateSync', 'chmodSync', 'fchmodSync'])
  wrap(fs, name)
for (const name of ['utimesSync', 'fsyncSync', 'fdatasyncSync', 'copyFileSync']) wrap(fs, name)
for (const name of ['rename', 'rm', 'mkdir', 'writeFile', 'link']) wrap(fs.promises, name)

const openSync = fs.openSync
fs.openSync = (path, flags, ...more) => {
  const creates = typeof flags === 'string' ? /[wax]/.test(flags) : flags & fs.constants.O_CREAT
  if (creates) step()
  return openSync(path, flags, ...more)
}
const handle = await fs.promises.open(import.meta.filename)
const handles = Object.getPrototypeOf(handle)
await handle.close()
for (const name of ['sync', 'truncate', 'chmod', 'utimes', 'writeFile']) wrap(handles, name)
wrap(handles, 'write')
syncBuiltinESMExports()

process.on('exit', () => process.stderr.write(`steps: ${steps}\n`))
