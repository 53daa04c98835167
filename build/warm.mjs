/**
 * Runs a packed file, and tells the process that started it which parts ran and what V8 compiled of them: `warm.mjs FILE PACKING LAST`,
 * started by `warm-up.mjs`. The names of the parts that its stop needed are in the file LAST, because there is no time for a message.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from './launch.mjs'

const [, , file, packing, last] = process.argv

/** Since the last question: compiled scripts by name, and the parts that ran. */
const scripts = new Map()
const ran = []

const take = () => {
  const caches = [...scripts].map(([name, script]) => [name, script.createCachedData()])
  scripts.clear()
  return { parts: ran.splice(0), caches }
}

/** Up to the first answer, which is followed by work that it did not need. */
let first
const onFinish = () => {
  first = take()
  unsubscribe(FINISHED, onFinish)
}
const FINISHED = 'http.server.response.finish'
subscribe(FINISHED, onFinish)

process.on('message', () => {
  process.send(first ?? take())
  first = undefined
})
process.on('exit', () => writeFileSync(last, JSON.stringify(ran)))
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
