/** Agents from npm behind our seam, their model a scripted server that speaks all of their formats. */
import { LLMock } from '@copilotkit/aimock'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../../_app.ts'
import type { Seen } from '../../handlers/_chat.ts'
import { AGENTS, binOf, missing, type RealAgent, type Step, settle } from './_agents.ts'

type Sent = { role: string; content: unknown }

const textOf = (message: Sent | undefined): string =>
  typeof message?.content === 'string' ? message.content : JSON.stringify(message?.content ?? '')

/** What is sent to the model, byte for byte: the mock reads a picture in some formats and drops it. */
const recorder = async (target: string) => {
  const bodies: string[] = []
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    bodies.push(body.toString())
    const { port, hostname } = new URL(target)
    const passed = request(
      { port, hostname, path: req.url, method: req.method, headers: req.headers },
      answer => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      },
    )
    passed.on('error', () => res.destroy())
    res.on('close', () => passed.destroy())
    passed.end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Of each of its answers. */
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }

/** Answers by the newest `do-…` it is asked; beside the turn it makes titles and the like. */
const createModel = async (plans: Readonly<Record<string, readonly Step[]>>) => {
  const released = Promise.withResolvers<void>()
  const waiting = Promise.withResolvers<void>()
  const asked: string[] = []
  const mock = await LLMock.create({ port: 0 })
  mock.on({ predicate: () => true }, async ({ messages, tools }) => {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const last = messages[at] as Sent | undefined
    asked.push(textOf(last))
    if (!tools?.length) return { content: '{"title": "What the model calls it"}' }
    const word =
      textOf(last)
        .match(/do-(\w+)/g)
        ?.at(-1)
        ?.slice('do-'.length) ?? ''
    const results = messages.slice(at + 1).filter(({ role }) => role === 'tool').length
    const step = plans[word]?.[results]
    if (step) {
      const id = `call_${word}_${asked.length}`
      return {
        toolCalls: [{ id, name: step.tool, arguments: JSON.stringify(step.args) }],
        usage: USAGE,
      }
    }
    if (word === 'wait') {
      waiting.resolve()
      await released.promise
    }
    const said = messages
      .filter(({ role }) => role === 'user')
      .flatMap(message => textOf(message as Sent).match(/do-\w+/g) ?? [])
    const content = word === 'recall' ? `Known: ${said.join(' ')}.` : `Done ${word}.`
    return { content, usage: USAGE }
  })
  const { url, bodies, close } = await recorder(mock.url)
  return {
    url,
    asked,
    bodies,
    waiting: waiting.promise,
    async close() {
      released.resolve()
      close()
      await mock.stop()
    },
  }
}

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const SERVER = join(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
)

const start = async (agent: RealAgent) => {
  const app = await startApp({ env: { PATH: `${binOf(agent)}:${process.env.PATH}` } })
  const workspace = join(app.userHome, 'project')
  const note = join(workspace, 'note.txt')
  const model = await createModel({
    create: [agent.create(join(workspace, 'new.txt'), 'hello\nworld\n')],
    edit: agent.edit(note, 'old line', 'new line'),
    command: [agent.run('echo out-of-it; exit 3')],
    question: agent.question ? [agent.question('Which one?', 'The blue one')] : [],
    plan: agent.plan ? [agent.plan(['look', 'change'])] : [],
  })
  mkdirSync(workspace)
  writeFileSync(note, 'first\nold line\nlast\n')
  writeFileSync(join(workspace, 'dot.png'), Buffer.from(PIXEL, 'base64'))
  const connected = join(app.userHome, 'connected')
  const env = settle(agent, app.userHome, model.url)
  const configure = (more: Record<string, unknown> = {}) =>
    writeFileSync(
      join(app.home, 'config.yaml'),
      JSON.stringify({
        providers: { [agent.id]: { env, ...more } },
        mcp_servers: {
          notes: {
            command: 'sh',
            args: ['-c', 'touch "$MARK"; exec "$0" "$@"', process.execPath, SERVER],
            env: { MARK: connected },
          },
        },
      }),
    )
  configure()
  const { body } = await app.post('/api/session/new', { model: `@acp:${agent.id}`, workspace })
  const id: string = body.session.session_id

  const messages = async () =>
    (await app.get(`/api/session?session_id=${id}`)).body.session.messages

  const turn = async (
    message: string,
    on: (event: Seen, stream: string) => unknown = () => undefined,
    more: Record<string, unknown> = {},
  ) => {
    const answer = await app.post('/api/chat/start', { session_id: id, message, ...more })
    assert.is(answer.status, 200, JSON.stringify(answer.body))
    const seen: Seen[] = []
    const approvals: { command: string; diff?: string }[] = []
    const { stream_id } = answer.body
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream_id}`)) {
      seen.push(event as Seen)
      if (event.event === 'approval') {
        approvals.push(event.data as { command: string; diff?: string })
        await app.post('/api/approval/respond', { session_id: id, choice: 'once' })
      }
      if (event.event === 'clarify')
        await app.post('/api/clarify/respond', { session_id: id, response: 'The blue one' })
      await on(event as Seen, stream_id)
      if (event.event === 'stream_end') break
    }
    const sentMessages = await messages()
    const from = sentMessages.findLastIndex(({ role }: Sent) => role === 'user')
    const results = sentMessages
      .slice(from + 1)
      .filter(({ role }: Sent) => role === 'tool')
      .map(({ content }: { content: string }) => JSON.parse(content))
    const warnings = seen.flatMap(({ event, data }) =>
      event === 'warning' && !/is starting|Model metadata/.test(String(data.message))
        ? [data.message]
        : [],
    )
    return { seen, approvals, results, warnings, last: String(sentMessages.at(-1).content) }
  }

  return {
    app,
    id,
    workspace,
    model,
    connected,
    configure,
    turn,
    usage: async (): Promise<number> =>
      (await app.get(`/api/session?session_id=${id}`)).body.session.input_tokens,
    view: async () => (await app.get(`/api/session/agent?session_id=${id}`)).body,
    async close() {
      await app.close()
      await model.close()
    },
  }
}

/** Our own children, which are its processes. */
const killAgents = () => {
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      if (parent === process.pid) process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended by now.
    }
  }
}

const test = suite('real external agents')

/** One of them, by its id; all when absent. */
const { PROOF_AGENT } = process.env

for (const agent of AGENTS.filter(({ id }) => !PROOF_AGENT || id === PROOF_AGENT)) {
  const full = process.env.PROOF === 'full'
  const why = full ? missing(agent) : 'it is run by "npm run proof -- real-agents"'
  if (why) process.stdout.write(`skipped: ${agent.id}. ${why}\n`)
  const proof = why ? test.skip : test

  proof(
    `${agent.id}: creates, edits, runs, plans; changes are shown before and after`,
    async () => {
      const at = await start(agent)
      try {
        const { turn, workspace, usage } = at
        const created = await turn('do-create')
        assert.is(readFileSync(join(workspace, 'new.txt'), 'utf8'), 'hello\nworld\n')
        const isNew = /^--- \/dev\/null\n\+\+\+ b\/new\.txt\n@@ -0,0 \+1,2 @@\n\+hello\n\+world\n$/
        assert.match(created.results.at(-1).diff, isNew)
        for (const { diff } of created.approvals) assert.match(diff ?? '', isNew)

        const edited = await turn('do-edit')
        assert.is(readFileSync(join(workspace, 'note.txt'), 'utf8'), 'first\nnew line\nlast\n')
        const isEdit = /^--- a\/note\.txt\n\+\+\+ b\/note\.txt\n@@ .*-old line\n\+new line\n/s
        assert.match(edited.results.at(-1).diff, isEdit)
        for (const { diff } of edited.approvals) assert.match(diff ?? '', isEdit)
        assert.is(created.approvals.length, agent.asks.includes('edit') ? 1 : 0)
        assert.is(edited.approvals.length, agent.asks.includes('edit') ? 1 : 0)

        const ran = await turn('do-command')
        assert.is(ran.approvals.length, agent.asks.includes('command') ? 1 : 0)
        for (const { command } of ran.approvals) assert.match(command, /echo out-of-it; exit 3/)
        const { output, exit_code } = ran.results.at(-1)
        if (agent.isSilent) assert.equal([output, exit_code], ['', null])
        else {
          assert.match(output, /out-of-it/)
          assert.is(exit_code, 3)
        }
        const counted = [await usage()]
        for (const _ of ['first', 'second']) {
          await turn('do-one')
          counted.push(await usage())
        }
        const [before = 0, first = 0, second = 0] = counted
        assert.equal([first - before, second - first], [100, 100], counted.join())
        if (agent.question) {
          await turn('do-question')
          const sent = at.model.bodies.at(-1) ?? ''
          assert.match(sent, 'The blue one')
          assert.not.match(sent, 'No valid answers')
        }
        if (agent.plan) {
          const planned = await turn('do-plan')
          const steps = planned.results.find((result: { todos?: unknown }) => result.todos)?.todos
          assert.equal(
            steps?.map(({ content }: { content: string }) => content),
            ['look', 'change'],
          )
        }
      } finally {
        await at.close()
      }
    },
  )

  proof(`${agent.id}: continues after a stop, a kill, a restart and a pause`, async () => {
    const at = await start(agent)
    try {
      const { app, turn, view, configure } = at
      const atEase = (warnings: unknown[]) => {
        const rest = agent.isForgetful
          ? warnings.filter(words => !/no longer has this chat/.test(String(words)))
          : warnings
        assert.equal(rest, [])
      }
      await turn('do-one')
      const stopped = await turn('do-wait', async ({ event }, stream) => {
        if (event !== 'turn_started') return
        await at.model.waiting
        await app.get(`/api/chat/cancel?stream_id=${stream}`)
      })
      assert.ok(stopped.seen.some(({ event }) => event === 'cancel'))
      const afterStop = await turn('do-recall')
      assert.match(afterStop.last, /^Known: do-one .*do-recall\.$/)
      assert.equal(afterStop.warnings, [])
      killAgents()
      const afterKill = await turn('do-recall')
      assert.match(afterKill.last, /^Known: do-one .*do-recall\.$/)
      atEase(afterKill.warnings)
      configure({ acp_idle_timeout: 1 })
      await app.restart()
      const afterRestart = await turn('do-recall')
      assert.match(afterRestart.last, /^Known: do-one .*do-recall\.$/)
      atEase(afterRestart.warnings)
      while ((await view()).is_open) await sleep(100)
      const afterRest = await turn('do-recall')
      assert.match(afterRest.last, /^Known: do-one .*do-recall\.$/)
      atEase(afterRest.warnings)
      // None of it was sent as our own summary.
      if (!agent.isForgetful) assert.not.match(at.model.asked.join('\n'), /went on without you/)
    } finally {
      await at.close()
    }
  })

  proof(`${agent.id}: commands, images, MCP servers; a slow start times out`, async () => {
    const at = await start(agent)
    try {
      const { turn, configure, model, connected } = at
      await turn('do-one')
      const before = model.asked.length
      await turn(agent.command)
      const received = model.asked.slice(before).filter(text => text.trim() === agent.command)
      assert.equal(received, [])
      await turn('do-picture', undefined, { attachments: ['dot.png'] })
      assert.ok(model.bodies.some(body => body.includes('do-picture') && body.includes(PIXEL)))
      readFileSync(connected)
      rmSync(connected)
      configure({ acp_start_timeout: 0.01, acp_mcp: false, env: { OTHER: '1' } })
      const late = await turn('do-one')
      assert.match(late.last, /did not answer within/)
      assert.throws(() => readFileSync(connected))
    } finally {
      await at.close()
    }
  })
}

test.run()
