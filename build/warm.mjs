/** Runs a packed file once and saves the V8 code cache of each script that ran, in a directory: `node warm.mjs FILE PACKING OUT`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { LATE, launch } from './launch.mjs'

const [, , file, packing, out] = process.argv
process.argv = [process.execPath, file, '--no-browser']
const scripts = launch(readFileSync(packing, 'utf8'), {
  selfUrl: pathToFileURL(file).href,
  selfDirectory: dirname(file),
  require: createRequire(file),
})

const url = `http://127.0.0.1:${process.env.AGENT_WEBUI_PORT}`
const ask = path => fetch(url + path).then(answer => answer.arrayBuffer())

/** Polls /health; the service needs a moment to start. */
const waitForAnswer = async () => {
  for (let i = 0; i < 4_000; i++) {
    try {
      return await ask('/health')
    } catch {
      // Not listening yet.
      await setTimeout(25)
    }
  }
  throw new Error('The packed file does not answer')
}

await waitForAnswer()
// Slower and not wrong, so only tests ask. Packages are for what a home may have.
const loaded = [...scripts.keys()].filter(name => name.startsWith(`${LATE}lib-`))
if (process.env.CHECK_START && loaded.length > 0)
  throw new Error(`A start loads ${loaded.join(', ')}`)
for (const path of ['/', '/api/settings', '/api/sessions?limit=50', '/api/sessions'])
  await ask(path)
mkdirSync(out)
for (const [name, script] of scripts) writeFileSync(join(out, name), script.createCachedData())
process.exit(0)
