/** What a service without a cluster loads: nothing of it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { launch } from '../../../build/start-program.ts'

const test = suite('app/cell')

/** Notes each module that is evaluated. */
const HOOK = `
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env.LOADED, url + '\\n')
    return next(url, context)
  },
})
`

/** From the sources, also in a whole run: the hook sees modules, not parts of the built file. */
const SERVICE = join(import.meta.dirname, '../../../router.ts')

const CLUSTER =
  /\/lib\/cluster\/|\/node_modules\/pg\b|\/lib\/cli\/(?:worker|forward|cells)|\/lib\/http\/(?:forwarder|open-upstreams|cells-)|\/lib\/app\/cell-files/

test('without a database of a cluster, nothing of it is loaded but the case of one machine', async () => {
  const home = mkdtempSync(join(tmpdir(), 'alone-'))
  const [hook, loaded] = [join(home, 'hook.mjs'), join(home, 'loaded')]
  writeFileSync(hook, HOOK)
  const { child, exited, waitForOutput } = launch(
    process.execPath,
    ['--import', hook, SERVICE, '--no-browser'],
    { home, env: { LOADED: loaded } },
  )
  try {
    await waitForOutput(' answers at ')
  } finally {
    child.kill('SIGTERM')
    await exited
  }
  const urls = readFileSync(loaded, 'utf8').trim().split('\n')
  assert.ok(urls.some(url => url.endsWith('/lib/start.ts')))
  assert.equal(
    urls.filter(url => CLUSTER.test(url)).map(url => url.replace(/^.*\/lib\//, 'lib/')),
    ['lib/cluster/alone.ts'],
  )
  rmSync(home, { recursive: true, force: true })
})

test.run()
