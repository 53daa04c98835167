/** Paths that try to leave their root. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { UserError } from '../../../lib/errors.ts'
import {
  isBelow,
  isInside,
  realPath,
  realPaths,
  resolveInside,
} from '../../../lib/store/path-within.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('path within')

let dir = ''
let root = ''

test.before(() => {
  dir = realpathSync(tempDir('inside'))
  root = join(dir, 'root')
  mkdirSync(join(root, 'sub'), { recursive: true })
  mkdirSync(join(dir, 'root-neighbor'))
  writeFileSync(join(dir, 'secret'), 'x')
  writeFileSync(join(root, 'sub', 'file'), 'x')
  symlinkSync(join(dir, 'secret'), join(root, 'link'))
  symlinkSync('..', join(root, 'up'))
  symlinkSync(join(dir, 'not-there'), join(root, 'dangling'))
  symlinkSync('loop', join(root, 'loop'))
  symlinkSync(root, join(dir, 'alias'))
})

for (const path of [
  '..',
  '../secret',
  'sub/../../secret',
  '/etc/passwd',
  'link',
  'up/secret',
  'up',
  'dangling',
  '../root-neighbor',
  'sub/\0',
  'dangling/below',
])
  test(`outside: ${JSON.stringify(path)}`, () => {
    assert.throws(
      () => resolveInside(root, path),
      (error: unknown) => error instanceof UserError && error.kind === 'missing',
    )
  })

for (const [path, real] of [
  ['.', ''],
  ['sub/file', 'sub/file'],
  ['sub/../sub', 'sub'],
  ['sub/new/deep', 'sub/new/deep'],
  ['...', '...'],
  ['..name', '..name'],
])
  test(`accepts ${path}`, () => {
    assert.is(resolveInside(root, path ?? ''), join(root, real ?? ''))
  })

test('the root may be a symlink, and absolute paths inside are accepted', () => {
  assert.is(resolveInside(join(dir, 'alias'), join(root, 'sub')), join(root, 'sub'))
  assert.ok(isInside(join(dir, 'alias'), join(root, 'sub')))
})

test('the root is inside itself, a sibling with the same prefix is not', () => {
  assert.ok(isInside(root, root))
  assert.not(isInside(root, join(dir, 'root-neighbor')))
  assert.ok(isInside('/', root))
})

test('a dangling link counts at its target; a loop ends', () => {
  assert.is(realPath(join(root, 'dangling')), join(dir, 'not-there'))
  assert.is(realPath(join(root, 'dangling', 'a')), join(dir, 'not-there', 'a'))
  assert.is(realPath(join(dir, 'alias', 'new', 'a')), join(realPath(root), 'new', 'a'))
  assert.type(realPath(join(root, 'loop')), 'string')
})

test('many paths: the same as each alone, with one lookup of the folder of those that are missing', () => {
  const paths = ['.', 'sub/file', 'link', 'up/secret', 'dangling', 'dangling/a', 'loop', 'new/deep']
  const full = [...paths.map(path => join(root, path)), join(dir, 'alias', 'new')]
  assert.equal(
    realPaths(full),
    full.map(path => realPath(path)),
  )
  const { native } = realpathSync
  let count = 0
  realpathSync.native = ((path: string) => {
    count += 1
    return native(path)
  }) as typeof native
  try {
    realPaths(Array.from({ length: 10 }, (_, at) => join(root, `missing-${at}`)))
    assert.is(count, 1)
    // Entries that are no links; elsewhere a disk may have them under other letters.
    if (process.platform === 'linux') {
      realPaths(['secret', 'root', 'root-neighbor', 'missing'].map(name => join(dir, name)))
      assert.is(count, 2)
    }
  } finally {
    realpathSync.native = native
  }
})

test('the short comparison says what `relative` says, for paths in every form', () => {
  const paths = [
    '',
    '/',
    '/a',
    '/a/',
    '/a/b',
    '/a/b/..',
    '/a/./b',
    '//a',
    '/a//b',
    '/a/.b',
    '/a/..b',
  ]
  paths.push('/ab', '/a/b/c', 'a', '.', '..', '../a', '/a/...', '/..')
  for (const above of paths)
    for (const path of paths)
      assert.is(
        isBelow(above, path),
        !/^\.\.(?:\/|$)/.test(relative(above, path)),
        `${path} below ${above}`,
      )
})

test.run()
