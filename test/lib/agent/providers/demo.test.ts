/** The demo model: its intents, and real tool calls through the real loop. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { demo } from '../../../../lib/agent/providers/demo.ts'
import { sceneOf } from '../../../../lib/agent/providers/demo-script.ts'
import { toolbox } from '../../../../lib/agent/tools/toolbox.ts'
import type { AgentRequest } from '../../../../lib/agent/types.ts'
import { run } from '../_run.ts'
import { type Bench, createBench } from '../tools/_context.ts'

const test = suite('demo')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const say = (text: string, more: Partial<AgentRequest> = {}) =>
  run(demo(systemClock, 0), {
    endpoint: {
      provider: 'demo',
      model: 'demo',
      apiMode: 'demo',
      baseUrl: '',
      apiKey: null,
      contextLength: 8192,
    },
    history: [{ role: 'user', content: `[Workspace: ${bench.workspace}]\n${text}` }],
    tools: [...toolbox()],
    workspace: bench.workspace,
    env: bench.ctx.turn.env,
    forbidden: bench.ctx.turn.forbidden,
    outside: 'dangerous',
    ...more,
  })

/** What is said, and the first call: its tool and some of its arguments. Without a tool: a part of the text. */
const SAID: [said: string, tool: string, args?: Record<string, unknown>][] = [
  ['list files', 'search_files', { path: '.' }],
  ['List the files in src.', 'search_files', { path: 'src' }],
  ['please show me the files in "my docs"', 'search_files', { path: 'my docs' }],
  ['ls', 'search_files', { path: '.' }],
  ['read notes.md', 'read_file', { path: 'notes.md' }],
  ['Please read the file `src/a b.ts`.', 'read_file', { path: 'src/a b.ts' }],
  ['show me package.json', 'read_file', { path: 'package.json' }],
  ['find "some text" in the project', 'search_files', { pattern: 'some text' }],
  ['search for alpha beta', 'search_files', { pattern: 'alpha beta' }],
  ['create hello.txt with Hello!', 'write_file', { path: 'hello.txt', content: 'Hello!' }],
  ['write a file called a.md with content "# Hi"', 'write_file', { path: 'a.md', content: '# Hi' }],
  ['create x.ts with\n```ts\nlet a = 1\n```', 'write_file', { content: 'let a = 1\n' }],
  ['replace "a b" with "c" in f.txt', 'patch', { old_string: 'a b', new_string: 'c' }],
  ["edit f.txt: replace 'a' by ''", 'patch', { path: 'f.txt', old_string: 'a', new_string: '' }],
  ['run ls -la | head', 'terminal', { command: 'ls -la | head' }],
  ['Run the command `npm test`.', 'terminal', { command: 'npm test' }],
  ['run "echo hi"', 'terminal', { command: 'echo hi' }],
  ['run:\n```sh\necho 1\necho 2\n```', 'terminal', { command: 'echo 1\necho 2' }],
  ['$ uname', 'terminal', { command: 'uname' }],
  ['ask me something', 'clarify'],
  ['make a plan', 'todo'],
  ['make a plan for the garden', 'todo'],
  ['think aloud', ''],
  ['give me a long answer', ''],
  ['count to 30', '29, 30.'],
  ['show Markdown', '| Planet'],
  ['help', 'not* a language model'],
  ['what is the capital of France?', 'not* a language model'],
  ['', 'not* a language model'],
]
for (const [said, tool, args = {}] of SAID)
  test(`understands ${JSON.stringify(said)}`, () => {
    const { text = '', uses } = sceneOf(said)([])
    if (!uses) assert.ok(text.includes(tool))
    else assert.equal(uses[0], { name: tool, args: { ...uses[0]?.args, ...args } })
  })

test('parses hostile text to its end', () => {
  for (const piece of ['run ', 'a ', '"', 'replace "', 'please ', 'create x with '])
    sceneOf(piece.repeat(19_000 / piece.length))
})

test('help says what it is and how to connect a model', async () => {
  const { outcome, events } = await say('who are you?')
  assert.match(outcome.text, 'not* a language model')
  assert.match(outcome.text, 'OPENROUTER_API_KEY')
  assert.ok(events.filter(event => event.type === 'token').length > 50)
  assert.ok(outcome.usage.output_tokens > 100)
  assert.is(outcome.usage.context_length, 8192)
  assert.is(outcome.usage.estimated_cost, 0)
})

test('files: create, list, read, find, change', async () => {
  assert.match((await say('create notes/a.txt with Hello there')).outcome.text, '11 bytes')
  const place = join(bench.workspace, 'notes/a.txt')
  assert.is(readFileSync(place, 'utf8'), 'Hello there')
  assert.match((await say('list files')).outcome.text, 'notes/a.txt')
  assert.match((await say('read notes/a.txt')).outcome.text, 'Hello there')
  assert.match((await say('find "there"')).outcome.text, 'notes/a.txt:1')
  const changed = await say('replace "there" with "you" in notes/a.txt')
  assert.match(changed.outcome.text, '+Hello you')
  assert.is(readFileSync(place, 'utf8'), 'Hello you')
})

test('reports failures as they are', async () => {
  assert.match((await say('list files')).outcome.text, 'no files')
  assert.match((await say('read nothing.txt')).outcome.text, 'does not exist')
  assert.match((await say('find "zzz"')).outcome.text, 'in no file')
  assert.match((await say('read ../state/key')).outcome.text, 'denied')
})

test('commands: exit codes, output, live output', async () => {
  const fine = await say('run `echo hi; exit 0`')
  assert.match(fine.outcome.text, 'exit code 0')
  assert.match(fine.outcome.text, 'hi')
  assert.ok(fine.events.some(event => event.type === 'tool_output' && event.text === 'hi\n'))
  assert.match((await say('run "exit 4"')).outcome.text, 'exit code 4')
})

test('denied, approved and blocked commands', async () => {
  mkdirSync(join(bench.workspace, 'junk'))
  const denied = await say('run rm -r junk')
  assert.match(denied.outcome.text, 'did not run')
  assert.match(denied.outcome.text, 'denied')
  assert.ok(existsSync(join(bench.workspace, 'junk')))
  const allowed = await say('run rm -r junk', { approve: async () => 'once' })
  assert.match(allowed.outcome.text, 'ended well')
  assert.not(existsSync(join(bench.workspace, 'junk')))
  const never = await say('run rm -rf /', { approve: async () => 'always' })
  assert.match(never.outcome.text, 'no approval can allow it')
})

test('a question and its answer', async () => {
  const asked = await say('ask me something', {
    clarify: async (_, choices) => choices[2] ?? null,
  })
  assert.match(asked.outcome.text, 'A plan')
  assert.match((await say('ask me something')).outcome.text, 'own judgment')
})

test('a plan runs its steps', async () => {
  bench.write('one.txt', '')
  const { outcome, events } = await say('make a plan')
  assert.is(outcome.steps, 4)
  assert.match(outcome.text, '3 of 3')
  assert.match(outcome.text, '1 file')
  const names = events.flatMap(event => (event.type === 'tool' ? [event.name] : []))
  assert.equal(names, ['todo', 'search_files', 'todo'])
})

test('thinking, Markdown, length', async () => {
  const thinking = await say('think aloud')
  assert.ok(thinking.messages[0]?.reasoning)
  assert.is(thinking.events[0]?.type, 'reasoning')
  const { text } = (await say('show markdown')).outcome
  for (const part of ['| Planet', '- [x]', '```ts', '> ', '$$', '```mermaid'])
    assert.ok(text.includes(part))
  assert.ok((await say('long answer')).outcome.text.split(' ').length > 300)
  assert.match((await say('count to 20')).outcome.text, '19, 20.')
})

test('explains missing tools', async () => {
  const { outcome } = await say('list files', { tools: [] })
  assert.match(outcome.text, 'not available')
})

test('an abort takes effect between two pieces', async () => {
  const stop = new AbortController()
  let tokens = 0
  const { outcome } = await run(
    demo(systemClock, 1),
    { signal: stop.signal, history: [{ role: 'user', content: 'long answer' }] },
    event => {
      if (event.type === 'token' && ++tokens === 3) stop.abort()
    },
  )
  assert.is(outcome.status, 'stopped')
  assert.is(tokens, 3)
})

test.run()
