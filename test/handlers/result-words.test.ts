/** Results of all tools as the page shows them: refusals and errors first, then every tool that a model is offered. */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../_call.ts'
import { toolSearch } from '../../lib/agent/tools/tool-search.ts'
import { visionAnalyzeTool } from '../../lib/agent/tools/vision-analyze.ts'
import { webExtractTool } from '../../lib/agent/tools/web-extract.ts'
import { webSearchTool } from '../../lib/agent/tools/web-search.ts'
import type { ToolResult } from '../../lib/agent/types.ts'
import { describeToolCall } from '../../public/features/tool-calls/describe-tool-call.ts'
import { parseResult } from '../../public/features/tool-calls/result-body.ts'
import { hasFailed, outcomeOf } from '../../public/features/tool-calls/outcome.ts'
import type { ScriptedCall } from '../_provider.ts'
import { startChat } from './_chat.ts'

const test = suite('result words')

test('failures of other programs: by exit code or field; a success is none', () => {
  const FAILED = ['{"output":"x","exit_code":1}', '{"success":false,"error":"x"}', '{"error":"x"}']
  for (const content of FAILED)
    assert.equal([hasFailed(content, {}), outcomeOf(content).state], [true, 'failed'])
  for (const content of [
    '{"output":"x","exit_code":0}',
    '{"success": true}',
    '',
    'Error handling: a guide',
  ])
    assert.equal([hasFailed(content, {}), outcomeOf(content).state], [false, 'ok'])
  const moved = outcomeOf(
    '{"output":"a","session_id":"proc_1","pid":7,"exit_code":null,"error":null}',
  )
  assert.equal([moved.state, moved.isInBackground], ['ok', true])
})

test('malformed, truncated, and foreign results become text or fields, never JSON', () => {
  assert.is(parseResult('x', '').body.kind, 'nothing')
  assert.is(parseResult('x', '{').body.kind, 'text')
  assert.is(parseResult('x', '[image: a.png, 1×1, 1 kB]').body.kind, 'text')
  assert.equal(parseResult('terminal', '{"exit_code":0,"output":"line one\\nline tw\\u00').body, {
    kind: 'output',
    text: 'line one\nline tw',
  })
  assert.equal(parseResult('mcp_x_y', '{"message":"All good"}').body, {
    kind: 'text',
    text: 'All good',
  })
  assert.equal(parseResult('mcp_x_y', '{"dirsCreated":1,"file_names":["a"],"success":true}').body, {
    kind: 'fields',
    fields: [
      { label: 'Dirs created', value: 1 },
      { label: 'File names', value: ['a'] },
    ],
  })
  assert.is(parseResult('mcp_x_y', '[{"id":1},{"id":2}]').body.kind, 'fields')
  assert.is(parseResult('todo', '{"todos":[{"content":"x","status":"odd"}]}').body.kind, 'todo')
  assert.is(
    parseResult('x', '{"matches":[{"path":"a","line":1}],"total_count":9}').body.kind,
    'matches',
  )
})

test('numbers of lines leave the text of a file; a note about omitted lines has none', () => {
  const content = JSON.stringify({ content: '  9|a|b\n 10|\n[… 5 characters left out …]\n 12|c' })
  assert.equal(parseResult('read_file', content).body, {
    kind: 'code',
    lines: [
      { number: 9, text: 'a|b' },
      { number: 10, text: '' },
      { number: null, text: '[… 5 characters left out …]' },
      { number: 12, text: 'c' },
    ],
  })
})

test('the place of a stored result is found, and its note is not shown', () => {
  const offloaded =
    '[This result has 9 characters. All of it is in /state/c1.txt: read it in parts with read_file, or look through it with search_files. It begins and ends like this:]\nabc'
  const result = parseResult('mcp_x_y', offloaded)
  assert.equal([result.storedAt, result.body], ['/state/c1.txt', { kind: 'text', text: 'abc' }])
  const output = 'a\n[… 7 characters left out; all of it is in /state/c 2.txt …]\nb'
  assert.is(parseResult('terminal', JSON.stringify({ output })).storedAt, '/state/c 2.txt')
  assert.is(parseResult('terminal', JSON.stringify({ output: 'a' })).storedAt, null)
})

/** A call for each tool of a usual home. Those that are not listed need a server and are tested below. */
const CALLS: Readonly<Record<string, Record<string, unknown>>> = {
  terminal: { command: 'echo hello' },
  process: { action: 'list' },
  write_file: { path: 'new/a.txt', content: 'one\n' },
  read_file: { path: 'new/a.txt' },
  patch: { path: 'new/a.txt', old_string: 'one', new_string: 'two' },
  search_files: { pattern: 'o', target: 'content' },
  todo: { todos: [{ id: '1', content: 'Do it', status: 'in_progress' }] },
  memory: { action: 'add', target: 'memory', content: 'Likes short answers' },
  skills_list: {},
  skill_manage: {
    action: 'create',
    name: 'note',
    content: '---\nname: note\ndescription: A note\n---\nText',
  },
  skill_view: { name: 'note' },
  session_search: { query: 'nothing like this' },
  cronjob: { action: 'create', schedule: 'every 2h', prompt: 'Check it', name: 'Check' },
  execute_code: { code: 'print("hi")' },
  delegate_task: { goal: 'look' },
}
const ELSEWHERE = ['clarify', 'web_search', 'web_extract', 'vision_analyze', 'exit_plan_mode']

const checkWords = (name: string, args: Record<string, unknown>, content: string): void => {
  assert.is.not(describeToolCall(name, args).icon, 'wrench', `${name} has no words for its line`)
  const { error, notes, body } = parseResult(name, content)
  assert.is.not(body.kind, 'fields', `${name}: ${content}`)
  assert.not.match([error, ...notes, 'text' in body ? body.text : ''].join('\n'), /[{}]|_/, name)
  assert.ok(
    error || notes.length > 0 || body.kind !== 'nothing',
    `${name} says nothing: ${content}`,
  )
}

test('every tool that a model is offered has words for its call, its result, and its error', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  // The model is offered every tool there is.
  appendFileSync(join(app.home, 'config.yaml'), 'tools:\n  tool_search: off\n')
  const id = await chat.newSession()
  await app.post('/api/session/yolo', { session_id: id, enabled: true })
  const calls: ScriptedCall[] = Object.entries(CALLS).map(([name, args]) => ({
    id: `ok_${name}`,
    name,
    arguments: args,
  }))
  provider.otherwise = () => ({ text: 'done' })
  // One after the other, because some need what an earlier one made.
  for (const call of calls) provider.push({ toolCalls: [call] })
  await chat.turn(id, 'do all')
  const offered: string[] = provider.requests[0]!.body.tools.map(
    (tool: { function: { name: string } }) => tool.function.name,
  )
  assert.equal(
    offered.filter(name => !(name in CALLS) && !ELSEWHERE.includes(name)),
    [],
    'a new tool needs a call in this test',
  )
  const results = new Map(
    (await chat.messages(id))
      .filter(({ role }) => role === 'tool')
      .map(message => [String(message.tool_call_id), String(message.content)]),
  )
  for (const name of Object.keys(CALLS)) {
    const content = results.get(`ok_${name}`) ?? ''
    assert.is(outcomeOf(content).state, 'ok', `${name}: ${content}`)
    checkWords(name, CALLS[name]!, content)
  }
  provider.push({
    toolCalls: offered
      .filter(name => name !== 'clarify')
      .map(name => ({ id: `bad_${name}`, name, arguments: { nonsense: 1, path: 5, action: 7 } })),
  })
  await chat.turn(id, 'fail')
  for (const message of await chat.messages(id)) {
    const [, name] = /^bad_(.+)$/.exec(String(message.tool_call_id)) ?? []
    if (name && outcomeOf(String(message.content)).state === 'failed') {
      const { error, body } = parseResult(name, String(message.content))
      assert.ok(error, `${name}: ${message.content}`)
      assert.is(body.kind, 'nothing', name)
    }
  }
  await chat.close()
})

test('results of tools that need a server have words, too', async () => {
  const ctx = callContext()
  const contentOf = async (result: ToolResult | Promise<ToolResult>) => (await result).content
  const page = { url: 'https://example.com/a', title: 'A page', content: 'Long text' }
  const search = webSearchTool({
    search: async () => [{ title: 'A page', url: page.url, description: 'About it' }],
  } as unknown as Parameters<typeof webSearchTool>[0])
  const found = await contentOf(search.run(ctx, { query: 'x', limit: 3 } as never))
  checkWords('web_search', {}, found)
  assert.equal(parseResult('web_search', found).body, {
    kind: 'items',
    items: [{ title: 'A page', url: page.url, note: 'example.com', text: 'About it' }],
  })
  checkWords(
    'web_extract',
    {},
    JSON.stringify({ success: true, results: [{ ...page, error: null }] }),
  )
  assert.is(webExtractTool.name.length > 0, true)
  checkWords('vision_analyze', {}, JSON.stringify({ success: true, analysis: 'A cat' }))
  assert.is(visionAnalyzeTool.name.length > 0, true)
  checkWords('tool_search', {}, JSON.stringify({ tools: [{ name: 'a', description: 'b' }] }))
  assert.is(toolSearch.name.length > 0, true)
  checkWords('exit_plan_mode', {}, JSON.stringify({ approved: false, feedback: 'Smaller steps' }))
  checkWords('clarify', {}, JSON.stringify({ question: 'Which?', user_response: 'The first' }))
})

test.run()
