/** Checkpoints over HTTP: list, diff and restore, rejections, and recovery after a kill. */
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spawnApp } from '../../_app.ts'
import { createProvider, gate } from '../../_provider.ts'
import { startChat, types } from '../../handlers/_chat.ts'

const test = suite('rollback')

const call = (name: string, args: Record<string, unknown>, id = `call_${name}`) => ({
  id,
  name,
  arguments: args,
})

/** A session in a workspace of its own. */
const place = async (chat: Awaited<ReturnType<typeof startChat>>) => {
  const dir = join(chat.app.userHome, 'project')
  mkdirSync(dir, { recursive: true })
  await chat.app.post('/api/workspaces/add', { path: dir })
  const { body } = await chat.app.post('/api/session/new', { workspace: dir })
  return { dir, id: String(body.session.session_id) }
}

test('lists, diffs, undoes and redoes a turn with tools and commands', async () => {
  const chat = await startChat()
  chat.enableCheckpoints()
  const { app, provider } = chat
  const { dir, id } = await place(chat)
  const at = (path: string) => join(dir, path)
  writeFileSync(at('a.txt'), 'one\n')
  writeFileSync(at('old.txt'), 'moves\n')
  provider.push(
    {
      toolCalls: [
        call('read_file', { path: 'a.txt' }),
        call('write_file', { path: 'a.txt', content: 'two\n' }),
        call('terminal', { command: 'mv old.txt new.txt && echo b > b.txt' }),
        call('patch', { path: 'a.txt', old_string: 'two', new_string: 'three' }),
      ],
    },
    { text: 'done' },
  )
  const seen = await chat.turn(id, 'change it\nplease')
  assert.not(types(seen).includes('warning'))
  const list = () => app.get(`/api/rollback/list?session_id=${id}`)
  const { body } = await list()
  const [turn] = body.checkpoints
  assert.is(turn.title, 'change it')
  assert.is(turn.workspace, dir)
  assert.match(turn.message_id, /^m\d+$/)
  assert.equal(turn.files, [
    { path: 'a.txt', status: 'modified', added: 1, removed: 1 },
    { path: 'b.txt', status: 'added', added: 1, removed: 0 },
    { path: 'new.txt', old_path: 'old.txt', status: 'renamed', added: 0, removed: 0 },
  ])
  const { checkpoint } = turn
  const diff = (path: string) =>
    app.get(`/api/rollback/diff?session_id=${id}&checkpoint=${checkpoint}&path=${path}`)
  assert.match((await diff('a.txt')).body.diff, '-one\n+three\n')
  assert.is((await diff('nothing')).status, 404)
  assert.is((await diff('../../.env')).status, 404)

  const past = (query: string, session = id) =>
    app.get(`/api/rollback/files?session_id=${session}&checkpoint=${checkpoint}&${query}`)
  const pastFile = (path: string, query: string) =>
    app.get(`/api/rollback/file?session_id=${id}&checkpoint=${checkpoint}&path=${path}&${query}`)
  assert.is((await past('call=nothing')).status, 404)
  assert.is((await past('point=during')).status, 400)
  assert.is((await past('point=before', await chat.newSession())).status, 404)
  assert.is((await pastFile('../../.env', 'point=after')).status, 404)
  const steps = (turn.steps as { calls: string[]; files: string[] }[]).map(step => step.files)
  assert.equal(steps, [['a.txt'], ['b.txt', 'new.txt', 'old.txt'], ['a.txt']])
  const states = (await past('call=call_write_file')).body.files
  assert.equal(states, [
    { path: 'a.txt', state: 'changed' },
    { path: 'b.txt', state: 'later' },
    { path: 'new.txt', state: 'later' },
    { path: 'old.txt', state: 'gone' },
  ])
  assert.is((await pastFile('a.txt', 'call=call_write_file')).body.text, 'two\n')

  const restore = (more: object = {}) =>
    app.post('/api/rollback/restore', { session_id: id, checkpoint, ...more })
  assert.is((await restore({ checkpoint: 'f'.repeat(32) })).status, 404)
  assert.is((await restore({ checkpoint: '../x' })).status, 400)
  const stranger = await chat.newSession()
  assert.is((await restore({ session_id: stranger })).status, 404)
  writeFileSync(at('a.txt'), 'mine\n')
  const refused = await restore()
  assert.equal([refused.status, refused.body.conflicts], [409, ['a.txt']])
  assert.ok(existsSync(at('b.txt')))
  writeFileSync(at('a.txt'), 'three\n')
  const undone = await restore()
  assert.is(undone.body.ok, true)
  assert.is(readFileSync(at('a.txt'), 'utf8'), 'one\n')
  assert.equal([existsSync(at('b.txt')), existsSync(at('old.txt'))], [false, true])
  await restore({ checkpoint: undone.body.checkpoint })
  assert.is(readFileSync(at('a.txt'), 'utf8'), 'three\n')
  assert.ok(existsSync(at('new.txt')))

  // Commands that only look cost nothing and leave nothing; a checkpoint folder is no place for tools.
  const before = (await list()).body.checkpoints.length
  const store = join(app.home, 'checkpoints')
  provider.push(
    { toolCalls: [call('terminal', { command: `ls -la; cat ${store}/*/HEAD` })] },
    { text: 'seen' },
  )
  await chat.turn(id, 'look')
  assert.match(String((await chat.messages(id)).at(-2)?.content), 'denied')
  assert.is((await list()).body.checkpoints.length, before)
  await app.post('/api/session/delete', { session_id: id, permanent: true })
  assert.is((await list()).status, 404)
  await chat.close()
})

test('undoes what the agent changed in its skills', async () => {
  const chat = await startChat()
  chat.enableCheckpoints()
  const { app, provider } = chat
  const { id } = await place(chat)
  const at = (path: string) => join(app.home, 'skills', path)
  const text = (name: string) => `---\nname: ${name}\ndescription: A skill.\n---\nBoil the water.\n`
  for (const name of ['brew', 'gone/tea']) {
    mkdirSync(at(`${name}/references`), { recursive: true })
    writeFileSync(at(`${name}/SKILL.md`), text(name.replace('gone/', '')))
    writeFileSync(at(`${name}/references/a.md`), 'one\n')
  }
  const manage = (action: string, name: string, more: object = {}) =>
    call('skill_manage', { action, name, ...more }, `${action}_${name}`)
  const file = { file_path: 'references/a.md' }
  provider.push(
    {
      toolCalls: [
        manage('create', 'fresh', { content: text('fresh') }),
        manage('patch', 'brew', { old_string: 'Boil', new_string: 'Cool' }),
        manage('write_file', 'brew', { ...file, file_content: 'two\n' }),
        manage('delete', 'tea'),
      ],
    },
    { text: 'done' },
  )
  await chat.turn(id, 'tidy up')
  assert.ok(existsSync(at('fresh/SKILL.md')))
  assert.not(existsSync(at('gone/tea')))
  const { body } = await app.get(`/api/rollback/list?session_id=${id}`)
  const { checkpoint } = body.checkpoints[0]
  const undone = await app.post('/api/rollback/restore', { session_id: id, checkpoint })
  assert.is(undone.status, 200, JSON.stringify(undone.body))
  assert.not(existsSync(at('fresh/SKILL.md')))
  for (const name of ['brew', 'gone/tea']) {
    assert.match(readFileSync(at(`${name}/SKILL.md`), 'utf8'), 'Boil')
    assert.is(readFileSync(at(`${name}/references/a.md`), 'utf8'), 'one\n')
  }
  await chat.close()
})

test('rejected while a turn works there; a stopped turn is recorded; nothing is when disabled', async () => {
  const chat = await startChat()
  chat.enableCheckpoints()
  const { app, provider } = chat
  const { dir, id } = await place(chat)
  provider.push({ toolCalls: [call('write_file', { path: 'a', content: 'a' })] }, { text: 'ok' })
  await chat.turn(id, 'write')
  const list = async () => (await app.get(`/api/rollback/list?session_id=${id}`)).body.checkpoints
  const [{ checkpoint }] = await list()
  const waiting = gate()
  provider.push(
    { toolCalls: [call('terminal', { command: 'echo b > b' })] },
    { text: 'never', gate: waiting.opened },
  )
  const stream = await chat.send(id, 'go on')
  // The title of the first turn is a request, too.
  await provider.arrived(5)
  const busy = await app.post('/api/rollback/restore', { session_id: id, checkpoint })
  assert.is(busy.status, 409)
  assert.ok(existsSync(join(dir, 'a')))
  await app.post('/api/chat/cancel', { stream_id: stream })
  waiting.open()
  const stopped = await list()
  assert.equal(
    stopped[0].files.map(({ path }: { path: string }) => path),
    ['b'],
  )
  const config = join(app.home, 'config.yaml')
  writeFileSync(config, `${readFileSync(config, 'utf8')}checkpoints:\n  enabled: false\n`)
  provider.push({ toolCalls: [call('write_file', { path: 'c', content: 'c' })] }, { text: 'ok' })
  await chat.turn(id, 'off')
  assert.is((await list()).length, stopped.length)
  await chat.close()
})

test('a turn that continues after a kill is undone as a whole', async () => {
  const provider = await createProvider()
  const app = await spawnApp()
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
  const dir = join(app.userHome, 'project')
  mkdirSync(dir)
  writeFileSync(join(dir, 'a'), 'before')
  await app.post('/api/workspaces/add', { path: dir })
  const made = await app.post('/api/session/new', { workspace: dir })
  const id = made.body.session.session_id
  provider.push(
    { toolCalls: [call('terminal', { command: 'echo after > a; echo new > b' })] },
    { text: 'never', end: 'headers' },
    { toolCalls: [call('terminal', { command: 'echo later > a; echo more > c' })] },
    { text: 'done' },
  )
  const { stream_id } = (await app.post('/api/chat/start', { session_id: id, message: 'go' })).body
  await provider.arrived(2)
  await app.kill()
  await app.start()
  for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}&after=0`))
    if (event === 'stream_end') break
  const list = async () => (await app.get(`/api/rollback/list?session_id=${id}`)).body.checkpoints
  const [turn, ...others] = await list()
  assert.equal([turn.interrupted, others], [false, []])
  const done = await app.post('/api/rollback/restore', {
    session_id: id,
    checkpoint: turn.checkpoint,
  })
  assert.is(done.body.ok, true)
  assert.is(readFileSync(join(dir, 'a'), 'utf8'), 'before')
  assert.not(existsSync(join(dir, 'b')))
  assert.not(existsSync(join(dir, 'c')))
  await app.close()
  await provider.close()
})

test('a kill while files are restored: the next message after the restart reports it all the same', async () => {
  const provider = await createProvider()
  const app = await spawnApp()
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
  const dir = join(app.userHome, 'project')
  mkdirSync(dir)
  for (let n = 100; n < 250; n++) writeFileSync(join(dir, `${n}`), 'old')
  await app.post('/api/workspaces/add', { path: dir })
  const made = await app.post('/api/session/new', { workspace: dir })
  const id = made.body.session.session_id
  const say = async (message: string) => {
    const { body } = await app.post('/api/chat/start', { session_id: id, message })
    const path = `/api/chat/stream?stream_id=${body.stream_id}&after=0`
    for await (const { event } of app.events(path)) if (event === 'stream_end') break
  }
  provider.push(
    { toolCalls: [call('terminal', { command: 'for n in *; do echo new > $n; done' })] },
    { text: 'done' },
  )
  await say('go')
  const [turn] = (await app.get(`/api/rollback/list?session_id=${id}`)).body.checkpoints
  const restored = Promise.withResolvers<void>()
  const watcher = watch(dir, () => restored.resolve())
  const undo = app.post('/api/rollback/restore', { session_id: id, checkpoint: turn.checkpoint })
  undo.catch(() => undefined)
  await restored.promise
  watcher.close()
  await app.kill()
  assert.is(
    await undo.then(
      () => 'answered',
      () => 'cut',
    ),
    'cut',
  )
  await app.start()
  provider.push({ text: 'ok' })
  await say('and now?')
  assert.match(
    JSON.stringify(provider.requests.at(-1)?.body.messages),
    'The user undid file changes: 100, 101, ',
  )
  await app.close()
  await provider.close()
})

test('the next message reports to the model what was undone, once, and again when that message is deleted', async () => {
  const chat = await startChat()
  chat.enableCheckpoints()
  const { app, provider } = chat
  const { dir, id } = await place(chat)
  const lines = (word: string) =>
    Array.from({ length: 20 }, (_, at) => `${at === 2 || at === 18 ? word : at}\n`).join('')
  writeFileSync(join(dir, 'a.txt'), lines('old'))
  provider.push(
    {
      toolCalls: [
        call('read_file', { path: 'a.txt' }),
        call('write_file', { path: 'a.txt', content: lines('new') }),
      ],
    },
    { text: 'done' },
  )
  await chat.turn(id, 'change it')
  const [turn] = (await app.get(`/api/rollback/list?session_id=${id}`)).body.checkpoints
  const { checkpoint } = turn
  const diff = () =>
    app.get(`/api/rollback/diff?session_id=${id}&checkpoint=${checkpoint}&path=a.txt`)
  const { body } = await diff()
  assert.equal(body.undone, [])
  const [first, second] = String(body.diff).match(/^@@ .*$/gm) ?? []
  const restore = (more: object) => app.post('/api/rollback/restore', { session_id: id, ...more })
  const part = (hunk?: string) => restore({ checkpoint, paths: ['a.txt'], hunks: [hunk] })
  assert.is((await restore({ checkpoint, hunks: [first] })).status, 400)
  assert.is((await part('@@ -1,1 +1,1 @@')).status, 404)

  // What is brought back before the next message is not worth a word.
  await restore({ checkpoint: (await part(first)).body.checkpoint })
  const sent = () => JSON.stringify(provider.requests.at(-1)?.body.messages)
  const say = async (text: string) => {
    provider.push({ text: 'ok' })
    const stream = await chat.send(id, text)
    await chat.follow(stream)
    return sent()
  }
  assert.not.match(await say('first question'), 'The user undid')
  const undone = await part(second)
  assert.is(readFileSync(join(dir, 'a.txt'), 'utf8').split('\n')[18], 'old')
  assert.equal((await diff()).body.undone, [second])
  const reported = await say('second question')
  assert.match(
    reported,
    '[The user undid file changes: a.txt (in part). Read them again before you edit them.]\\nsecond question',
  )
  assert.is((await chat.messages(id)).at(-2)?.content, 'second question')
  const later = await say('third question')
  assert.is(later.split('The user undid').length, 2)
  assert.ok(later.startsWith(reported.slice(0, -1)), 'the bytes sent before stay as they were')

  const { messages } = (await app.get(`/api/session?session_id=${id}`)).body.session
  const keep = messages.findIndex(
    (each: { content: unknown }) => each.content === 'second question',
  )
  await app.post('/api/session/truncate', { session_id: id, keep_count: keep })
  assert.match(await say('another question'), 'The user undid')
  await restore({ checkpoint: undone.body.checkpoint })
  assert.match(await say('last question'), 'restored file changes that were undone before: a.txt')
  await chat.close()
})

test.run()
