/** The agent's notes over HTTP, with real files that others write as well. */
import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { startChat } from './_chat.ts'

const test = suite<{ app: TestApp; notes: string }>('memory over HTTP')
test.before.each(async context => {
  context.app = await startApp()
  context.notes = join(context.app.home, 'memories')
})
test.after.each(({ app }) => app.close())

const put = (dir: string, name: string, text: string) => {
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, name), text)
}

test('a rejected request writes nothing', async ({ app, notes }) => {
  const cases: [body: Record<string, unknown>, sentence: string][] = [
    [{}, 'Missing required field(s): section, content'],
    [{ section: 'memory' }, 'Missing required field(s): content'],
    [{ section: 'memory', content: '' }, 'Missing required field(s): content'],
    [{ content: 'a' }, 'Missing required field(s): section'],
    [{ section: 'agents', content: 'a' }, 'section must be "memory", "user" or "soul"'],
    [{ section: '../../x', content: 'a' }, 'section must be "memory", "user" or "soul"'],
    [{ section: 'memory', content: 5 }, 'content must be text'],
    [{ section: 'memory', content: 'a', expected_mtime: 'x' }, 'expected_mtime must be a number'],
  ]
  for (const [body, sentence] of cases) {
    const answer = await app.post('/api/memory/write', body)
    assert.equal(
      [answer.status, answer.body],
      [
        400,
        {
          error: sentence,
          code: sentence.startsWith('Missing') ? 'missing_fields' : 'invalid_request',
        },
      ],
    )
  }
  const long = await app.post('/api/memory/write', {
    section: 'memory',
    content: 'x'.repeat(1_000_001),
  })
  assert.is(long.status, 400)
  assert.not.ok(existsSync(notes))
})

test('contract 1.13: empty, written, read, and changed by another program', async ({
  app,
  notes,
}) => {
  const before = (await app.get('/api/memory')).body
  assert.equal(
    [before.memory, before.user, before.soul, before.memory_mtime, before.user_mtime],
    ['', '', '', null, null],
  )
  assert.is(before.memory_path, join(notes, 'MEMORY.md'))
  assert.is(before.user_path, join(notes, 'USER.md'))

  const text = 'Uses pnpm.\n§\nDeploys on Fridays – never.'
  const wrote = await app.post('/api/memory/write', { section: 'memory', content: text })
  assert.equal([wrote.body.ok, wrote.body.section], [true, 'memory'])
  assert.is(wrote.body.path, join(notes, 'MEMORY.md'))
  assert.is(readFileSync(wrote.body.path, 'utf8'), text)
  assert.is(statSync(wrote.body.path).mode & 0o077, 0)
  await app.post('/api/memory/write', { section: 'soul', content: 'Be brief.' })
  assert.is(readFileSync(join(app.home, 'SOUL.md'), 'utf8'), 'Be brief.')

  put(notes, 'USER.md', 'Is called Ada.')
  const after = (await app.get('/api/memory')).body
  assert.equal([after.memory, after.user, after.soul], [text, 'Is called Ada.', 'Be brief.'])
  assert.is(after.memory_mtime, wrote.body.mtime)
  assert.is(after.memory_version, wrote.body.version)
  assert.equal(
    readdirSync(notes).filter(name => name.endsWith('.tmp')),
    [],
  )
})

test('rejects a write based on an outdated version with the current text (409)', async ({
  app,
  notes,
}) => {
  put(notes, 'MEMORY.md', 'one')
  const { memory_version, memory_mtime, user_mtime } = (await app.get('/api/memory')).body
  put(notes, 'MEMORY.md', 'written by the agent')
  for (const expected of [{ expected_version: memory_version }, { expected_mtime: null }]) {
    const answer = await app.post('/api/memory/write', {
      section: 'memory',
      content: 'mine',
      ...expected,
    })
    assert.is(answer.status, 409)
    assert.is(answer.body.content, 'written by the agent')
    assert.is(readFileSync(join(notes, 'MEMORY.md'), 'utf8'), 'written by the agent')
    const again = { section: 'memory', content: 'mine', expected_version: answer.body.version }
    assert.is((await app.post('/api/memory/write', again)).status, 200)
    put(notes, 'MEMORY.md', 'written by the agent')
  }
  assert.is(user_mtime, null)
  assert.is(
    (
      await app.post('/api/memory/write', {
        section: 'memory',
        content: 'b',
        expected_mtime: memory_mtime - 60,
      })
    ).status,
    409,
  )
  const free = { section: 'user', content: 'first', expected_mtime: null }
  assert.is((await app.post('/api/memory/write', free)).status, 200)
  const { user_mtime: now } = (await app.get('/api/memory')).body
  // An empty note is meant only by who says what was there before.
  const clear = { section: 'user', content: '', expected_mtime: now }
  assert.is((await app.post('/api/memory/write', clear)).status, 200)
  assert.is((await app.get('/api/memory')).body.user, '')
})

test('size limits are reported from the configuration, not enforced', async ({ app }) => {
  const limits = async () => {
    const { memory_char_limit, user_char_limit } = (await app.get('/api/memory')).body
    return [memory_char_limit, user_char_limit]
  }
  assert.equal(await limits(), [2_200, 1_375])
  put(app.home, 'config.yaml', 'memory: {memory_char_limit: 50, user_char_limit: many}\n')
  assert.equal(await limits(), [50, 1_375])
  const long = { section: 'memory', content: 'x'.repeat(60) }
  assert.is((await app.post('/api/memory/write', long)).status, 200)
})

test('shows redacted text and never writes it back', async ({ app, notes }) => {
  const secret = `sk-${'a1b2c3d4'.repeat(4)}`
  put(notes, 'MEMORY.md', `The key is ${secret}.`)
  const { memory, memory_version: expected_version } = (await app.get('/api/memory')).body
  assert.not.match(memory, secret)
  const content = `${memory}\n§\nAnd more.`
  const body = { section: 'memory', content, expected_version }
  assert.is((await app.post('/api/memory/write', body)).status, 200)
  assert.is(readFileSync(join(notes, 'MEMORY.md'), 'utf8'), `The key is ${secret}.\n§\nAnd more.`)
  const late = await app.post('/api/memory/write', { ...body, content: 'x' })
  assert.is(late.status, 409)
  assert.not.match(late.text, secret)
})

test('a writer waits for the command line’s lock', async ({ app, notes }) => {
  put(notes, 'MEMORY.md', 'before')
  const lock = join(notes, 'MEMORY.md.lock')
  const agent = spawn('flock', [lock, 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] })
  agent.stdin.write('x')
  await new Promise(resolve => agent.stdout.once('data', resolve))
  const { memory_version: expected_version } = (await app.get('/api/memory')).body
  const writing = app.post('/api/memory/write', {
    section: 'memory',
    content: 'page',
    expected_version,
  })
  // A writer that waited for the lock sees what the agent wrote under it.
  put(notes, 'MEMORY.md', 'agent')
  agent.stdin.end()
  assert.is((await writing).status, 409)
  assert.is(readFileSync(join(notes, 'MEMORY.md'), 'utf8'), 'agent')
})

test('two browsers on two profiles have separate notes; a linked note stays a link', async ({
  app,
}) => {
  const work = join(app.home, 'profiles', 'work')
  put(join(work, 'memories'), 'MEMORY.md', 'work notes')
  const headers = { Cookie: 'agent_profile=work' }
  assert.is((await app.get('/api/memory', { headers })).body.memory, 'work notes')
  assert.is((await app.get('/api/memory')).body.memory, '')
  put(app.userHome, 'user.md', 'linked')
  symlinkSync(join(app.userHome, 'user.md'), join(work, 'memories', 'USER.md'))
  await app.post('/api/memory/write', { section: 'user', content: 'mine' }, { headers })
  assert.is(readFileSync(join(app.userHome, 'user.md'), 'utf8'), 'mine')
  assert.is((await app.get('/api/memory')).body.user, '')
  await app.restart()
  assert.is((await app.get('/api/memory', { headers })).body.user, 'mine')
})

test('notes are sent to the model of their own profile, unless disabled in the configuration', async () => {
  await using chat = await startChat({ text: 'One.' }, { text: 'A title' }, { text: 'Two.' })
  const dir = join(chat.app.home, 'memories')
  put(dir, 'MEMORY.md', 'Builds with pnpm.')
  put(dir, 'USER.md', 'Is called Ada.')
  put(join(chat.app.home, 'profiles', 'work', 'memories'), 'MEMORY.md', 'a secret of work')
  const id = await chat.newSession()
  await chat.turn(id, 'hello')
  const prompt = (at: number): string => chat.provider.requests[at]?.body.messages[0].content
  assert.match(prompt(0), /earlier conversations:\nBuilds with pnpm\./)
  assert.match(prompt(0), 'Is called Ada.')
  assert.not.match(prompt(0), 'a secret of work')
  const config = join(chat.app.home, 'config.yaml')
  const off = 'memory: {memory_enabled: off, user_profile_enabled: true}\n'
  writeFileSync(config, readFileSync(config, 'utf8') + off)
  await chat.turn(id, 'again')
  const last = chat.provider.requests.length - 1
  assert.not.match(prompt(last), 'Builds with pnpm.')
  assert.match(prompt(last), 'Is called Ada.')
})

test.run()
