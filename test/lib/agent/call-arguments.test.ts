/** Arguments of tool calls: near misses are read, what changes the meaning of a call is refused, with the place or the right name. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { coerceArguments } from '../../../lib/agent/coerce-arguments.ts'
import { readArguments } from '../../../lib/agent/tool-calls.ts'
import { CALLABLE } from '../../../lib/agent/code/languages.ts'
import { webExtractTool, type WebExtractStore } from '../../../lib/agent/tools/web-extract.ts'
import { webSearchTool, type WebSearchStore } from '../../../lib/agent/tools/web-search.ts'
import { toolbox } from '../../../lib/agent/tools/toolbox.ts'

const test = suite('arguments of calls')

/** What servers and models write, and what they mean. */
const READ: [string, Record<string, unknown>][] = [
  ['', {}],
  ['{}', {}],
  ['null', {}],
  ['[]', {}],
  ['""', {}],
  ['None', {}],
  ['"{}"', {}],
  ['"{\\"a\\":1}"', { a: 1 }],
  ['[{"a":1}]', { a: 1 }],
  ['{"pattern":"\\d+\\.ts"}', { pattern: '\\d+\\.ts' }],
  ['{"pattern":"\\bfoo\\(\\w*\\)"}', { pattern: '\\bfoo\\(\\w*\\)' }],
  ['{"pattern":"\\\\d+\\.ts"}', { pattern: '\\d+\\.ts' }],
  ['{"path":"C:\\Users\\new\\table.txt"}', { path: 'C:\\Users\\new\\table.txt' }],
  ['{"path":"C:\\\\Users\\\\new"}', { path: 'C:\\Users\\new' }],
  ['{"text":"it\\\'s \\u00e9 \\x41"}', { text: "it's é \\x41" }],
  ['{"text":"a\nb\tc"}', { text: 'a\nb\tc' }],
  ['```json\n{"a":1}\n```', { a: 1 }],
  ['```\n{"a":1}', { a: 1 }],
  ['json\n{"a":1}', { a: 1 }],
  ['<arguments>{"a":1}</arguments>', { a: 1 }],
  ['{"a":1}</tool_call>', { a: 1 }],
  ['{"a":1}\n</function>\n<|im_end|>', { a: 1 }],
  ['{"a":1} That should do it.', { a: 1 }],
  ['{"a":1}}', { a: 1 }],
  ['{"a":1', { a: 1 }],
  ['{"a":{"b":[1,2]}', { a: { b: [1, 2] } }],
  ['{a:1, b_c:"x"}', { a: 1, b_c: 'x' }],
  ["{'a':'it\"s'}", { a: 'it"s' }],
  ['{"a":True,"b":None,"c":[1,],}', { a: true, b: null, c: [1] }],
  ['{"a":1, // the first\n"b":/* x */2}', { a: 1, b: 2 }],
  ['{"pa{"path":"a{"path":"a.ts"}', { path: 'a.ts' }],
  ['{"n":1}{"n":1}', { n: 1 }],
  ['{"a":""}{"a":"x"}{"a":"xy","b":1}', { a: 'xy', b: 1 }],
  ['{"constructor":1,"__proto__x":2}', { constructor: 1, __proto__x: 2 }],
]
for (const [text, args] of READ)
  test(`read: ${JSON.stringify(text)}`, () => {
    const read = readArguments(text)
    assert.equal(read.ok ? read.args : read.reason, args)
  })

const LISTS: [string, string[]][] = [
  ['["a","b"]', ['a', 'b']],
  [`['a','b']`, ['a', 'b']],
  ['["a","b",]', ['a', 'b']],
  ['a', ['a']],
  ['[a] and b', ['[a] and b']],
]
for (const [text, list] of LISTS)
  test(`a list written as text: ${text}`, () => {
    const read = coerceArguments(z.object({ urls: z.array(z.string()) }), { urls: text })
    assert.equal(read.ok && read.input, { urls: list })
  })

/** Text, and the position (from 1) that the reason names; null: it names none. */
const REFUSED: [string, number | null][] = [
  ['{"path":"a","content":"half of i', 23],
  ['{"a":1,', 8],
  ['{"a":', 6],
  ['{"a":{"b":1', 12],
  ['{"a":toString}', 6],
  ['{"say":"he said "hi" twice"}', 18],
  ['{"n":1}{"n":2}', 8],
  ['{"n":1}\n\n{"m":2}', 8],
  ['{"command":"rm -r a"}, "workdir":"b"}', 22],
  ['{"n":1}</tool_call>\n<tool_call>{"n":2}', 8],
  ['5', null],
  ['"pwd"', null],
  ['[1]', null],
  ['[{"a":1},{"a":2}]', null],
  ['pwd', 1],
  [`{"a":${'['.repeat(5_000)}`, 105],
]
for (const [text, at] of REFUSED)
  test(`refused: ${JSON.stringify(text.slice(0, 60))}`, () => {
    const read = readArguments(text)
    assert.is(read.ok, false)
    const [, place] = /at character (\d+) of/.exec(read.ok ? '' : read.reason) ?? []
    assert.is(place === undefined ? null : Number(place), at)
  })

test('a missing bracket is told from a whole object: a text that was cut is not run', () => {
  const isClosed = (text: string) => {
    const read = readArguments(text)
    return read.ok && read.isClosed
  }
  assert.equal(['{"a":1}', '{"a":1', '{a:1}', '{a:1'].map(isClosed), [true, false, true, false])
})

const tools = toolbox()
const fit = (name: string, given: Record<string, unknown>) => {
  const tool = tools.find(each => each.name === name)
  if (!tool) throw new Error(`There is no tool ${name}.`)
  return coerceArguments(tool.input, given)
}

/** Arguments of other agents, and ours. */
const MEANT: [string, Record<string, unknown>, Record<string, unknown>][] = [
  ['terminal', { command: 'pwd', cwd: 'sub' }, { workdir: 'sub' }],
  ['terminal', { command: 'pwd', working_directory: 'sub' }, { workdir: 'sub' }],
  ['terminal', { command: 'pwd', workingDir: 'sub', description: 'Where?' }, { workdir: 'sub' }],
  ['terminal', { cmd: 'pwd', run_in_background: true }, { command: 'pwd', background: true }],
  ['terminal', { command: 'pwd', timeout_ms: 30_000 }, { timeout: 30 }],
  ['terminal', { command: 'pwd', timeoutMs: '5000' }, { timeout: 5 }],
  ['terminal', { command: 'pwd', cwd: null, workdir: 'a' }, { workdir: 'a' }],
  ['terminal', { command: 'pwd', cwd: 'a', workdir: 'a' }, { workdir: 'a' }],
  ['terminal', { parameters: { cmd: 'pwd' } }, { command: 'pwd' }],
  ['read_file', { filePath: 'a', offset: 0, limit: 5_000 }, { path: 'a', offset: 1, limit: 2_000 }],
  [
    'read_file',
    { absolute_path: '/a', start_line: '7', end_line: 9 },
    { path: '/a', offset: 7, limit: 3 },
  ],
  ['read_file', { path: 'a', start_line: 7, end_line: -1 }, { offset: 7, limit: 2_000 }],
  ['read_file', { target_file: 'a' }, { path: 'a' }],
  ['write_file', { file_path: 'a', contents: 'x' }, { path: 'a', content: 'x' }],
  ['write_file', { path: 'a', file_text: 'x' }, { content: 'x' }],
  [
    'patch',
    { filePath: 'a', oldString: 'x', newString: 'y', replaceAll: true },
    { path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
  ],
  ['patch', { path: 'a', old_str: 'x', new_str: '' }, { old_string: 'x', new_string: '' }],
  ['patch', { input: '*** Begin Patch' }, { patch: '*** Begin Patch' }],
  ['search_files', { pattern: 'a', include: '*.ts' }, { file_glob: '*.ts' }],
  ['search_files', { pattern: 'a', glob: '*.ts', '-n': true }, { pattern: 'a', file_glob: '*.ts' }],
  ['search_files', { pattern: 'a', case_sensitive: false }, { pattern: '(?i)a' }],
  ['search_files', { query: 'a', caseSensitive: true }, { pattern: 'a' }],
  ['search_files', { pattern: '(?i)a', '-i': true }, { pattern: '(?i)a' }],
  [
    'search_files',
    { regex: 'a', output_mode: 'files_with_matches', '-C': 90, head_limit: 9 },
    { pattern: 'a', output_mode: 'files_only', context: 20, limit: 9 },
  ],
  [
    'todo',
    { todos: [{ content: 'a', status: 'in-progress', activeForm: 'doing a', priority: 'high' }] },
    { todos: [{ content: 'a', status: 'in_progress' }] },
  ],
  [
    'todo',
    { items: [{ id: 1, content: 'a', status: 'done' }] },
    { todos: [{ id: '1', content: 'a', status: 'completed' }] },
  ],
  ['read_file', { path: ['a'], start: 3, end: '5' }, { path: 'a', offset: 3, limit: 3 }],
  ['write_file', { path: 'a', content: 'x', overwrite: true }, { content: 'x' }],
  ['patch', { path: 'a', old: 'x', new: 'y', expected_replacements: 1 }, { replace_all: false }],
  ['patch', { mode: 'V4A', input: 'x' }, { mode: 'patch', patch: 'x' }],
  ['search_files', { pattern: 'a', include: ['*.ts'] }, { file_glob: '*.ts' }],
  ['search_files', { pattern: 'a', target: 'file' }, { target: 'files' }],
  ['todo', { plan: [{ step: 'a' }] }, { todos: [{ content: 'a', status: 'pending' }] }],
  ['process', { action: 'stop', id: 'p' }, { action: 'kill', session_id: 'p' }],
  ['process', { action: 'submit', process_id: 'p', input: 'y' }, { session_id: 'p', data: 'y' }],
]
for (const [name, given, expected] of MEANT)
  test(`${name} ${JSON.stringify(given)}`, () => {
    const fitted = fit(name, given)
    if (!fitted.ok) throw new Error(fitted.error)
    const input = fitted.input as Record<string, unknown>
    const seen = Object.keys(expected).map(key => [key, input[key]])
    assert.equal(Object.fromEntries(seen), expected)
  })

/** Arguments without a meaning here, and the name that the error gives. */
const UNKNOWN: [string, Record<string, unknown>, RegExp][] = [
  ['terminal', { command: 'rm -rf build', cwd: 'a', workdir: 'b' }, /^cwd: .*workdir/],
  ['terminal', { command: 'pwd', workdri: 'sub' }, /^workdri: .*use workdir/],
  ['terminal', { command: 'pwd', user: 'root' }, /^user: .*there are command, timeout/],
  ['terminal', { command: 'pwd', env: { A: '1' } }, /^env: /],
  ['read_file', { path: 'a', encoding: 'utf-16' }, /^encoding: /],
  [
    'search_files',
    { pattern: '*.ts', target: 'files', case_sensitive: false },
    /^case_sensitive: /,
  ],
  ['search_files', { pattern: 'a', multiline: true }, /^multiline: /],
  ['search_files', { pattern: 'a', invert_match: true }, /^invert_match: /],
  ['todo', { todos: [{ content: 'a', status: 'pending', due: 'now' }] }, /^todos\.0\.due: /],
  ['todo', { todos: [{ content: 'a', status: 'later' }] }, /^todos\.0\.status: /],
  ['write_file', { path: 'a', content: 'x', overwrite: false }, /^overwrite: /],
  [
    'patch',
    { path: 'a', old: 'x', new: 'y', expected_replacements: 2 },
    /^expected_replacements: /,
  ],
  ['search_files', { pattern: 'a', include: ['*.ts', '*.js'] }, /^file_glob: /],
]
for (const [name, given, error] of UNKNOWN)
  test(`${name} ${JSON.stringify(given)} is refused`, () => {
    const fitted = fit(name, given)
    assert.match(fitted.ok ? '' : fitted.error, error)
  })

test('0 is no number where it is too small, and too much is as much as there can be', () => {
  const schema = z.object({ n: z.int().min(1).max(9).default(5) })
  const inputOf = (n: number) => {
    const fitted = coerceArguments(schema, { n })
    return fitted.ok ? fitted.input : null
  }
  assert.equal([0, 1, 9, 10, -1].map(inputOf), [{ n: 5 }, { n: 1 }, { n: 9 }, { n: 9 }, null])
})

test('scripts may give every argument that their functions name', () => {
  const web = [
    webSearchTool({ search: async () => [] } as unknown as WebSearchStore),
    webExtractTool({ read: async () => ({}) } as unknown as WebExtractStore),
  ]
  for (const [name, names] of Object.entries(CALLABLE)) {
    const input = [...tools, ...web].find(tool => tool.name === name)?.input
    const known = input instanceof z.ZodObject ? Object.keys(input.shape) : []
    assert.equal(
      names.filter(each => !known.includes(each)),
      [],
      name,
    )
  }
})

test('a schema that allows other names gets all of them as they are', () => {
  const loose = z.looseObject({ workdir: z.string().optional() })
  const each: Record<string, unknown>[] = [{ cwd: 'a', arguments: { filePath: 1 } }]
  // Many MCP tools take a single object under such a name.
  for (const name of ['params', 'input', 'args', 'arguments', 'parameters'])
    each.push({ [name]: { a: 1 } })
  for (const given of each) {
    const fitted = coerceArguments(loose, given)
    assert.equal(fitted.ok && fitted.args, given)
  }
})

test.run()
