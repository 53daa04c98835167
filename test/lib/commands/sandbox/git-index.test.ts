/** What an index contains, in each of its versions. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isForbiddenPath, readIndex } from '../../../../lib/commands/sandbox/git-index.ts'
import { git, writeFiles } from '../../../_git.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('index of Git')

const NAMES = ['a', 'a/b', 'é', `${'long/'.repeat(60)}x`, 'src/one.ts', 'src/only.ts', 'z']

for (const format of ['sha1', 'sha256'])
  for (const version of [2, 3, 4])
    test(`version ${version} with ${format}`, () => {
      const dir = tempDir('git-index')
      git(dir, 'init', '-q', `--object-format=${format}`, '.')
      const names = NAMES.filter(name => name !== 'a')
      writeFiles(dir, Object.fromEntries(names.map(name => [name, name])))
      git(dir, 'init', '-q', `--object-format=${format}`, 'inner')
      git(join(dir, 'inner'), 'commit', '-q', '--allow-empty', '-m', 'x')
      writeFileSync(join(dir, 'intended'), '')
      git(dir, 'add', '-A')
      // Such an entry has more flags, so the index is at least version 3.
      if (version > 2) {
        git(dir, 'rm', '-q', '--cached', 'intended')
        git(dir, 'add', '-N', 'intended')
      }
      git(dir, 'update-index', `--index-version=${version}`)
      const bytes = readFileSync(join(dir, '.git', 'index'))
      assert.is(bytes.readUInt32BE(4), version)
      const entries = readIndex(bytes, format === 'sha1' ? 20 : 32)
      const listed = git(dir, '-c', 'core.quotePath=false', 'ls-files').split('\n')
      assert.equal(
        entries?.map(({ path }) => path),
        listed,
      )
      assert.equal(
        entries?.filter(({ isRepository }) => isRepository).map(({ path }) => path),
        ['inner'],
      )
      assert.is(readIndex(bytes.subarray(0, bytes.length / 2), 20), null)
    })

test('paths that Git never adds', () => {
  for (const path of [
    '.git/hooks/x',
    'a/.GIT/x',
    '../x',
    'a/../../x',
    '/etc/x',
    'a//b',
    'git~1/x',
    '.git\u200c/x',
    '.git. /x',
    'a\\.git\\x',
    '.git::$INDEX_ALLOCATION/x',
    './a',
  ])
    assert.ok(isForbiddenPath(path), path)
  for (const path of ['a', '.gitignore', 'a/.github/x', 'x.git/a', '..a', 'sparse/', 'a\\b'])
    assert.not.ok(isForbiddenPath(path), path)
})

test.run()
