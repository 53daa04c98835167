/** Who refused a call is recorded with its result: the page and exports read that, never a sentence. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Unapproved } from '../../lib/base/unapproved.ts'
import { hasFailed, outcomeOf } from '../../public/features/tool-calls/outcome.ts'
import type { ScriptedCall } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('refused calls')

const CONFIG = `permissions:
  deny: ["terminal(touch *)"]
hooks:
  pre_tool_call:
    - matcher: execute_code
      command: 'cat >/dev/null; echo "not today" >&2; exit 2'
security:
  website_blocklist: { enabled: true, domains: [blocked.example] }
tools:
  tool_search: off
`

type Case = [refusedBy: string | null, state: string, name: string, args: Record<string, unknown>]

const CASES: readonly Case[] = [
  ['user', 'refused', 'terminal', { command: 'rm -rf src' }],
  ['user', 'refused', 'write_file', { path: '/opt/outside.txt', content: 'x' }],
  ['rule', 'refused', 'terminal', { command: 'touch x' }],
  ['hook', 'refused', 'execute_code', { code: 'print(1)' }],
  ['checks', 'refused', 'terminal', { command: ':(){ :|:& };:' }],
  ['checks', 'refused', 'write_file', { path: '/etc/passwd', content: 'x' }],
  ['checks', 'refused', 'web_extract', { urls: ['https://blocked.example/'] }],
  ['checks', 'refused', 'web_extract', { urls: ['http://169.254.169.254/', 'http://10.0.0.1/'] }],
  [null, 'failed', 'web_extract', { urls: ['no address'] }],
  [null, 'failed', 'skill_view', { name: 'no-such-skill' }],
  [null, 'failed', 'read_file', { path: 'missing.txt' }],
  [null, 'failed', 'terminal', { command: 'exit 3' }],
  [null, 'failed', 'no_such_tool', {}],
  [null, 'ok', 'terminal', { command: 'echo "The user denied this call."' }],
  [null, 'ok', 'todo', { todos: [{ id: '1', content: 'Error: failed', status: 'pending' }] }],
]

test('who refused a call, what failed, and what only says so', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  appendFileSync(join(app.home, 'config.yaml'), CONFIG)
  const id = await chat.newSession()
  await app.post('/api/session/rename', { session_id: id, title: 'Named' })
  const calls: ScriptedCall[] = CASES.map(([, , name, args], at) => ({
    id: `c${at}`,
    name,
    arguments: args,
  }))
  provider.push({ toolCalls: calls }, { text: 'done' })
  await chat.follow(await chat.send(id, 'go'), 'stream_end', 0, async () => {
    const { questions } = (await app.get('/api/inbox')).body
    for (const { approval_id } of questions)
      await app.post('/api/approval/respond', { session_id: id, approval_id, choice: 'deny' })
  })
  const results = (await chat.messages(id)).filter(({ role }) => role === 'tool')
  assert.equal(
    results.map(message => {
      const { by, state } = outcomeOf(String(message.content), message)
      assert.is(hasFailed(String(message.content), message), state === 'failed')
      return [message._refused_by ?? null, by, state, message.tool_call_id]
    }),
    CASES.map(([by, state], at) => [by, by, state, `c${at}`]),
  )
  await chat.turn(id, 'and now')
  assert.not.match(JSON.stringify(provider.requests), /_refused_by|_failed/)
  await chat.close()
})

test('plan mode refuses what may change something', async () => {
  const chat = await startChat(
    { toolCalls: [{ id: 'c', name: 'write_file', arguments: { path: 'a', content: 'x' } }] },
    { text: 'done' },
  )
  const id = await chat.newSession()
  await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
  await chat.app.post('/api/session/mode', { session_id: id, mode: 'plan' })
  await chat.turn(id, 'go')
  const result = (await chat.messages(id)).find(({ role }) => role === 'tool')
  assert.is(result?._refused_by, 'plan')
  await chat.close()
})

test('what no one allowed is no denial by the user', () => {
  const causes = ['timeout', 'task', 'token', 'noOne', 'withdrawn'] as const
  assert.equal(
    causes.map(cause => new Unapproved(cause).by),
    ['timeout', 'policy', 'policy', 'policy', 'policy'],
  )
})

test.run()
