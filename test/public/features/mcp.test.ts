/** What is typed into the form of an MCP server, read and written back. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { joinWords, parsePairs, splitWords } from '../../../public/features/mcp/mcp.ts'

const test = suite('the form of an MCP server')

test('an open quote and a line without a name are refused', () => {
  assert.is(splitWords('npx "pkg'), null)
  assert.is(parsePairs('NAME=value\njust words'), null)
})

test('a command line is words, as in a shell', () => {
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

test('what is written is read back as it was', () => {
  for (const words of [['npx'], ['a b', '', 'c"d', "it's", 'back\\slash'], ['--x=1 2']])
    assert.equal(splitWords(joinWords(words)), words)
})

test('pairs: one a line, by an equals sign or a colon', () => {
  assert.equal(parsePairs('A=1\n\n B = two=2 \nAuthorization: Bearer x:y'), {
    A: '1',
    B: 'two=2',
    Authorization: 'Bearer x:y',
  })
})

test.run()
