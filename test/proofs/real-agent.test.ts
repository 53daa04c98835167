/** A real agent from npm behind our seam: asked, approved, cancelled, and found again after a restart; its model is a scripted server. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import type { Seen } from '../handlers/_chat.ts'

const PACKAGE = 'opencode-ai@1.18.33'
/** Outside the repository, kept between runs: the agent weighs 350 MB. */
const CACHE = join(userInfo().homedir, '.cache', 'agent-webui-proofs', PACKAGE)
const BIN = join(CACHE, 'node_modules', '.bin')

/** Why it cannot be had here, or null. */
const missing = (): string | null => {
  if (existsSync(join(BIN, 'opencode'))) return null
  if (process.env.PROOF !== 'full') return `${PACKAGE} is installed by "npm run proof" only`
  try {
    mkdirSync(CACHE, { recursive: true })
    const args = ['install', '--prefix', CACHE, '--no-audit', '--no-fund', PACKAGE]
    execFileSync('npm', args, { stdio: 'pipe', timeout: 300_000 })
    return existsSync(join(BIN, 'opencode')) ? null : `${PACKAGE} has no program here`
  } catch (error) {
    return `${PACKAGE} cannot be installed: ${error instanceof Error ? error.message : error}`.slice(
      0,
      300,
    )
  }
}

type Sent = { role: string; content: unknown }

/** An OpenAI-compatible server that answers by what it is asked, because the agent asks for a title beside the turn. */
const createModel = async (editing: { path: string }) => {
  const closed = Promise.withResolvers<void>()
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { messages = [], tools = [] } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
    answer(res, messages as Sent[], tools.length > 0)
  })
  const say = (res: ServerResponse, delta: unknown, finish: string | null = null) => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'test', choices }
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
    res.write(`data: ${JSON.stringify(finish ? { ...chunk, usage } : chunk)}\n\n`)
    if (finish) res.end('data: [DONE]\n\n')
  }
  const text = (res: ServerResponse, content: string) => {
    say(res, { role: 'assistant', content })
    say(res, {}, 'stop')
  }
  const call = (res: ServerResponse, name: string, args: unknown, id: string) => {
    const made = { name, arguments: JSON.stringify(args) }
    say(res, {
      role: 'assistant',
      tool_calls: [{ index: 0, id, type: 'function', function: made }],
    })
    say(res, {}, 'tool_calls')
  }
  const answer = (res: ServerResponse, messages: Sent[], hasTools: boolean): void => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const asked = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content)
    const results = messages.length - 1 - messages.findLastIndex(({ role }) => role === 'user')
    if (!hasTools) text(res, 'A title')
    else if (asked.includes('remember'))
      text(res, JSON.stringify(messages).includes('Please do it.') ? 'I do.' : 'I do not.')
    else if (asked.includes('wait')) {
      say(res, { role: 'assistant', content: 'Thinking' })
      res.on('close', () => closed.resolve())
    } else if (results === 0)
      call(res, 'bash', { command: 'echo from-the-agent', description: 'Say it' }, 'call_1')
    else if (results === 2) {
      const change = { filePath: editing.path, oldString: 'old line', newString: 'new line' }
      call(res, 'edit', change, 'call_2')
    } else text(res, 'All done.')
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    /** The request that never ends was given up. */
    closed: closed.promise,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const test = suite('a real agent')
const why = missing()
if (why) process.stdout.write(`skipped: a real agent. ${why}\n`)

const proof = why ? test.skip : test

proof(
  'a command, an edit and their approvals; cancelled once; resumed after a restart',
  async () => {
    const app = await startApp({ env: { PATH: `${BIN}:${process.env.PATH}` } })
    const workspace = join(app.userHome, 'project')
    const note = join(workspace, 'note.txt')
    const model = await createModel({ path: note })
    try {
      mkdirSync(workspace)
      writeFileSync(note, 'old line\n')
      const config = join(app.userHome, '.config', 'opencode')
      mkdirSync(config, { recursive: true })
      writeFileSync(
        join(config, 'opencode.json'),
        JSON.stringify({
          provider: {
            scripted: {
              npm: '@ai-sdk/openai-compatible',
              name: 'Scripted',
              options: { baseURL: model.url, apiKey: 'x' },
              models: { test: { name: 'Test' } },
            },
          },
          model: 'scripted/test',
          small_model: 'scripted/test',
          autoupdate: false,
          share: 'disabled',
          permission: { bash: 'ask', edit: 'ask' },
        }),
      )
      const { groups } = (await app.get('/api/models')).body
      assert.is(groups.at(-1).models[0].id, '@acp:opencode')
      const created = await app.post('/api/session/new', { model: '@acp:opencode', workspace })
      const id: string = created.body.session.session_id

      const turn = async (message: string, on: (event: Seen, stream: string) => unknown) => {
        const { body } = await app.post('/api/chat/start', { session_id: id, message })
        const seen: Seen[] = []
        for await (const event of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
          seen.push(event as Seen)
          await on(event as Seen, body.stream_id)
          if (event.event === 'stream_end') break
        }
        return seen
      }
      const messages = async () =>
        (await app.get(`/api/session?session_id=${id}`)).body.session.messages

      const asked: unknown[] = []
      await turn('Please do it.', async ({ event, data }) => {
        if (event !== 'approval') return
        asked.push(data.command)
        await app.post('/api/approval/respond', { session_id: id, choice: 'once' })
      })
      assert.equal(asked, ['echo from-the-agent', 'edit note.txt'])
      assert.is(readFileSync(note, 'utf8'), 'new line\n')
      const told = await messages()
      assert.is(told.at(-1).content, 'All done.')
      const names = told.flatMap((each: { tool_calls?: { function: { name: string } }[] }) =>
        (each.tool_calls ?? []).map(call => call.function.name),
      )
      assert.equal(names, ['terminal', 'patch'])
      const results = told.filter(({ role }: { role: string }) => role === 'tool')
      assert.is(JSON.parse(results[0].content).output, 'from-the-agent\n')
      assert.match(JSON.parse(results[1].content).diff, /-old line.*\+new line/s)

      const cancelled = await turn('Now wait.', ({ event }, stream) =>
        event === 'token' ? app.get(`/api/chat/cancel?stream_id=${stream}`) : undefined,
      )
      assert.ok(cancelled.some(({ event }) => event === 'cancel'))
      // The agent itself has let go of its model.
      await model.closed

      await app.restart()
      await turn('Do you remember?', () => undefined)
      assert.is((await messages()).at(-1).content, 'I do.')
    } finally {
      await app.close()
      model.close()
    }
  },
)

test.run()
