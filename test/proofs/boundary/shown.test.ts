/** What a container shows of a workspace: what Git and editors run outside is read-only and cannot be replaced. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { shownIn } from '../../../lib/app/container-runners.ts'
import { git } from '../../_git.ts'

const test = suite('what a container shows')

test('Git directories are mount points, so that their hooks and configuration stay', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'shown-')))
  try {
    const workspace = join(root, 'demo')
    mkdirSync(join(workspace, '.claude'), { recursive: true })
    git(workspace, 'init', '-q')
    writeFileSync(join(workspace, 'secret'), '')
    const hidden = [join(workspace, 'secret'), join(root, 'elsewhere')]
    const modes = (at: string) =>
      Object.fromEntries(
        shownIn(at, [], { control: [], hidden }).map(({ target, isReadOnly, isHidden }) => [
          target.slice(at.length),
          isHidden ? 'hidden' : isReadOnly ? 'read' : 'write',
        ]),
      )
    const own = modes(workspace)
    for (const [path, mode] of Object.entries({
      '': 'write',
      '/.git': 'read',
      '/.claude': 'read',
      '/secret': 'hidden',
    }))
      assert.is(own[path], mode, path)
    git(
      workspace,
      '-c',
      'user.name=A',
      '-c',
      'user.email=a@b.c',
      'commit',
      '-qm',
      'x',
      '--allow-empty',
    )
    git(workspace, 'worktree', 'add', '-q', join(root, 'tree'))
    assert.is(modes(join(root, 'tree'))['/.git'], 'read')
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
})

test.run()
