/** Shortened tool results and arguments for the page. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  countResultLines,
  MAX_SHOWN_CHARS,
  shortenResult,
} from '../../../lib/turns/result-preview.ts'
import { shortArgs } from '../../../lib/turns/to-stream-event.ts'

const test = suite('result preview')

test('returns a short result unchanged', () => {
  assert.is(shortenResult('{"output":"ok"}'), '{"output":"ok"}')
})

test('shortens the long field of a JSON result and keeps the short ones', () => {
  const content = JSON.stringify({ output: 'x\n'.repeat(20_000), exit_code: 3, error: 'bad' })
  const short = shortenResult(content)
  assert.ok(short.length <= MAX_SHOWN_CHARS)
  const { output, exit_code, error } = JSON.parse(short)
  assert.equal([exit_code, error], [3, 'bad'])
  assert.ok(output.startsWith('x\n') && output.endsWith('x\n'))
})

test('keeps the first items of a long list', () => {
  const matches = Array.from({ length: 2_000 }, (_, n) => ({ line: n }))
  const short = JSON.parse(shortenResult(JSON.stringify({ matches, total: 2_000 })))
  assert.is(short.total, 2_000)
  assert.equal(short.matches[0], { line: 0 })
  assert.ok(short.matches.length < 2_000)
})

test('cuts a diff at a line end', () => {
  const diff = Array.from({ length: 3_000 }, (_, n) => `+line ${n}\n`).join('')
  const short = JSON.parse(shortenResult(JSON.stringify({ diff })))
  assert.ok(short.diff.endsWith('\n'))
  assert.ok(diff.startsWith(short.diff))
})

test('truncates text that only looks like JSON to head and tail', () => {
  const short = shortenResult(`{ not json ${'y'.repeat(10_000)} end`, 500)
  assert.ok(short.length <= 500)
  assert.ok(short.startsWith('{ not json') && short.endsWith('end'))
})

test('counts the lines of the output, not of the JSON around it', () => {
  assert.is(countResultLines(JSON.stringify({ output: 'a\nb\nc\n' })), 3)
  assert.is(countResultLines(JSON.stringify({ content: 'a\nb' })), 2)
  assert.is(countResultLines('plain\ntext'), 2)
})

test('shortens arguments to four of at most 120 characters', () => {
  const args = shortArgs({ a: 'x'.repeat(200), b: { c: 1 }, d: undefined, e: 2, f: 'left out' })
  assert.equal(Object.keys(args), ['a', 'b', 'd', 'e'])
  assert.is(args.a, `${'x'.repeat(120)}...`)
  assert.equal([args.b, args.d, args.e], ['{"c":1}', '', '2'])
})

test.run()
