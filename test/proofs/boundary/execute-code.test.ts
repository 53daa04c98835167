/** Scripts that call tools: asked about first, held to the rules of every call, bounded, ended whole. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { languageOf } from '../../../lib/agent/code/languages.ts'
import { ToolSocket } from '../../../lib/agent/code/tool-socket.ts'
import { type startChat, startChatAt } from '../../handlers/_chat.ts'
import { ended, until } from '../../_wait.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('execute_code')
type Chat = Awaited<ReturnType<typeof startChat>>

const LABEL = 'script execution via -e/-c flag'

/** A chat whose session works in a folder of its own; where nothing is asked, scripts run at once. */
const begin = async (asks = false, more = '', clock: Clock = systemClock) => {
  const chat = await startChatAt(clock)
  const file = join(chat.app.home, 'config.yaml')
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}approvals:\n  mode: ${asks ? 'manual' : 'off'}\n${more}`,
  )
  const dir = join(chat.app.userHome, 'project')
  mkdirSync(dir)
  await chat.app.post('/api/workspaces/add', { path: dir })
  const { body } = await chat.app.post('/api/session/new', { workspace: dir })
  return { chat, dir, id: String(body.session.session_id) }
}

const push = (chat: Chat, code: string) =>
  chat.provider.push(
    { toolCalls: [{ name: 'execute_code', arguments: { code } }] },
    { text: 'done' },
  )
const resultOf = async (chat: Chat, id: string) =>
  JSON.parse(String((await chat.messages(id)).findLast(({ role }) => role === 'tool')?.content))
const run = async (chat: Chat, id: string, code: string) => {
  chat.provider.clear()
  push(chat, code)
  await chat.turn(id, 'go')
  return resultOf(chat, id)
}

test('requests approval under the terminal’s label; when denied, nothing runs', async () => {
  const { chat, dir, id } = await begin(true)
  push(chat, "open('made', 'w').write('x')")
  const stream = await chat.send(id, 'go')
  await chat.follow(stream, 'approval')
  const { body } = await chat.app.get(`/api/approval/pending?session_id=${id}`)
  assert.is(body.pending.pattern_key, LABEL)
  assert.match(body.pending.command, "open('made'")
  const { approval_id } = body.pending
  await chat.app.post('/api/approval/respond', { session_id: id, approval_id, choice: 'deny' })
  await chat.follow(stream)
  assert.is((await resultOf(chat, id)).status, 'blocked')
  assert.not(existsSync(join(dir, 'made')))
  await chat.close()
})

test('scripts call tools and parse results; errors match direct calls, and everything can be undone', async () => {
  const { chat, dir, id } = await begin()
  chat.enableCheckpoints()
  writeFileSync(join(dir, 'a.txt'), 'one\ntwo\n')
  const result = await run(
    chat,
    id,
    `
page = read_file("a.txt")
print(page["total_lines"], "|", page["content"])
write_file("b.txt", content="from a script\\n")
patch("a.txt", old_string="two", new_string="three")
print(terminal("cat b.txt && exit 3")["exit_code"])
print(len(search_files("three")["matches"]))
print(terminal("rm -rf ~")["status"])
print(read_file(${JSON.stringify(chat.app.home)} + "/.e" + "nv")["error"][:9])
print(read_file("missing.txt")["error"])
from agent_tools import call_tool
print(call_tool("execute_code", {"code": "1"})["error"])
import os
print([name for name in os.environ if "API_KEY" in name], os.getcwd())
open("c.txt", "w").write("plain")
`,
  )
  assert.equal([result.status, result.error, result.tool_calls_made], ['success', null, 9])
  const lines = result.output.trim().split('\n')
  assert.match(lines[0], '2 |')
  assert.equal(lines.slice(2, 6), ['3', '1', 'blocked', 'Access to'])
  assert.match(lines[6], 'does not exist')
  assert.match(lines[7], 'no tool "execute_code" for scripts')
  assert.is(lines[8], `[] ${dir}`)
  assert.is(readFileSync(join(dir, 'a.txt'), 'utf8'), 'one\nthree\n')
  const list = await chat.app.get(`/api/rollback/list?session_id=${id}`)
  const [turn] = list.body.checkpoints
  assert.equal(
    turn.files.map(({ path }: { path: string }) => path),
    ['a.txt', 'b.txt', 'c.txt'],
  )
  await chat.app.post('/api/rollback/restore', { session_id: id, checkpoint: turn.checkpoint })
  assert.equal(readdirSync(dir), ['a.txt'])
  const secret = join(chat.app.home, '.env')
  assert.is((await run(chat, id, `print(open("${secret}").read())`)).status, 'blocked')
  await chat.close()
})

test('reports failures; bounds time, calls and output; leaves nothing behind', async () => {
  const { chat, id } = await begin(false, 'code_execution:\n  timeout: 60\n  max_tool_calls: 2\n')
  const left = () => readdirSync(tmpdir()).filter(name => name.startsWith('agent-code-'))
  const before = left().length
  const failed = await run(chat, id, 'print("so far")\nraise ValueError("broken")')
  assert.equal([failed.status, failed.output], ['error', 'so far\n'])
  assert.match(failed.error, 'ValueError: broken')
  const greedy = await run(chat, id, 'for n in range(9): terminal("true")')
  assert.is(greedy.tool_calls_made, 2)
  assert.match(greedy.error, 'at most 2 tool calls')
  const loud = await run(chat, id, 'for n in range(60000): print(n)')
  assert.is(loud.status, 'success')
  assert.ok(loud.output.length < 50_300 && /tool-output/.test(loud.output))
  assert.is(left().length, before)
  await chat.close()
})

test('a script that takes too long is ended with its children', async () => {
  const clock = createTestClock(Date.now())
  const { chat, dir, id } = await begin(false, 'code_execution:\n  timeout: 60\n', clock)
  const code =
    'import subprocess, sys\nchild = subprocess.Popen(["sleep", "600"])\nprint(child.pid)\nsys.stdout.flush()\nopen("started", "w")\nchild.wait()'
  let slow: { status?: string; output?: string } = {}
  const ran = run(chat, id, code).then(result => {
    slow = result
  })
  await until(() => existsSync(join(dir, 'started')))
  await clock.advance(60_000)
  await ran
  assert.is(slow.status, 'timeout')
  assert.match(slow.output ?? '', /^\d+\n$/)
  await ended(Number(slow.output))
  await chat.close()
})

test('stopping the turn ends the script', async () => {
  const { chat, id } = await begin()
  push(chat, 'import time\nprint("on", flush=True)\ntime.sleep(600)')
  const stream = await chat.send(id, 'go')
  await chat.follow(stream, 'tool_output')
  await chat.app.post('/api/chat/cancel', { stream_id: stream })
  await chat.follow(stream)
  await chat.close()
})

test('ignores calls that arrive after the script ended', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'socket-'))
  const path = join(dir, 's')
  const begun = Promise.withResolvers<void>()
  const first = Promise.withResolvers<string>()
  const done: string[] = []
  const socket = new ToolSocket('t', 5, tool => {
    done.push(tool)
    begun.resolve()
    return first.promise
  })
  await socket.listen(path)
  const line = (tool: string) => `${JSON.stringify({ token: 't', tool, args: {} })}\n`
  const script = connect(path, () => script.write(line('one') + line('two') + line('three')))
  await begun.promise
  socket.close()
  first.resolve('late')
  for (let round = 0; round < 5; round++) await immediate()
  assert.equal(done, ['one'])
  rmSync(dir, { recursive: true })
})

test('falls back to JavaScript without Python; offered with neither', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'no-python-'))
  assert.is(languageOf(bin, '/opt/agent-webui'), null)
  const language = languageOf(bin, process.execPath)
  assert.is(language?.name, 'JavaScript')
  const { spawn } = await import('node:child_process')
  const socket = new ToolSocket('t', 5, async (tool, args) => JSON.stringify({ tool, args }))
  await socket.listen(join(bin, 's'))
  const files = language?.files(
    'const one = await read_file("a", { limit: 2 })\nconsole.log(JSON.stringify([one, await terminal("ls")]))',
    ['read_file', 'terminal'],
  )
  for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(bin, name), text)
  const child = spawn(language?.program ?? '', language?.args(bin) ?? [], {
    env: { AGENT_TOOLS_SOCKET: join(bin, 's'), AGENT_TOOLS_TOKEN: 't' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said: Buffer[] = []
  for await (const chunk of child.stdout) said.push(chunk)
  assert.equal(JSON.parse(Buffer.concat(said).toString()), [
    { tool: 'read_file', args: { path: 'a', limit: 2 } },
    { tool: 'terminal', args: { command: 'ls' } },
  ])
  // Another program that finds the socket gets nothing.
  const answer = await new Promise<string>(resolve => {
    const other = connect(join(bin, 's'), () =>
      other.write(`rubbish\n${JSON.stringify({ token: 'x', tool: 'terminal', args: {} })}\n`),
    )
    let text = ''
    other.on('data', piece => {
      text += piece
      if (text.split('\n').length > 2) resolve(text)
    })
  })
  assert.match(answer, /not a valid tool call.*\n.*token is wrong/)
  assert.is(socket.calls(), 2)
  socket.close()
  rmSync(bin, { recursive: true })
})

test.run()
