/** A search whose time is up shows what it has found, and says in words what it has not searched. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { searchFilesTool } from '../../../../lib/agent/tools/search-files.ts'
import { type Bench, createBench } from './_context.ts'

const test = suite('the time of a search')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const NEVER = 600_000
const LINES = 500_000
const LINE = 'error: line 1 of the log, and more text\n'
const LOG = Buffer.alloc(LINES * LINE.length, LINE)
type Hit = { path: string; line: number; content: string }

const search = async (limits: { list?: number; read?: number }, args: Record<string, unknown>) => {
  const tool = searchFilesTool({ list: NEVER, read: NEVER, lines: NEVER, ...limits })
  return JSON.parse((await tool.run(bench.ctx, tool.input.parse(args))).content)
}

for (const [name, pattern] of [
  ['every line', 'error'],
  ['every line, with a lookbehind', '(e)rror|(?<=x)y'],
  ['few lines', 'line 99999 '],
] as const)
  test(`a large log that is not read to its end: ${name}`, async () => {
    bench.write('a.log', LOG)
    const found = await search({ read: 100 }, { pattern, limit: 5 })
    // A fast machine may reach the end.
    if (found.total_is_lower_bound) assert.ok(found.note)
    else assert.is(found.total_count, pattern.startsWith('line') ? 0 : LINES)
    if (found.total_count > 0)
      assert.equal(
        found.matches.map(({ line }: Hit) => line),
        [1, 2, 3, 4, 5],
      )
  })

test('files that were not reached are named in words, with their number', async () => {
  for (let n = 0; n < 100; n++) bench.write(`f${n}.txt`, 'word\n')
  const found = await search({ read: 0 }, { pattern: 'word' })
  assert.equal([found.not_searched.files_out_of_time, found.total_is_lower_bound], [100, true])
  assert.match(found.note, '0 of 100')
  const listed = await search({ list: 0 }, { pattern: '*.txt', target: 'files' })
  assert.ok(listed.note)
})

test('pages of any size are parts of the same list', async () => {
  const FILES = 300
  for (let n = 0; n < FILES; n++)
    bench.write(
      `d${n % 7}/f${n}.txt`,
      Array.from({ length: n % 5 }, (_, at) => `before\nword ${n} ${at}\n`).join(''),
    )
  const all: Hit[] = []
  for (let offset = 0; ; offset += 500) {
    const page = await search({}, { pattern: 'word', limit: 500, offset })
    all.push(...page.matches)
    if (!page.truncated) break
  }
  assert.is(all.length, 600)
  for (const [offset, limit] of [
    [0, 1],
    [0, 50],
    [7, 13],
    [250, 100],
    [599, 10],
  ] as const) {
    const { matches, total_count } = await search({}, { pattern: 'word', offset, limit })
    assert.equal([matches, total_count], [all.slice(offset, offset + limit), 600])
  }
  const around = await search({}, { pattern: 'word 4 1', context: 1, limit: 1 })
  assert.is(around.matches[0].content, 'before\nword 4 1\nbefore')
})

test.run()
