/** `npm run build [-- --exe] [--fast] [--target=linux-arm64]`: builds dist/agent-webui.mjs, a single file that needs only Node, and with --exe an executable that needs nothing else. */
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from './build/executable.mjs'
import { replaceFile, root } from './build/files.mjs'
import { fileText, pack } from './build/pack.mjs'
import { thisTarget } from './lib/store/sqlite-addon.ts'

const { values } = parseArgs({
  options: {
    target: { type: 'string', default: thisTarget() },
    exe: { type: 'boolean', default: false },
    /** A larger file in less time, for tests. */
    fast: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
})
const { target, exe, fast, quiet } = values
const dist = join(root, 'dist')

try {
  if (exe && target !== thisTarget()) {
    throw new Error(`--exe packs the Node of this machine: it can only be made for ${thisTarget()}`)
  }
  const packed = await pack(target, { fast })
  const file = join(dist, 'agent-webui.mjs')
  replaceFile(file, await fileText(packed), 0o755)
  const made = exe ? [file, await buildExecutable(packed, dist)] : [file]
  for (const path of quiet ? [] : made) {
    const size = (statSync(path).size / 1e6).toFixed(1)
    process.stdout.write(`${relative(root, path)}  ${size} MB\n`)
  }
} catch (error) {
  process.stderr.write(`The build failed: ${error.message}\n`)
  process.exit(1)
}
