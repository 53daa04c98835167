/**
 * Runs a packed file, and tells the process that started it which parts ran and what V8 compiled of them: `warm.mjs FILE PACKING`,
 * started by `warm-up.mjs`.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from './launch.mjs'

const [, , file, packing] = process.argv

/** Since the last question: compiled scripts by name, and the parts that ran. */
const scripts = new Map()
const ran = []

process.on('message', () => {
  const caches = [...scripts].map(([name, script]) => [name, script.createCachedData()])
  scripts.clear()
  process.send({ parts: ran.splice(0), caches })
})
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
