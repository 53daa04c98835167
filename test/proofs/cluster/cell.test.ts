/** What a service without a cluster loads and runs: nothing of it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { launch } from '../../../build/start-program.ts'
import { createClient } from '../../_http.ts'

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

const CLUSTER = /\/lib\/cluster\/|\/node_modules\/pg\b|\/(?:worker|forward|cell)[^/]*$/

/** As V8 counts them (`NODE_V8_COVERAGE`), without what runs when a module is loaded. */
type Coverage = {
  result: { url: string; functions: { functionName: string; ranges: { count: number }[] }[] }[]
}

const functionsRun = (dir: string): string[] =>
  readdirSync(dir).flatMap(name => {
    const { result }: Coverage = JSON.parse(readFileSync(join(dir, name), 'utf8'))
    return result
      .filter(({ url }) => CLUSTER.test(url))
      .flatMap(({ url, functions }) =>
        functions
          .filter(({ functionName, ranges }) => functionName && ranges[0]?.count)
          .map(({ functionName }) => `${nameOf(url)} ${functionName}`),
      )
  })

const nameOf = (url: string): string => url.replace(/^.*\/lib\//, 'lib/')

test('without a database of a cluster, nothing of it is loaded but the case of one machine, and nothing is run', async () => {
  const home = mkdtempSync(join(tmpdir(), 'alone-'))
  const [hook, loaded, coverage] = [join(home, 'hook.mjs'), join(home, 'loaded'), join(home, 'run')]
  writeFileSync(hook, HOOK)
  const { child, exited, waitForOutput, output } = launch(
    process.execPath,
    ['--import', hook, SERVICE, '--no-browser'],
    { home, env: { LOADED: loaded, NODE_V8_COVERAGE: coverage } },
  )
  try {
    await waitForOutput(' answers at ')
    const [, url = ''] = / answers at (\S+?)\/?\s/.exec(output()) ?? []
    const { post, get, closeClient } = createClient(() => url)
    const made = await post('/api/session/new', {})
    assert.is(made.status, 200)
    await get('/api/sessions')
    closeClient()
  } finally {
    child.kill('SIGTERM')
    await exited
  }
  const urls = readFileSync(loaded, 'utf8').trim().split('\n')
  assert.ok(urls.some(url => url.endsWith('/lib/start.ts')))
  assert.equal(
    urls
      .filter(url => CLUSTER.test(url))
      .map(nameOf)
      .toSorted(),
    [
      'lib/app/cell-disk.ts',
      'lib/app/cell.ts',
      'lib/app/worker-cell.ts',
      'lib/cluster/alone.ts',
      'lib/http/forwarded-headers.ts',
      'lib/http/forwarded-only.ts',
    ],
  )
  // What asks whether there is a cluster, once at the start and the end: no request and no event passes through any of it.
  assert.equal(functionsRun(coverage).toSorted(), [
    'lib/app/cell-disk.ts #stop',
    'lib/app/cell-disk.ts <instance_members_initializer>',
    'lib/app/cell-disk.ts CellDisk',
    'lib/app/cell-disk.ts close',
    'lib/app/cell-disk.ts get #limit',
    'lib/app/cell-disk.ts start',
    'lib/app/cell.ts clusterAddress',
    'lib/app/cell.ts forOwnCell',
    'lib/app/cell.ts ownCell',
    'lib/app/cell.ts responseHold',
    'lib/app/worker-cell.ts <instance_members_initializer>',
    'lib/app/worker-cell.ts Activity',
    'lib/app/worker-cell.ts of',
    'lib/cluster/alone.ts announce',
    'lib/cluster/alone.ts release',
  ])
  rmSync(home, { recursive: true, force: true })
})

test.run()
