/** Subagents over HTTP: their events for every client, a reload in mid-turn and after it, a stop, a model of their own. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { gate, type Step } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('subagents over HTTP')

const call = (name: string, args: Record<string, unknown>, id: string): Step => ({
  toolCalls: [{ id, name, arguments: args }],
})
const delegate = call('delegate_task', { goal: 'Count the files', context: 'Here.' }, 'd1')
const look = call('terminal', { command: 'echo counted' }, 'x1')

type Chat = Awaited<ReturnType<typeof startChat>>
const named = async (app: Chat['app']): Promise<string> => {
  const { session_id } = (await app.post('/api/session/new', {})).body.session
  await app.post('/api/session/rename', { session_id, title: 'Named' })
  return session_id
}
const sessionOf = async (app: Pick<Chat['app'], 'get'>, id: string) =>
  (await app.get(`/api/session?session_id=${id}`)).body.session
const resultsOf = (messages: { role: string; content: string }[]) =>
  JSON.parse(messages.find(({ role }) => role === 'tool')!.content) as {
    error?: string
    results: { status: string; summary: string; error?: string; tool_trace: unknown[] }[]
  }

test('an unusable subagent model fails the subagent with the reason, and the turn continues', async () => {
  await using chat = await startChat(delegate, { text: 'So be it.' })
  const file = join(chat.app.home, 'config.yaml')
  const config = readFileSync(file, 'utf8')
  writeFileSync(file, `${config}delegation:\n  provider: anthropic\n  model: claude-nowhere\n`)
  const id = await named(chat.app)
  await chat.turn(id, 'go')
  const { messages, last_turn } = await sessionOf(chat.app, id)
  const [result] = resultsOf(messages).results
  assert.is(result?.status, 'failed')
  assert.match(String(result?.error), /API key/)
  assert.is(last_turn, 'done')
})

test('every client sees the calls: by name without nesting support, nested with it', async () => {
  const { opened, open } = gate()
  await using chat = await startChat(
    delegate,
    look,
    { text: ['There are ', 'three.'], gate: opened },
    { text: 'Three files.' },
  )
  const { app } = chat
  const file = join(app.home, 'config.yaml')
  writeFileSync(file, `${readFileSync(file, 'utf8')}delegation:\n  model: small-model\n`)
  const id = await named(app)
  const stream = await chat.send(id, 'go')
  await chat.provider.arrived(3)
  const { live } = await sessionOf(app, id)
  assert.equal(
    live.tools.map(({ name }: { name: string }) => name),
    ['delegate_task'],
  )
  const [agent] = live.subagents
  assert.equal([agent.parent_tid, agent.goal, agent.status], ['d1', 'Count the files', 'running'])
  assert.equal([agent.steps[0].name, agent.steps[0].is_error], ['terminal', false])
  assert.match(agent.steps[0].output, 'counted')
  open()
  const seen = await chat.follow(stream)
  const started = seen.filter(({ event }) => event === 'tool').map(({ data }) => data)
  assert.equal(
    started.map(({ name, tool, tid, parent_tid, task_index }) => [
      name,
      tool,
      tid,
      parent_tid,
      task_index,
    ]),
    [
      ['delegate_task', undefined, 'd1', undefined, undefined],
      ['subagent_progress', 'terminal', 'd1.0.x1', 'd1', 0],
    ],
  )
  const received = seen.filter(({ event }) => event === 'subagent').map(({ data }) => data)
  assert.equal([received[0]?.status, received.at(-1)?.status], ['running', 'completed'])
  assert.is(received.map(({ text = '' }) => text).join(''), 'There are three.')
  assert.is(seen.filter(({ event }) => event === 'token').length, 1)
  assert.equal(
    chat.provider.requests.map(({ body }) => body.model),
    ['test-model', 'small-model', 'small-model', 'test-model'],
  )
  // After the turn the result alone draws the same timeline.
  const after = await sessionOf(app, id)
  assert.is(after.live, null)
  const [result] = resultsOf(after.messages).results
  assert.equal([result?.status, result?.summary], ['completed', 'There are three.'])
  assert.is(result?.tool_trace.length, 1)
  assert.is(after.messages.length, 4)
})

test('subagents of the user: listed once, with their own prompt, tools, and model; unknown names are refused', async () => {
  await using chat = await startChat()
  const { app, provider } = chat
  const file = (name: string, text: string) => {
    mkdirSync(join(app.home, 'agents'), { recursive: true })
    writeFileSync(join(app.home, 'agents', `${name}.md`), text)
  }
  file(
    'reviewer',
    '---\nname: reviewer\ndescription: Reviews code\ntools: Read, Grep, clarify, Bash(git *)\nmodel: other-model\n---\nBe strict.',
  )
  file(
    'free',
    '---\nname: "free\\n- x"\ndescription: Does anything\ntools: ["*"]\nmodel: inherit\n---\nBe free.',
  )
  const id = await named(app)
  const run = async (agent: string, ...answers: Step[]) => {
    const from = provider.requests.length
    const call = { id: `d${from}`, name: 'delegate_task', arguments: { goal: 'look', agent } }
    provider.push({ toolCalls: [call] }, ...answers, { text: 'Done.' })
    const seen = await chat.turn(id, 'go')
    return { seen, bodies: provider.requests.slice(from).map(request => request.body) }
  }
  const wrong = await run('none')
  assert.match(
    JSON.stringify(wrong.bodies.at(-1).messages.at(-1)),
    /no subagent .*none.*free, reviewer/,
  )
  assert.match(wrong.bodies[0].messages[0].content, /- reviewer: Reviews code/)
  const { bodies, seen } = await run('reviewer', { text: 'Seen.' })
  const [, own] = bodies
  assert.is(own.model, 'other-model')
  assert.match(own.messages[0].content, /Be strict\./)
  assert.equal(own.tools.map((tool: { function: { name: string } }) => tool.function.name).sort(), [
    'read_file',
    'search_files',
  ])
  assert.match(JSON.stringify(seen.filter(({ event }) => event === 'subagent')), /reviewer · look/)
  const result = JSON.parse(String(bodies.at(-1).messages.at(-1).content))
  assert.equal([result.results[0].agent, result.results[0].summary], ['reviewer', 'Seen.'])
  // A file that is added later can be used; what was sent does not change.
  file('late', '---\ndescription: Late\n---\nBe late.')
  const late = await run('late', { text: 'Seen.' })
  assert.match(late.bodies[1].messages[0].content, /Be late\./)
  assert.is(late.bodies[0].messages[0].content, wrong.bodies[0].messages[0].content)
  assert.equal(late.bodies[0].tools, wrong.bodies[0].tools)
  const free = await run('free', { text: 'Seen.' })
  assert.is(free.bodies[1].model, 'test-model')
  assert.ok(free.bodies[1].tools.length > 5)
})

test.run()
