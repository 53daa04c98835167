/** Which sources a built file was made from: a hash in its second line, so that an unchanged tree is not built again. Runs on any Node. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'

/** Every file that a build reads is one of these or in one of these, or belongs to a package of package-lock.json. */
const INPUTS = [
  'build',
  'build.mjs',
  'handlers',
  'lib',
  'package-lock.json',
  'package.json',
  'public',
  'router.ts',
  'tsconfig.json',
]

/** `path` is relative to the root, with slashes. */
export const isInput = path => INPUTS.some(input => path === input || path.startsWith(`${input}/`))

/** The tag or commit of this checkout, else what a release or container build wrote into VERSION. */
export const readVersion = async root => {
  if (existsSync(join(root, '.git'))) {
    const words = ['describe', '--tags', '--always', '--dirty']
    const options = { cwd: root, timeout: 3000 }
    const described = await new Promise(resolve =>
      execFile('git', words, options, (error, stdout) => resolve(error ? '' : stdout.trim())),
    )
    if (described) return described
  }
  const path = join(root, 'VERSION')
  return (existsSync(path) && readFileSync(path, 'utf8').trim()) || 'unknown'
}

/** SHA-256 over names, contents and version. Contents and not times: a copy or a checkout changes times only. */
export const hashInputs = async root => {
  // git runs while the files are read.
  const version = readVersion(root)
  const hash = createHash('sha256')
  const add = path => {
    const bytes = readFileSync(join(root, path))
    hash.update(`\0${path}\0${bytes.length}\0`).update(bytes)
  }
  const walk = folder => {
    const entries = readdirSync(join(root, folder), { withFileTypes: true })
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) walk(path)
      else add(path)
    }
  }
  for (const input of INPUTS) (/\.\w+$/.test(input) ? add : walk)(input)
  return hash.update(`\0${await version}`).digest('hex')
}

/** The second line of a built file; the first is its `#!`. */
export const inputsLine = hash => `// Sources: ${hash}`

const HEAD_BYTES = 256

/** Whether this file was built from the sources as they are now. */
export const isCurrent = async (root, file) => {
  if (!existsSync(file)) return false
  const head = Buffer.alloc(HEAD_BYTES)
  const fd = openSync(file, 'r')
  readSync(fd, head)
  closeSync(fd)
  return head.toString('latin1').split('\n')[1] === inputsLine(await hashInputs(root))
}
