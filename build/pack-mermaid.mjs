/**
 * `npm run mermaid -- VERSION`: makes build/mermaid.tgz, from which npm installs `mermaid`, and writes its checksum into package-lock.json.
 * The package of the registry is 128 MB and needs a hundred others; this is the one of its five builds that has them in it, without source
 * maps (docs/decisions/0011-plain-npm.md).
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './files.mjs'

const BUILD = 'dist/mermaid.esm.min.mjs'
const CHUNKS = 'dist/chunks/mermaid.esm.min'

/**
 * mermaid's optional ELK layout is under the Eclipse Public License, which requires more of distributors than the MIT
 * license of this program: it is left out, and a diagram that needs it is shown as source.
 */
const ELK = /^elk-\w+\.mjs$/
const WITHOUT_ELK = 'throw new Error("The ELK layout is not included")\n'

/** `elkjs` is left out; `khroma` (MIT) names its license only in a file. */
const LICENSE_KNOWN = ['node_modules/elkjs', 'node_modules/khroma']
const PERMISSIVE = /\b(?:MIT|ISC|BSD|0BSD|Apache-2\.0|Unlicense|CC0-1\.0)\b/

const [wanted] = process.argv.slice(2)
if (!wanted) throw new Error('Usage: npm run mermaid -- VERSION')

const work = mkdtempSync(join(tmpdir(), 'agent-webui-mermaid-'))
const npm = (cwd, ...words) =>
  execFileSync('npm', [...words, '--silent'], { cwd, encoding: 'utf8' }).trim()
const from = (...path) => join(work, 'node_modules/mermaid', ...path)
const to = (...path) => join(work, 'packed', ...path)

try {
  writeFileSync(join(work, 'package.json'), '{}')
  npm(work, 'install', '--ignore-scripts', `mermaid@${wanted}`)
  const { packages } = JSON.parse(readFileSync(join(work, 'package-lock.json'), 'utf8'))
  const strict = Object.entries(packages).filter(
    ([path, { license = '' }]) =>
      path !== '' && !LICENSE_KNOWN.includes(path) && !PERMISSIVE.test(license),
  )
  if (strict.length > 0) throw new Error(`License: ${strict.map(([path]) => path)}`)

  for (const path of ['LICENSE', BUILD]) cpSync(from(path), to(path))
  for (const name of readdirSync(from(CHUNKS)).filter(each => each.endsWith('.mjs'))) {
    cpSync(from(CHUNKS, name), to(CHUNKS, name))
    if (ELK.test(name)) writeFileSync(to(CHUNKS, name), WITHOUT_ELK)
  }
  const { name, version, license } = JSON.parse(readFileSync(from('package.json'), 'utf8'))
  const manifest = { name, version, license, type: 'module', exports: `./${BUILD}` }
  writeFileSync(to('package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  cpSync(join(work, npm(work, 'pack', './packed')), join(root, 'build/mermaid.tgz'))
  npm(root, 'install', '--package-lock-only', './build/mermaid.tgz')
} finally {
  rmSync(work, { recursive: true })
}
