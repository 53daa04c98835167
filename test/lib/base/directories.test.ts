/** What is in a directory. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { entriesIn, isDirectory, namesIn } from '../../../lib/base/directories.ts'

const test = suite('directories')

test('what is absent, a file, or closed has no entries and is no directory', () => {
  const root = mkdtempSync(join(tmpdir(), 'base-'))
  writeFileSync(join(root, 'file'), '')
  mkdirSync(join(root, 'dir'))
  symlinkSync('dir', join(root, 'link'))
  symlinkSync('loop', join(root, 'loop'))
  for (const name of ['absent', 'file', 'loop', 'file/below']) {
    const path = join(root, name)
    assert.equal([namesIn(path), entriesIn(path), isDirectory(path)], [[], [], false], name)
  }
  assert.equal([isDirectory(join(root, 'dir')), isDirectory(join(root, 'link'))], [true, true])
  assert.equal(namesIn(root).toSorted(), ['dir', 'file', 'link', 'loop'])
  rmSync(root, { recursive: true })
})

test.run()
