/** `agent-webui config`: a person confirms settings in a terminal; a program of the agent cannot. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import { spawnApp } from '../../_app.ts'
import { autoApprove } from '../../_auto-approve.ts'
import { createProvider } from '../../_provider.ts'
import { until } from '../../_wait.ts'

const test = suite('config at a terminal')

const run = (home: string, args: readonly string[]) =>
  new Promise<[code: number | null, text: string]>(resolve => {
    const child = spawn(process.execPath, [SERVICE, 'config', ...args], {
      env: programEnv(home, 0),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const texts: string[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => texts.push(String(chunk)))
    child.once('close', code => resolve([code, texts.join('')]))
  })

const OFF = 'approvals:\n  mode: "off"\n'

test('shows what waits, accepts it in a running service, and restores', async () => {
  const app = await spawnApp()
  const file = join(app.home, 'config.yaml')
  const waits = async () => (await app.get('/api/config/problems')).body.changed !== null
  try {
    assert.match((await run(app.userHome, []))[1], /Nothing waits/)
    writeFileSync(file, OFF)
    assert.ok(await waits())
    const [code, text] = await run(app.userHome, [])
    assert.is(code, 0)
    assert.match(text, /approvals\.mode\n {2}in force: nothing\n {2}in the file: "off"/)
    assert.ok(await waits())
    assert.is((await run(app.userHome, ['accept']))[0], 0)
    await until(async () => !(await waits()), 'the service reads what was accepted')
    writeFileSync(file, `${OFF}command_allowlist: [a]\n`)
    assert.ok(await waits())
    assert.is((await run(app.userHome, ['restore']))[0], 0)
    assert.not.match(readFileSync(file, 'utf8'), /allowlist/)
    assert.is((await run(app.userHome, ['forget']))[0], 2)
  } finally {
    await app.close()
  }
})

test('rejects programs started by the agent, even with a changed environment', async () => {
  if (process.platform !== 'linux') return
  const provider = await createProvider()
  const app = await spawnApp()
  try {
    const config = `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`
    const file = join(app.home, 'config.yaml')
    writeFileSync(file, config)
    const { session_id } = (await app.post('/api/session/new', {})).body.session
    const out = join(app.userHome, 'said')
    const command = `printf 'approvals: {mode: "off"}\\n' >>"${file}"; env -i HOME="${app.userHome}" PATH="$PATH" setsid "${process.execPath}" "${SERVICE}" config accept >"${out}" 2>&1; echo $? >>"${out}"`
    provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { text: 'done' },
      { text: 'Title' },
    )
    const stopAnswering = autoApprove(app, session_id)
    const started = await app.post('/api/chat/start', { session_id, message: 'go' })
    for await (const { event } of app.events(
      `/api/chat/stream?stream_id=${started.body.stream_id}`,
    ))
      if (event === 'stream_end') break
    stopAnswering()
    assert.match(readFileSync(out, 'utf8'), /The agent cannot confirm settings.*\n1\n/)
    assert.match(readFileSync(file, 'utf8'), /mode: "off"/)
    assert.ok((await app.get('/api/config/problems')).body.changed)
  } finally {
    await app.close()
    await provider.close()
  }
})

test.run()
