/** `npm run build [-- --exe | --package] [--target=linux-arm64]`: builds a single file that needs only Node, with --exe also an executable that needs nothing else, with --package the npm package. */
import { statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from './build/executable.mjs'
import { builtName, replaceFile, root } from './build/files.mjs'
import { fileText, pack } from './build/pack.mjs'
import { buildPackage, PACKAGE_TARGETS } from './build/package.mjs'
import { thisTarget } from './lib/store/unpack-native.ts'

const dist = join(root, 'dist')

const build = async ({ target = thisTarget(), exe, package: isPackage, fast }, name) => {
  if (exe && target !== thisTarget())
    throw new Error(`--exe packs the Node of this machine: it can only be made for ${thisTarget()}`)
  if (isPackage && (exe || name !== 'agent-webui'))
    throw new Error('--package is one file for every platform, without --exe and --target')
  if (isPackage) return [await buildPackage(await pack(PACKAGE_TARGETS, { fast }), dist)]
  const packed = await pack([target], { fast })
  const file = join(dist, `${name}.mjs`)
  replaceFile(file, await fileText(packed), 0o755)
  return exe ? [file, await buildExecutable(packed, join(dist, name))] : [file]
}

// esbuild, which ends with this process, would spend a quarter of its time to free a quarter of its memory.
process.env.GOGC ??= 'off'

try {
  const { values } = parseArgs({
    options: {
      /** Default: this machine. */
      target: { type: 'string' },
      exe: { type: 'boolean', default: false },
      package: { type: 'boolean', default: false },
      /** A larger file in less time, for `npm start` and tests. */
      fast: { type: 'boolean', default: false },
      quiet: { type: 'boolean', default: false },
    },
  })
  const made = await build(values, builtName(values.target))
  for (const path of values.quiet ? [] : made) {
    const size = (statSync(path).size / 1e6).toFixed(1)
    process.stdout.write(`${relative(root, path)}  ${size} MB\n`)
  }
} catch (error) {
  process.stderr.write(`The build failed: ${error.message}\n`)
  process.exit(1)
}
