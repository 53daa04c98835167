/** `agent-webui chat` as a process: rejections, answers, tools, interruption, kills, and the sessions that the server finds. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openDatabase } from '../../../lib/store/sqlite.ts'
import { startApp } from '../../_app.ts'
import { createProvider, gate, type Scripted, type Step } from '../../_provider.ts'
import { createStateDb, SCHEMAS } from '../../_state-db.ts'
import { reason } from '../../lib/commands/sandbox/_sandbox.ts'
import { createDesk, type Desk } from '../../lib/cli/_run.ts'

type World = { desk: Desk; provider: Scripted }
const test = suite<World>('agent-webui chat')

test.before.each(async state => {
  state.desk = createDesk()
  state.provider = await createProvider()
  state.desk.useProvider(state.provider.url)
})
test.after.each(async ({ desk, provider }) => {
  await provider.close()
  desk.close()
})

type Row = Record<string, string | number | null>
const rows = (desk: Desk, sql: string): Row[] => {
  const db = openDatabase(join(desk.home, 'state.db'), { mustExist: true })
  try {
    return db.prepare<[], Row>(sql).all()
  } finally {
    db.close()
  }
}
const sessionRows = (desk: Desk) => rows(desk, 'select * from sessions order by rowid')
const messageRows = (desk: Desk) => rows(desk, 'select * from messages order by id')
const said = (desk: Desk) => messageRows(desk).map(({ role, content }) => [role, content])

// ── Rejections ────────────────────────────────────────────────────────────────────────────────────────────────────────

test('hooks of config.yaml run, block, and their failures are reported', async ({
  desk,
  provider,
}) => {
  const path = join(desk.home, 'config.yaml')
  const block = 'cat >/dev/null; echo "not today" >&2; exit 2'
  const hooks = {
    pre_tool_call: [{ matcher: 'terminal', command: block }],
    PostToolUse: [{ command: 'exit 5' }],
  }
  writeFileSync(path, `${readFileSync(path, 'utf8')}\nhooks: ${JSON.stringify(hooks)}\n`)
  const mark = join(desk.home, 'mark')
  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: `touch ${mark}` } }] },
    { toolCalls: [{ name: 'read_file', arguments: { path } }] },
    { text: 'Done.' },
  )
  const { err } = await desk.talk(['chat', 'go'])
  assert.not(existsSync(mark))
  assert.match(JSON.stringify(provider.requests[1]?.body.messages.at(-1)), /not today/)
  assert.match(err, /PostToolUse hook “exit 5” failed/)
})

const sandboxed = reason === null ? test : test.skip
sandboxed('commands run in the sandbox where it is on', async ({ desk, provider }) => {
  const path = join(desk.home, 'config.yaml')
  writeFileSync(path, `${readFileSync(path, 'utf8')}\nsandbox: true\n`)
  const command = `node -e "require('fs').writeFileSync('${desk.home}/' + 'made', '')"; echo ended`
  provider.push({ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'Done.' })
  await desk.talk(['chat', 'go'])
  assert.match(JSON.stringify(provider.requests[1]?.body.messages.at(-1)), /ENOENT.*ended/)
  assert.not(existsSync(join(desk.home, 'made')))
})

test('rejects invalid arguments with a sentence and writes nothing', async ({ desk, provider }) => {
  const cases: [string[], RegExp][] = [
    [['chat', '--nonsense'], /not an option of chat/],
    [['chat', 'hi', '--model'], /--model needs a value/],
    [['chat', 'hi', '-c', '-r', 'x'], /either --continue or --resume/],
    [['chat', 'hi', '-p', 'nobody'], /'nobody' does not exist/],
    [['chat', 'hi', '-p', '../x'], /Invalid profile name/],
    [['chat', 'hi', '-r', '20260101_000000_aaaaaa'], /There is no session/],
    [['chat', 'hi', '--continue'], /no session to continue/],
    [['chat'], /No message/],
  ]
  for (const [args, words] of cases) {
    const { code, out, err } = await desk.talk(args)
    assert.ok(code === 1 || code === 2, `${args}: ${code}`)
    assert.is(out, '')
    assert.match(err, words)
    assert.not.match(err, /\bat .*:\d+:\d+/)
  }
  assert.is(provider.requests.length, 0)
  assert.not.ok(existsSync(join(desk.home, 'state.db')))
})

test('a provider failure: prints the reason, exits with 1, keeps the message', async ({
  desk,
  provider,
}) => {
  provider.push({ status: 401, body: { error: { message: 'bad key' } } })
  const { code, out, err } = await desk.talk(['chat', 'hi'])
  assert.is(code, 1)
  assert.is(out, '')
  assert.ok(err.length > 10)
  assert.equal(said(desk), [['user', 'hi']])
})

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('one message: answer on stdout, tools on stderr, both in state.db', async ({
  desk,
  provider,
}) => {
  writeFileSync(join(desk.workspace, 'notes.md'), 'remember the milk\n')
  const usage = {
    prompt_tokens: 10,
    completion_tokens: 4,
    prompt_tokens_details: { cached_tokens: 7 },
    cost: 0.01,
  }
  provider.push(
    {
      text: 'Looking.',
      toolCalls: [{ id: 'c1', name: 'read_file', arguments: { path: 'notes.md' } }],
      usage,
    },
    { text: ['The ', 'milk.'], usage },
  )
  const { code, out, err } = await desk.run(['chat', 'what', 'do I', 'need?'])
  assert.is(code, 0, err)
  assert.is(out, 'Looking.\nThe milk.\n')
  assert.match(err, '· read_file notes.md')
  assert.match(err, '\n· 20 tokens in (70% cached), 8 out, $0.0200\n')

  const [session, ...others] = sessionRows(desk)
  assert.equal(others, [])
  assert.match(String(session?.id), /^\d{8}_\d{6}_[0-9a-f]{6}$/)
  assert.is(session?.source, 'cli')
  assert.is(session?.model, 'test-model')
  assert.is(session?.title, 'what do I need?')
  assert.is(session?.end_reason, 'cli_close')
  assert.ok(Number(session?.ended_at) >= Number(session?.started_at))
  assert.match(String(session?.system_prompt), 'terminal')
  assert.equal(
    [
      session?.message_count,
      session?.tool_call_count,
      session?.input_tokens,
      session?.output_tokens,
    ],
    [4, 1, 6, 8],
  )
  // The host agent counts cached tokens apart from the input.
  assert.is(session?.cache_read_tokens, 14)
  const [question, call, result, answer] = messageRows(desk)
  assert.equal([question?.role, question?.content], ['user', 'what do I need?'])
  assert.equal(
    [call?.role, call?.content, call?.finish_reason],
    ['assistant', 'Looking.', 'tool_calls'],
  )
  const [stored] = JSON.parse(String(call?.tool_calls))
  assert.is(stored.function.name, 'read_file')
  assert.equal([result?.role, result?.tool_name], ['tool', 'read_file'])
  assert.is(result?.tool_call_id, stored.id)
  assert.match(String(result?.content), 'remember the milk')
  assert.equal([answer?.content, answer?.finish_reason], ['The milk.', 'stop'])
  // The state directory belongs to the server alone, and no temporary file is left.
  assert.not.ok(existsSync(join(desk.home, 'webui')))
  assert.equal(
    readdirSync(desk.root).filter(name => name.startsWith('agent-webui-chat-')),
    [],
  )
})

test('reads from a pipe; --quiet; --model', async ({ desk, provider }) => {
  provider.push({ toolCalls: [{ name: 'todo', arguments: {} }] }, { text: 'done' })
  const { code, out, err } = await desk.talk(['chat', '-q', '--model=other-model'], {
    input: 'from a pipe\n',
  })
  assert.equal([code, out, err], [0, 'done\n', ''])
  assert.is(provider.requests[0]?.body.model, 'other-model')
  assert.equal(said(desk)[0], ['user', 'from a pipe'])
})

test('denies approvals without an interactive terminal', async ({ desk, provider }) => {
  writeFileSync(join(desk.workspace, 'keep.txt'), 'x')
  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: 'rm -rf ./keep.txt' } }] },
    { text: 'I may not.' },
  )
  const { code, out, err } = await desk.talk(['chat', 'clean up'])
  assert.is(code, 0)
  assert.is(out, 'I may not.\n')
  assert.match(err, /Denied: approvals need an interactive terminal\. .*It deletes folders/)
  assert.ok(existsSync(join(desk.workspace, 'keep.txt')))
})

test('--continue and --resume append to the same row', async ({ desk, provider }) => {
  provider.push({ text: 'one' }, { text: 'two' }, { text: 'three' })
  await desk.talk(['chat', 'first'])
  await desk.talk(['chat', '-c', 'second'])
  const [session] = sessionRows(desk)
  await desk.talk(['chat', '--resume', String(session?.id), 'third'])
  assert.is(sessionRows(desk).length, 1)
  assert.equal(said(desk), [
    ['user', 'first'],
    ['assistant', 'one'],
    ['user', 'second'],
    ['assistant', 'two'],
    ['user', 'third'],
    ['assistant', 'three'],
  ])
  const sent = provider.requests[2]?.body.messages.map(({ role }: { role: string }) => role)
  assert.equal(sent, ['system', 'user', 'assistant', 'user', 'assistant', 'user'])
  assert.is(sessionRows(desk)[0]?.end_reason, 'cli_close')
})

test('keeps titles unique when a message is repeated', async ({ desk, provider }) => {
  provider.push({ text: 'a' }, { text: 'b' })
  await desk.talk(['chat', 'hello'])
  await desk.talk(['chat', 'hello'])
  assert.equal(
    sessionRows(desk).map(({ title }) => title),
    ['hello', 'hello #2'],
  )
})

for (const schema of SCHEMAS)
  test(`an existing database of schema ${schema} keeps its shape`, async ({ desk, provider }) => {
    const before = createStateDb(desk.home, schema)
    const shape = () => before.prepare('select sql from sqlite_master order by name').all()
    const stood = shape()
    provider.push({ text: 'fine' })
    const { code, err } = await desk.talk(['chat', 'hi'])
    assert.equal([code, err], [0, ''])
    assert.equal(shape(), stood)
    assert.equal(said(desk), [
      ['user', 'hi'],
      ['assistant', 'fine'],
    ])
    const version = before.prepare('select version from schema_version').all()
    assert.equal(version, [{ version: schema }])
    if (schema === 30) {
      const [row] = sessionRows(desk)
      assert.is(row?.cwd, desk.workspace)
      assert.is(messageRows(desk)[0]?.active, 1)
    }
    before.close()
  })

// ── Interactive prompt ──────────────────────────────────────────────────────────────────────────────────────────

test('reads line by line; /new starts another session', async ({ desk, provider }) => {
  provider.push({ text: 'one' }, { text: 'two' }, { text: 'three' })
  const answers = ['hello', '', '/help', 'and more', '/new', 'other', '/exit']
  const { code, out } = await desk.talk(['chat'], { answers })
  assert.equal([code, out], [0, 'one\ntwo\nthree\n'])
  assert.equal(
    sessionRows(desk).map(({ title, message_count, end_reason }) => [
      title,
      message_count,
      end_reason,
    ]),
    [
      ['hello', 4, 'cli_close'],
      ['other', 2, 'cli_close'],
    ],
  )
})

test('--plan: nothing changes until the plan is approved at the terminal', async ({
  desk,
  provider,
}) => {
  const present = { toolCalls: [{ name: 'exit_plan_mode', arguments: { plan: '# The plan' } }] }
  const write = {
    toolCalls: [{ name: 'write_file', arguments: { path: 'new.txt', content: 'x' } }],
  }
  const isThere = () => existsSync(join(desk.workspace, 'new.txt'))
  provider.push(write, present, { text: 'Only planned.' })
  const alone = await desk.talk(['chat', '--plan', 'write it'])
  assert.equal([alone.code, alone.out, isThere()], [0, 'Only planned.\n', false])
  provider.push(present, { text: 'Revised.' }, { text: 'Off.' })
  const answers = ['write it', 'another name', '/plan', 'hi', '/exit']
  const feedback = await desk.talk(['chat', '--plan'], { answers })
  assert.match(feedback.err, '# The plan')
  assert.match(feedback.err, 'Plan mode is off.')
  const bodies = provider.requests.map(({ body }) => body.messages.at(-1).content)
  assert.match(bodies.at(-2), 'another name')
  assert.match(bodies.at(-1), '[Mode: normal]')
  assert.not.ok(isThere())
  provider.push(present, write, { text: 'Written.' })
  const approved = await desk.talk(['chat', '--plan', 'write it'], { answers: ['1'] })
  assert.equal([approved.code, approved.out, isThere()], [0, 'Written.\n', true])
})

test('asks again until an approval is answered; "always" is stored for that command', async ({
  desk,
  provider,
}) => {
  const remove = (name: string): Step => ({
    toolCalls: [{ name: 'terminal', arguments: { command: `rm -rf ./${name}` } }],
  })
  for (const name of ['a', 'b', 'c']) writeFileSync(join(desk.workspace, name), 'x')
  provider.push(remove('a'), { text: 'no' }, remove('b'), { text: 'yes' })
  provider.push(remove('b'), { text: 'ok' }, remove('c'), { text: 'no' })
  const denied = await desk.talk(['chat', 'one'], { answers: ['what?', 'd'] })
  assert.is(denied.asked.length, 2)
  assert.match(denied.err, 'rm -rf ./a')
  const always = await desk.talk(['chat', 'two'], { answers: ['always'] })
  assert.is(always.code, 0, always.err)
  assert.not(existsSync(join(desk.workspace, 'b')))
  // Stored for exactly this command.
  writeFileSync(join(desk.workspace, 'b'), 'again')
  const silent = await desk.talk(['chat', 'three'], { answers: [] })
  assert.equal(silent.asked, [])
  const other = await desk.talk(['chat', 'four'], { answers: ['d'] })
  assert.is(other.asked.length, 1)
  assert.equal(
    ['a', 'b', 'c'].map(name => existsSync(join(desk.workspace, name))),
    [true, false, true],
  )
})

test('Ctrl-C at an approval denies it and stops the turn', async ({ desk, provider }) => {
  writeFileSync(join(desk.workspace, 'a'), 'x')
  provider.push({ toolCalls: [{ name: 'terminal', arguments: { command: 'rm -rf ./a' } }] })
  const { code } = await desk.talk(['chat', 'one'], { answers: [] })
  assert.is(code, 130)
  assert.ok(existsSync(join(desk.workspace, 'a')))
})

// ── Interruption ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A response that stalls half-way. */
const halfway = (): { step: Step; open: () => void } => {
  const { opened, open } = gate()
  return { step: { text: ['first half ', 'second half'], middle: opened }, open }
}

const limited = {
  status: 429,
  headers: { 'retry-after': '600' },
  body: { error: { message: 'Slow down.' } },
}

test('Enter retries a failed call now; Ctrl-C stops the turn instead', async ({
  desk,
  provider,
}) => {
  provider.push(limited, { text: 'Hi.' })
  const { code, out, err, asked } = await desk.talk(['chat', 'hi'], { answers: [''] })
  assert.equal([code, out, asked], [0, 'Hi.\n', ['']])
  const cause = `! Rate limit at Local server: Slow down. Retrying`
  assert.ok(err.includes(`${cause} in 10 min, attempt 2 of 4. Press Enter to retry now.\n`), err)
  assert.ok(err.includes(`${cause} now, attempt 2 of 4.\n`), err)
  provider.push(limited)
  assert.is((await desk.talk(['chat', 'hi'], { answers: [] })).code, 130)
})

test('without a terminal, the wait before a retry is announced and lasts', async ({
  desk,
  provider,
}) => {
  provider.push({ ...limited, headers: { 'retry-after-ms': '20' } }, { text: 'Hi.' })
  const { code, err, asked } = await desk.talk(['chat', 'hi'])
  assert.equal([code, asked], [0, []])
  assert.match(err, /Retrying in 1 s, attempt 2 of \d+\.\n/)
})

test('Ctrl-C stops the answer and keeps the partial text', async ({ desk, provider }) => {
  const { step, open } = halfway()
  provider.push(step)
  const running = desk.start(['chat', 'tell me'])
  await running.said('first half')
  running.child.kill('SIGINT')
  const { code, err } = await running.ended
  open()
  assert.is(code, 130, err)
  assert.match(err, 'Stopped.')
  assert.equal(said(desk), [
    ['user', 'tell me'],
    ['assistant', 'first half'],
  ])
  assert.is(sessionRows(desk)[0]?.end_reason, 'cli_close')
})

test('after a kill, complete messages are stored and the session can continue', async ({
  desk,
  provider,
}) => {
  const { step, open } = halfway()
  provider.push({ text: 'Looking.', toolCalls: [{ name: 'todo', arguments: {} }] }, step, {
    text: 'again',
  })
  const running = desk.start(['chat', 'tell me'])
  await running.said('first half')
  running.child.kill('SIGKILL')
  await running.ended
  open()
  assert.equal(
    messageRows(desk).map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  )
  assert.is(sessionRows(desk)[0]?.ended_at, null)
  const { code, out } = await desk.talk(['chat', '-c', 'go on'])
  assert.equal([code, out], [0, 'again\n'])
})

test('warns once about a database that cannot be written, and still answers', async ({
  desk,
  provider,
}) => {
  writeFileSync(join(desk.home, 'state.db'), 'this is no database, but it is somebody’s')
  provider.push({ text: 'fine' })
  const { code, out, err } = await desk.talk(['chat', 'hi'])
  assert.equal([code, out], [0, 'fine\n'])
  assert.is(err.match(/Couldn't save this session/g)?.length, 1, err)
  assert.match(readFileSync(join(desk.home, 'state.db'), 'utf8'), 'somebody')
})

// ── In the server ───────────────────────────────────────────────────────────────────────────────────────────

test('a running server lists, reads and imports the session', async () => {
  const provider = await createProvider(
    { toolCalls: [{ name: 'todo', arguments: {} }] },
    { text: 'from the terminal' },
  )
  const app = await startApp()
  const desk = createDesk()
  writeFileSync(
    join(app.home, 'config.yaml'),
    `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\n`,
  )
  await app.post('/api/settings', { show_cli_sessions: true })
  const { code, err } = await desk.run(['chat', 'hello service'], {
    env: { AGENT_HOME: app.home },
  })
  assert.is(code, 0, err)
  const { sessions } = (await app.get('/api/sessions')).body
  const row = sessions.find((each: { is_cli_session?: boolean }) => each.is_cli_session)
  assert.equal([row.title, row.message_count, row.source_tag], ['hello service', 4, 'cli'])
  const read = (await app.get(`/api/session?session_id=${row.session_id}`)).body.session
  assert.is(read.messages.length, 4)
  const imported = await app.post('/api/session/import_cli', { session_id: row.session_id })
  assert.is(imported.status, 200, imported.text)
  const now = (await app.get(`/api/session?session_id=${row.session_id}`)).body.session
  assert.equal(
    now.messages.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'tool', 'assistant'],
  )
  await app.close()
  await provider.close()
  desk.close()
})

test.run()
