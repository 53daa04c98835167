/** A service with the sandbox on: its commands run inside, unasked, and its own files are not visible. Real bubblewrap. */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { reason } from '../lib/commands/sandbox/_sandbox.ts'
import { startApp } from '../_app.ts'
import { startChat } from './_chat.ts'
import { tempDir } from '../_temp-dir.ts'

const sandboxed = suite('sandbox of the service')
const test = reason === null ? sandboxed : sandboxed.skip

test('commands run inside and unasked; the files of the service are not there', async () => {
  await using chat = await startChat()
  appendFileSync(join(chat.app.home, 'config.yaml'), 'sandbox: true\n')
  const id = await chat.newSession()
  const { workspace } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
  const path = `'${chat.app.home}/config' + '.yaml'`
  const command = `echo x > made; node -e "console.log('home', require('fs').existsSync(${path}))"`
  chat.provider.push({ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'ok' })
  const seen = await chat.turn(id, 'go')
  assert.not.ok(seen.some(({ event }) => event === 'approval'))
  const [result] = (await chat.messages(id)).filter(({ role }) => role === 'tool')
  assert.match(JSON.parse(String(result?.content)).output, 'home false')
  assert.ok(existsSync(join(workspace, 'made')))
})

test('a card says where its command ran, and an approval where it would run', async () => {
  await using chat = await startChat()
  const { app, provider } = chat
  appendFileSync(join(app.home, 'config.yaml'), 'sandbox: true\n')
  const id = await chat.newSession()
  const run = (id: string, args: object, name = 'terminal') => ({
    id,
    name,
    arguments: { ...args },
  })
  const code = 'print(terminal("echo x", access="unconfined"))'
  provider.push(
    {
      toolCalls: [
        run('inside', { command: 'echo x' }),
        run('outside', { command: 'echo x', access: 'unconfined' }),
        run('script', { code }, 'execute_code'),
        run('denied', { command: 'echo y', access: 'unconfined' }),
        run('file', { path: 'none' }, 'read_file'),
      ],
    },
    { text: 'ok' },
  )
  const asked: unknown[] = []
  const stream = await chat.send(id, 'go')
  for await (const { event, data } of app.events(`/api/chat/stream?stream_id=${stream}&after=0`)) {
    if (event === 'approval') {
      const { approval_id, runs_in, command } = data as Record<string, string>
      asked.push(runs_in)
      const choice = command === 'echo y' ? 'deny' : 'once'
      await app.post('/api/approval/respond', { session_id: id, approval_id, choice })
    }
    if (event === 'stream_end') break
  }
  assert.equal(asked, ['outside', 'outside', 'outside'])
  const results = (await chat.messages(id)).filter(({ role }) => role === 'tool')
  assert.equal(Object.fromEntries(results.map(each => [each.tool_call_id, each._ran_in ?? null])), {
    inside: 'sandbox',
    outside: 'outside',
    // The widest reach of the script and its commands.
    script: 'outside',
    denied: null,
    file: null,
  })
  assert.not.match(JSON.stringify(provider.requests.at(-1)?.body.messages), '_ran_in')
})

const place = async (app: Awaited<ReturnType<typeof startApp>>) =>
  (await app.get('/api/sandbox')).body

sandboxed(
  'where it does not work, it says why, cannot be switched on, and lets no command run',
  async () => {
    await using app = await startApp({ env: { PATH: '/nowhere' } })
    const path = join(app.home, 'config.yaml')
    const off = await place(app)
    assert.equal([off.place, off.problem, off.sandbox.enabled], ['computer', null, 'auto'])
    assert.match(off.sandbox.problem, /bwrap isn't installed.*apt install bubblewrap/)
    const refused = await app.post('/api/sandbox', { enabled: true })
    assert.is(refused.status, 409)
    assert.match(refused.body.error, /bwrap isn't installed/)
    assert.not(existsSync(path))
    writeFileSync(path, 'sandbox: on\n')
    const on = await place(app)
    assert.equal([on.place, on.sandbox.enabled], ['sandbox', true])
    assert.match(on.problem, /bwrap isn't installed/)
    // Leaving it needs no working sandbox.
    assert.is((await app.post('/api/sandbox', { enabled: false })).status, 200)
    assert.equal((await place(app)).place, 'computer')
  },
)

test('the switches keep the comments and other keys of config.yaml', async () => {
  await using app = await startApp()
  const path = join(app.home, 'config.yaml')
  const text =
    '# mine\nsandbox: # walls\n  enabled: false # not yet\n  hidden: [secrets]\nmodel: {}\n'
  writeFileSync(path, text)
  const on = await app.post('/api/sandbox', { enabled: true })
  assert.equal([on.status, on.body.place, on.body.problem], [200, 'sandbox', null])
  assert.is(readFileSync(path, 'utf8'), text.replace('false', 'true'))
  assert.is((await app.post('/api/sandbox', { network: true })).body.sandbox.network, true)
  assert.match(
    readFileSync(path, 'utf8'),
    /# mine[\s\S]*# walls[\s\S]*# not yet[\s\S]*network: true[\s\S]*model/,
  )

  writeFileSync(path, '# mine\nsandbox: true\n')
  const network = await app.post('/api/sandbox', { network: true })
  assert.equal(network.body.sandbox, { enabled: true, network: true, problem: null })
  assert.match(readFileSync(path, 'utf8'), /# mine/)

  writeFileSync(path, 'sandbox: [enabled]\n')
  const unclear = await app.post('/api/sandbox', { enabled: true })
  assert.is(unclear.status, 409)
  assert.is(readFileSync(path, 'utf8'), 'sandbox: [enabled]\n')
})

const AUTO = { AGENT_WEBUI_SANDBOX: 'on' }
const here = async (app: Awaited<ReturnType<typeof startApp>>, path: string) =>
  (await app.get(`/api/workspaces/facts?path=${encodeURIComponent(path)}`)).body.commands

test('by default it is on, except in a workspace that it cannot protect', async () => {
  await using app = await startApp({ env: AUTO })
  const shown = await place(app)
  assert.equal([shown.place, shown.sandbox.enabled, shown.problem], ['sandbox', 'auto', null])
  const project = join(app.userHome, 'project')
  mkdirSync(project)
  assert.equal(await here(app, project), {
    place: 'sandbox',
    outside: 'dangerous',
    problem: null,
  })
  const home = await here(app, app.userHome)
  assert.is(home.place, 'computer')
  assert.match(home.problem, 'contains your home directory')
  const off = await app.post('/api/sandbox', { enabled: false })
  assert.equal([off.body.place, off.body.sandbox.enabled], ['computer', false])
  const auto = await app.post('/api/sandbox', { enabled: 'auto' })
  assert.equal([auto.body.place, auto.body.sandbox.enabled], ['sandbox', 'auto'])
})

sandboxed(
  'where it does not work, commands run directly by default, until someone looks again',
  async () => {
    const bin = tempDir('bin')
    const app = await startApp({ env: { ...AUTO, PATH: bin } })
    try {
      const project = join(app.userHome, 'project')
      mkdirSync(project)
      const found = await here(app, project)
      assert.is(found.place, 'computer')
      assert.match(found.problem, /bwrap isn't installed.*apt install bubblewrap/)
      assert.equal((await place(app)).place, 'computer')
      // Installed: the settings look again.
      writeFileSync(join(bin, 'bwrap'), '#!/bin/sh\n', { mode: 0o755 })
      assert.equal((await place(app)).place, 'sandbox')
      // One that stops working is never left.
      rmSync(join(bin, 'bwrap'))
      assert.equal(await here(app, project), {
        place: 'sandbox',
        outside: 'dangerous',
        problem: null,
      })
      const after = await place(app)
      assert.is(after.place, 'sandbox')
      assert.match(after.problem, "bwrap isn't installed")
    } finally {
      await app.close()
      rmSync(bin, { recursive: true })
    }
  },
)

sandboxed(
  'a container is shown with its image and what is wrong with it, and excludes the sandbox',
  async () => {
    await using app = await startApp({ env: { PATH: '/nowhere' } })
    const path = join(app.home, 'config.yaml')
    writeFileSync(path, 'terminal:\n  backend: podman\n  docker_image: test/image\n')
    const shown = await place(app)
    assert.equal(
      [shown.place, shown.container],
      [
        'container',
        { engine: 'podman', image: 'test/image', is_downloaded: false, has_network: true },
      ],
    )
    assert.match(shown.problem, /podman is not installed/)
    const both = await app.post('/api/sandbox', { enabled: true })
    assert.equal([both.status, /only one of them/.test(both.body.error)], [409, true])
    writeFileSync(path, 'terminal:\n  backend: docker\n  docker_network: maybe\n')
    const unclear = await place(app)
    assert.is(unclear.container.image, null)
    assert.match(unclear.problem, /docker_network/)
    writeFileSync(path, 'terminal:\n  backend: ssh\n')
    assert.match((await place(app)).problem, /terminal\.backend/)
  },
)

sandboxed.run()
