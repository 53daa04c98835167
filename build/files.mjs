/** The project's root, and file helpers of the build. */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const root = dirname(import.meta.dirname)

export const sha256 = bytes => createHash('sha256').update(bytes).digest('hex')

/** Of the built file. Named after its target, so that it is never taken for the local build, which `npm start` runs. */
export const builtName = target => (target === undefined ? 'agent-webui' : `agent-webui-${target}`)

/** Replaces by rename: a service running from the old file keeps it open. */
export const replaceFile = (path, contents, mode) => {
  const temporary = `${path}.${process.pid}.tmp`
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(temporary, contents)
  chmodSync(temporary, mode)
  renameSync(temporary, path)
}

/** Caches results between builds: maximum compression is slow and depends on the bytes only. */
export const kept = async (name, bytes, make) => {
  const directory = join(root, 'node_modules', '.cache', 'agent-webui')
  const path = join(directory, `${sha256(bytes)}.${name}`)
  if (existsSync(path)) return readFileSync(path)
  const made = await make()
  replaceFile(path, made, 0o644)
  return made
}
