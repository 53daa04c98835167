/** One JSON file: reread when it changes, never overwritten while it is damaged, written through symlinks. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import { CachedFile } from '../../../lib/store/cached-file.ts'
import { JsonFile } from '../../../lib/store/json-file.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ dir: string; path: string }>('json file')
test.before.each(context => {
  context.dir = tempDir('json-file')
  context.path = join(context.dir, 'a.json')
})

const numbers = (value: unknown): number[] => {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new Error('not a list')
  return value
}

test('the same problem gives the same object, as the same content does', ({ path }) => {
  symlinkSync('nowhere', path)
  const file = new CachedFile(path, ({ problem }) => ({ problem }))
  assert.is(file.read(), file.read())
})

test('rejects overwriting a broken file, with the reason', ({ path }) => {
  writeFileSync(path, '[1, 2')
  const file = new JsonFile(path, numbers)
  assert.equal(file.read(), [])
  assert.ok(file.problem())
  assert.throws(
    () => file.write([3]),
    (error: unknown) => error instanceof UserError && error.kind === 'conflict',
  )
  assert.is(readFileSync(path, 'utf8'), '[1, 2')
})

test('reports a wrong format like invalid JSON', ({ path }) => {
  writeFileSync(path, '{"a":1}')
  const file = new JsonFile(path, numbers)
  assert.is(file.problem(), 'not a list')
  assert.throws(() => file.write([1]))
})

test('uses the last good value while the file is broken', ({ path }) => {
  const file = new JsonFile(path, numbers)
  file.write([1])
  assert.equal(file.read(), [1])
  writeFileSync(path, '[1,')
  assert.equal(file.read(), [1])
  assert.ok(file.problem())
  writeFileSync(path, '[1,2]')
  assert.equal(file.read(), [1, 2])
  assert.is(file.problem(), null)
  rmSync(path)
  assert.equal(file.read(), [])
})

test('an unreadable file is a problem, not an empty file', ({ path }) => {
  mkdirSync(path)
  const file = new JsonFile(path, numbers)
  assert.equal(file.read(), [])
  assert.match(`${file.problem()}`, /directory/)
  assert.throws(() => file.write([1]))
})

test('a missing file is empty, and a write creates folders and a private file', ({ dir }) => {
  const path = join(dir, 'x', 'y', 'a.json')
  const file = new JsonFile(path, numbers)
  assert.equal(file.read(), [])
  assert.is(existsSync(path), false)
  file.write([1, 2])
  assert.is(readFileSync(path, 'utf8'), '[\n  1,\n  2\n]\n')
  assert.is(statSync(path).mode & 0o777, 0o600)
})

test('picks up writes of another program, in place or by rename, same size and same second', ({
  dir,
  path,
}) => {
  const file = new JsonFile(path, numbers)
  for (let n = 0; n < 200; n++) {
    const text = JSON.stringify([n % 10])
    if (n % 2) writeFileSync(path, text)
    else {
      writeFileSync(join(dir, 'b'), text)
      renameSync(join(dir, 'b'), path)
    }
    assert.equal(file.read(), [n % 10])
  }
})

test('notices at once that a file appears, goes, and is behind a broken link', ({ dir, path }) => {
  const file = new JsonFile(path, numbers, {})
  for (let n = 0; n < 50; n++) {
    assert.equal([file.read(), file.problem()], [[], null])
    writeFileSync(path, `[${n}]`)
    assert.equal(file.read(), [n])
    rmSync(path)
  }
  assert.equal(file.read(), [])
  symlinkSync(join(dir, 'later'), path)
  assert.is(`${file.problem()}`, 'it is a broken symlink')
  writeFileSync(join(dir, 'later'), '[7]')
  assert.equal([file.read(), file.problem()], [[7], null])
  rmSync(path)
  assert.equal([file.read(), file.problem()], [[], null])
})

test('returns the same object while nothing changed', ({ path }) => {
  writeFileSync(path, '[1]')
  utimesSync(path, 1, 1)
  const file = new JsonFile(path, numbers)
  assert.is(file.read(), file.read())
  writeFileSync(path, '[1]')
  const again = file.read()
  assert.is(again, file.read())
})

test('keeps the mode and the link of an existing file', ({ dir, path }) => {
  const real = join(dir, 'real.json')
  writeFileSync(real, '[]')
  chmodSync(real, 0o640)
  symlinkSync(real, path)
  new JsonFile(path, numbers).write([7])
  assert.ok(lstatSync(path).isSymbolicLink())
  assert.is(readFileSync(real, 'utf8'), '[\n  7\n]\n')
  assert.is(statSync(real).mode & 0o777, 0o640)
  rmSync(real)
  new JsonFile(path, numbers).write([8])
  assert.ok(lstatSync(path).isSymbolicLink())
  assert.is(readFileSync(real, 'utf8'), '[\n  8\n]\n')
})

test.run()
