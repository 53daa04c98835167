/** Proof: the executable, inside a checkout, offers no update that it could not apply. Built only at full size. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BRIDGE_ARGUMENT } from '../../../lib/commands/sandbox/network-bridge.ts'
import { createClient } from '../../_http.ts'
import { startProgram } from '../../../build/start-program.ts'

const test = suite('executable')

test('inside a checkout the executable responds, and its own update is neither offered nor applied', async () => {
  if (process.env.PROOF !== 'full') {
    console.log('  executable: skipped, building it takes too long; npm run proof -- executable')
    return
  }
  const built = spawnSync(process.execPath, ['build.mjs', '--exe', '--quiet'], { encoding: 'utf8' })
  assert.is(built.status, 0, built.stderr)
  const home = mkdtempSync(join(tmpdir(), 'executable-'))
  const program = await startProgram(join(process.cwd(), 'dist/agent-webui'), ['--no-browser'], {
    home,
  })
  const { closeClient, get, post } = createClient(() => program.url)
  assert.is((await get('/api/updates/check')).body.webui, null)
  const { body } = await post('/api/updates/apply', { target: 'webui' })
  assert.equal([body.ok, body.message], [false, 'Not a git repository'])
  assert.is((await get('/health')).status, 200)
  const doctor = spawnSync(join(process.cwd(), 'dist/agent-webui'), ['doctor', '--json'], {
    encoding: 'utf8',
    env: { HOME: home, PATH: '' },
  })
  const { checks } = JSON.parse(doctor.stdout)
  assert.is(checks.find(({ about }: { about: string }) => about === 'search').level, 'ok')
  closeClient()
  assert.is(await program.stop(), 0)
  // It takes no code as an argument, so the bridge of sandboxes is a part of it.
  const bridge = spawn(join(process.cwd(), 'dist/agent-webui'), [BRIDGE_ARGUMENT])
  await once(bridge.stdout.resume(), 'end')
  await once(connect(28_128, '127.0.0.1'), 'connect')
  bridge.kill('SIGKILL')
  rmSync(home, { recursive: true, force: true })
})

test.run()
