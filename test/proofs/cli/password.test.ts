/** `agent-webui password`: resets access from a terminal, and is not available to the agent. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { People } from '../../../lib/people/people.ts'
import { acceptSettings, spawnApp } from '../../_app.ts'
import { autoApprove } from '../../_auto-approve.ts'
import { programEnv, SERVICE } from '../../../build/start-program.ts'
import { createProvider } from '../../_provider.ts'
import { createDesk } from '../../lib/cli/_run.ts'

const test = suite('password at a terminal')

/** Runs the command while a server is running. */
const run = (home: string, args: readonly string[], input = '') =>
  new Promise<[code: number | null, text: string]>(resolve => {
    const child = spawn(process.execPath, [SERVICE, 'password', ...args], {
      env: programEnv(home, 0),
      stdio: 'pipe',
    })
    const texts: string[] = []
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', chunk => texts.push(String(chunk)))
    child.once('close', code => resolve([code, texts.join('')]))
    child.stdin.end(input)
  })

test('a running server applies the change: set, changed, damaged and set again, removed', async () => {
  const app = await spawnApp()
  try {
    const login = (password: string) => app.post('/api/auth/login', { password })
    const isOpen = async () => (await app.get('/api/sessions')).status === 200
    assert.ok(await isOpen())
    assert.equal(await run(app.userHome, [], 'correct horse\n'), [
      0,
      'Password set. All browsers have to sign in again.\n',
    ])
    assert.not.ok(await isOpen())
    const first = await login('correct horse')
    assert.is(first.status, 200)
    const headers = { cookie: (first.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    assert.is((await app.get('/api/sessions', { headers })).status, 200)

    assert.is((await run(app.userHome, [], ' another one \r\n'))[0], 0)
    assert.is((await app.get('/api/sessions', { headers })).status, 401)
    assert.is((await login('correct horse')).status, 401)
    assert.is((await login('another one')).status, 200)

    writeFileSync(join(app.state, '.password'), '{')
    rmSync(join(app.state, 'settings.json'))
    await app.stop()
    await app.start()
    assert.is((await login('another one')).status, 503)
    assert.is((await run(app.userHome, [], 'third'))[0], 0)
    assert.is((await login('third')).status, 200)

    rmSync(join(app.state, '.password'))
    assert.not.ok(await isOpen())
    assert.equal(await run(app.userHome, ['--off']), [0, 'Password removed.\n'])
    assert.ok(await isOpen())
  } finally {
    await app.close()
  }
})

test('rejects invalid passwords and arguments without a change', async () => {
  const desk = createDesk()
  try {
    const path = join(desk.home, 'webui', '.password')
    const refused: [string[], object, RegExp][] = [
      [[], { input: '' }, /empty/],
      [[], { input: '  \n' }, /empty/],
      [[], { input: 'x'.repeat(1_025) }, /at most 1,024 characters/],
      [[], { input: 'two\nlines' }, /line breaks/],
      [[], { answers: ['one', 'two'] }, /don’t match/],
      [[], { answers: ['one'] }, /Nothing was changed/],
      [['secret'], {}, /takes no argument/],
      [['--on'], {}, /takes no argument/],
      [['--off'], { env: { AGENT_SESSION_KEY: 'x' } }, /The agent cannot change the password/],
    ]
    for (const [args, given, why] of refused) {
      const { code, err } = await desk.talk(['password', ...args], given)
      assert.is.not(code, 0, String(why))
      assert.match(err, why)
      assert.not.ok(existsSync(path), String(why))
    }
    const people = new People(join(desk.home, 'webui'), assert.unreachable)
    const secret = { secret: 'A', enabled_at: 1, last_step: 1, recovery: [] }
    people.update({ totp: secret })
    assert.is((await desk.talk(['password', '--reset-factors'], {})).code, 0)
    assert.is(people.owner().totp, null)
    const done = await desk.talk(['password'], { answers: ['x'.repeat(1_024), 'x'.repeat(1_024)] })
    assert.equal([done.code, done.err], [0, ''])
    assert.match(JSON.parse(readFileSync(path, 'utf8')).hash, /^[0-9a-f]{64}$/)
  } finally {
    desk.close()
  }
})

test('rejects programs started by the agent, even with a changed environment', async () => {
  if (process.platform !== 'linux') return
  const provider = await createProvider()
  const app = await spawnApp()
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\napprovals:\n  mode: off\n`,
    )
    await acceptSettings(app)
    assert.is((await run(app.userHome, [], 'correct horse'))[0], 0)
    const before = readFileSync(join(app.state, '.password'), 'utf8')
    const signedIn = await app.post('/api/auth/login', { password: 'correct horse' })
    const headers = { cookie: (signedIn.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    const { session_id } = (await app.post('/api/session/new', {}, { headers })).body.session
    const out = join(app.userHome, 'said')
    const command = `env -i HOME="${app.userHome}" PATH="$PATH" setsid "${process.execPath}" "${SERVICE}" password --off >"${out}" 2>&1; echo $? >>"${out}"`
    provider.push(
      { toolCalls: [{ name: 'terminal', arguments: { command } }] },
      { text: 'done' },
      { text: 'Title' },
    )
    const stopAnswering = autoApprove(app, session_id, headers)
    const started = await app.post('/api/chat/start', { session_id, message: 'go' }, { headers })
    const path = `/api/chat/stream?stream_id=${started.body.stream_id}`
    for await (const { event } of app.events(path, { headers })) if (event === 'done') break
    stopAnswering()
    assert.match(readFileSync(out, 'utf8'), /The agent cannot change the password[\s\S]*\n1\n$/)
    assert.is(readFileSync(join(app.state, '.password'), 'utf8'), before)
  } finally {
    await app.close()
    await provider.close()
  }
})

test.run()
