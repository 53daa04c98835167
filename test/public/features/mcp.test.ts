/** Parsing and formatting the fields of the MCP server form. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { joinWords, parsePairs, splitWords } from '../../../public/features/mcp/mcp.ts'

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

test.run()
