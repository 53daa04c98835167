/** Programs that tests start many times, as one plain file: a start takes half the CPU time of a start from sources. */
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildSync } from 'esbuild'
import { tempDir } from './_temp-dir.ts'

/** One for all processes of a test run; deleted with it. */
const directory = process.env.TEST_PROGRAMS ?? tempDir('programs')

/** The path of the bundled program; built by the first test file of a run that asks for it. File names must differ. */
export const bundleProgram = (source: string): string => {
  const path = join(directory, `${basename(source, '.ts')}.mjs`)
  if (existsSync(path)) return path
  mkdirSync(directory, { recursive: true })
  // Renamed when complete, because other processes start it.
  const unfinished = `${path}.${process.pid}`
  buildSync({
    entryPoints: [source],
    outfile: unfinished,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    // Packages in CommonJS form.
    banner: {
      js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)",
    },
    logLevel: 'silent',
  })
  renameSync(unfinished, path)
  return path
}
