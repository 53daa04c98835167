/** Proof: the packed npm package, installed into an empty place without a network, starts and answers. Packed only at full size. */
import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createClient } from '../../_http.ts'
import { startProgram } from '../../../build/start-program.ts'

const run = promisify(execFile)
const test = suite('install')

test('npm pack, npm i -g and npx in an empty directory without a network: the service starts and a turn is answered', async () => {
  if (process.env.PROOF !== 'full') {
    console.log('  install: skipped, packing takes too long; npm run proof -- proofs/install')
    return
  }
  const root = mkdtempSync(join(tmpdir(), 'install-'))
  const at = (...path: string[]) => join(root, ...path)
  for (const name of ['home', 'empty']) mkdirSync(at(name))
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  await run(process.execPath, ['build.mjs', '--package', '--fast', '--quiet'])
  const packed = `agent-webui-${version}.tgz`
  copyFileSync(join('dist', packed), at('empty', packed))
  // The Node that runs this first, nothing of this checkout, and no npm cache.
  const PATH = [dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)
  const npm = { npm_config_offline: 'true', npm_config_update_notifier: 'false' }
  const options = { cwd: at('empty'), env: { HOME: at('home'), PATH, ...npm } }

  const npx = await run('npx', ['-y', `./${packed}`, '--version'], options)
  assert.match(npx.stdout, /^agent-webui \S+\n/)

  await run('npm', ['install', '--global', '--prefix', at('prefix'), packed], options)
  const folder = at('prefix/lib/node_modules/agent-webui')
  assert.equal(globSync('*.{mjs,js,json}', { cwd: folder }).sort(), [
    'agent-webui.mjs',
    'package.json',
  ])
  // Help and README lead to pages that are there.
  const links = [...readFileSync(join(folder, 'README.md'), 'utf8').matchAll(/\]\(([^):]+)\)/g)]
  assert.ok(links.length > 20)
  for (const [, link = ''] of links) assert.ok(existsSync(join(folder, link)), link)
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  assert.equal([manifest.version, manifest.dependencies], [version, undefined])

  const program = await startProgram(at('prefix/bin/agent-webui'), ['--no-browser'], {
    home: at('home'),
    env: { PATH },
  })
  const { closeClient, get, post } = createClient(() => program.url)
  const { session_id } = (await post('/api/session/new')).body.session
  const answered = await post('/api/chat', { session_id, message: 'hello' })
  assert.is(answered.status, 200, answered.text)
  assert.is((await get('/')).status, 200)
  closeClient()
  assert.is(await program.stop(), 0)
  rmSync(root, { recursive: true, force: true })
})

test.run()
