/**
 * Runs a packed file, and says to the process that started it which parts ran and what V8's code caches are: `warm.mjs FILE PACKING`,
 * started by `warm-up.mjs`.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from './launch.mjs'

const [, , file, packing] = process.argv

/** Compiled scripts by name, and the parts that ran since the last question. */
const scripts = new Map()
const ran = []

process.on('message', question =>
  process.send(
    question === 'parts'
      ? ran.splice(0)
      : [...scripts].map(([name, script]) => [name, script.createCachedData()]),
  ),
)
process.argv = [process.execPath, file, '--no-browser']
launch(
  readFileSync(packing, 'utf8'),
  {
    selfUrl: pathToFileURL(file).href,
    selfDirectory: dirname(file),
    require: createRequire(file),
  },
  { onScript: (name, script) => scripts.set(name, script), onPart: name => ran.push(name) },
)
