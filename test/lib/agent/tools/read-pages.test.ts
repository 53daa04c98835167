/** Any part of a file of any size can be read, and numbers outside the limits cost no step. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Bench, createBench, refused } from './_context.ts'

const test = suite('pages of a file')

let bench: Bench
test.before.each(() => {
  bench = createBench()
})
test.after.each(() => bench.close())

const read = (given: Record<string, unknown> = {}) =>
  bench.json('read_file', { path: 'f', ...given })
/** The numbers and the text of the lines. */
const linesOf = ({ content }: { content: string }) =>
  content === '' ? [] : content.split('\n').map(line => line.trimStart())

const LINES = 40_000
const line = (n: number) => `line ${n} ${'x'.repeat(n % 500)}`
const TEXT = Array.from({ length: LINES }, (_, at) => `${line(at + 1)}\n`).join('')

for (const [name, bytes] of [
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`)],
  ['Windows line ends', Buffer.from(TEXT.replaceAll('\n', '\r\n'))],
  ['UTF-16 LE', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ['UTF-16 BE', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16()],
  ['no line end at the end', Buffer.from(TEXT.slice(0, -1))],
] as const)
  test(`a large file: ${name}`, async () => {
    bench.write('f', bytes)
    for (const [offset, limit] of [
      [1, 3],
      [4, 3],
      [LINES / 2, 2],
      [2, 1],
      [LINES - 1, 50],
      [LINES, 1],
    ] as const) {
      const page = await read({ offset, limit })
      const last = Math.min(LINES, offset + limit - 1)
      assert.equal(
        linesOf(page),
        Array.from({ length: last - offset + 1 }, (_, at) => `${offset + at}|${line(offset + at)}`),
      )
      assert.is(page.file_size, bytes.length)
    }
    const beyond = await read({ offset: LINES + 5 })
    assert.equal([beyond.content, beyond.total_lines, beyond.truncated], ['', LINES, false])
    assert.ok(beyond.note)
  })

test('a large file is paged to its end by the hints', async () => {
  bench.write('f', TEXT)
  let offset = LINES - 5_000
  let count = 0
  for (;;) {
    const page = await read({ offset, limit: 2_000 })
    count += linesOf(page).length
    if (!page.truncated) break
    offset = Number(/offset=(\d+)/.exec(page.hint)?.[1])
  }
  assert.is(count, 5_001)
})

test('a large binary file is refused', async () => {
  bench.write('f', Buffer.alloc(11 * 1024 * 1024))
  assert.match(await refused(read()), 'binary')
})

test.run()
