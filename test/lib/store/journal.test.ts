/** Journal files: append, repair, undo and read lines. */
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { UserError } from '../../../lib/errors.ts'
import { Journal, readLines, readLinesBackward, fileStamp } from '../../../lib/store/journal.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; path: string }>('store/journal')

test.before.each(context => {
  context.dir = tempDir('journal')
  context.path = join(context.dir, 'a.jsonl')
})

const read = (path: string, way: typeof readLines | typeof readLinesBackward): string[] => {
  const fd = openSync(path, 'r')
  try {
    return [...way(fd)].map(({ bytes }) => bytes.toString())
  } finally {
    closeSync(fd)
  }
}

test('rejects a missing file, and an existing one on creation', ({ path }) => {
  assert.throws(() => new Journal(path), /ENOENT/)
  new Journal(path, { create: true }).close()
  assert.throws(() => new Journal(path, { create: true }), /EEXIST/)
})

test('rejects every call after close', async ({ path }) => {
  const journal = new Journal(path, { create: true })
  journal.close()
  journal.close()
  assert.throws(() => journal.append(['x']), /open journal/)
  await journal.sync().then(
    () => assert.unreachable(),
    error => assert.match(error.message, /open journal/),
  )
})

test('reverts a short write and reports a full disk', ({ path }) => {
  let space = 1000
  const journal = new Journal(path, {
    create: true,
    write: (fd, data) => {
      const count = Math.min(space, data.length)
      space -= count
      return writeSync(fd, data.subarray(0, count))
    },
  })
  journal.append(['{"a":1}'])
  space = 3
  try {
    journal.append(['{"b":2}', '{"c":3}'])
    assert.unreachable()
  } catch (error) {
    assert.is((error as UserError).kind, 'full')
  }
  assert.is(readFileSync(path, 'utf8'), '{"a":1}\n')
  assert.is(journal.size, 8)
  space = 1000
  journal.append(['{"d":4}'])
  assert.is(readFileSync(path, 'utf8'), '{"a":1}\n{"d":4}\n')
  journal.close()
})

test('a failed write leaves the file unchanged', ({ path }) => {
  const journal = new Journal(path, {
    create: true,
    write: () => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    },
  })
  assert.throws(
    () => journal.append(['x']),
    (error: UserError) => error.kind === 'full',
  )
  assert.is(readFileSync(path, 'utf8'), '')
  journal.close()
})

test('removes a half-written line on open; keeps a complete foreign line aside', ({
  path,
  dir,
}) => {
  writeFileSync(path, '{"a":1}\n{"b":')
  new Journal(path).close()
  assert.is(readFileSync(path, 'utf8'), '{"a":1}\n')
  assert.not.ok(existsSync(join(dir, 'a.torn')))
  appendFileSync(path, '{"whole":true}')
  new Journal(path).close()
  assert.is(readFileSync(path, 'utf8'), '{"a":1}\n')
  assert.is(readFileSync(join(dir, 'a.torn'), 'utf8'), '{"whole":true}\n')
})

test('a file with only half a line becomes empty', ({ path }) => {
  writeFileSync(path, '{"a"')
  const journal = new Journal(path)
  assert.is(journal.size, 0)
  journal.append(['{}'])
  assert.is(readFileSync(path, 'utf8'), '{}\n')
  journal.close()
})

test('reads the same lines in both directions, any length, without an unfinished one', ({
  path,
}) => {
  const lines = ['', 'a', 'x'.repeat(65_535), 'y'.repeat(65_536), 'ä'.repeat(200_000), '', 'z']
  writeFileSync(path, `${lines.join('\n')}\nunfinished`)
  assert.equal(read(path, readLines), lines)
  assert.equal(read(path, readLinesBackward).reverse(), lines)
  writeFileSync(path, 'unfinished')
  assert.equal(read(path, readLines), [])
  assert.equal(read(path, readLinesBackward), [])
  writeFileSync(path, '')
  assert.equal(read(path, readLinesBackward), [])
})

test('offsets match the lines', ({ path }) => {
  const lines = Array.from(
    { length: 5_000 },
    (_, index) => `line ${index} ${'é'.repeat(index % 50)}`,
  )
  writeFileSync(path, `${lines.join('\n')}\n`)
  const bytes = readFileSync(path)
  const fd = openSync(path, 'r')
  const offsets = [...readLines(fd)].map(({ offset }) => offset)
  for (const line of readLinesBackward(fd)) {
    assert.is(offsets.pop(), line.offset)
    assert.ok(bytes.subarray(line.offset, line.offset + line.bytes.length).equals(line.bytes))
  }
  assert.equal(
    [...readLinesBackward(fd, 14)].map(line => line.bytes.toString()),
    ['line 0 '],
  )
  closeSync(fd)
})

test('sync resolves for every caller, also during another sync and after close', async ({
  path,
}) => {
  const journal = new Journal(path, { create: true })
  journal.append(['x'])
  const all = [journal.sync(), journal.sync(), journal.sync()]
  journal.close()
  await Promise.all(all)
})

test('the stamp changes with every append', ({ path }) => {
  const journal = new Journal(path, { create: true })
  const before = journal.stat()
  journal.append(['x'])
  assert.is.not(journal.stat(), before)
  assert.is(journal.stat(), fileStamp(path))
  assert.is(fileStamp(`${path}.none`), undefined)
  journal.close()
})

test.run()
