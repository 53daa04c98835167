/** Parsing and formatting the fields of the MCP server form. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  joinWords,
  parsePairs,
  parseSnippet,
  splitWords,
} from '../../../public/features/mcp/mcp.ts'

const test = suite('page: MCP server form')

test('rejects an unclosed quote and a line without a name', () => {
  assert.is(splitWords('npx "pkg'), null)
  assert.is(parsePairs('NAME=value\njust words'), null)
})

test('splits a command line as a shell does', () => {
  assert.equal(splitWords('  npx -y  "a b" \'c "d"\' e\\ f "" '), [
    'npx',
    '-y',
    'a b',
    'c "d"',
    'e f',
    '',
  ])
  assert.equal(splitWords(''), [])
})

test('joining and splitting words round-trips', () => {
  for (const words of [['npx'], ['a b', '', 'c"d', "it's", 'back\\slash'], ['--x=1 2']])
    assert.equal(splitWords(joinWords(words)), words)
})

test('parses one pair per line, with = or :', () => {
  assert.equal(parsePairs('A=1\n\n B = two=2 \nAuthorization: Bearer x:y'), {
    A: '1',
    B: 'two=2',
    Authorization: 'Bearer x:y',
  })
})

/** Kind, name, and what reaches it. */
const SNIPPETS: [text: string, servers: string[]][] = [
  [
    '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@mcp/files", "/a b"], "env": {"KEY": "x"}}}}',
    ['stdio files npx -y @mcp/files "/a b" KEY=x'],
  ],
  [
    '{"servers": {"docs": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer x"}}}}',
    ['http docs https://h/mcp Authorization: Bearer x'],
  ],
  // Without the braces around it, and with a comma at the end, as many READMEs have it.
  [
    '"mcpServers": {\n "a": { "command": "a", },\n "b": { "serverUrl": "https://h/b" },\n},',
    ['stdio a a ', 'http b https://h/b '],
  ],
  ['{"git": {"command": "uvx", "args": ["mcp-git"]}}', ['stdio git uvx mcp-git ']],
  ['{"command": "uvx", "args": ["mcp-git"]}', ['stdio  uvx mcp-git ']],
  ['{"mcpServers": {}}', []],
  ['npx -y @mcp/files', []],
  ['{"a": 1}', []],
  ['', []],
]
for (const [text, servers] of SNIPPETS)
  test(`a pasted snippet: ${text.slice(0, 40)}`, () => {
    assert.equal(
      parseSnippet(text).map(({ kind, name, line, env, url, headers }) =>
        kind === 'stdio' ? `stdio ${name} ${line} ${env}` : `http ${name} ${url} ${headers}`,
      ),
      servers,
    )
  })

test.run()
