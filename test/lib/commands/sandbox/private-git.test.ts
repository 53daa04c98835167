/** Git in the sandbox: what people do every day works, and what a command leaves in its private Git directory goes no further than the list. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RunResult } from '../../../../lib/base/process.ts'
import { git } from '../../../_git.ts'
import { createTree, reason, type Tree, type TreeOptions } from './_sandbox.ts'

const all = suite('git in the sandbox')
const test = reason === null ? all : all.skip

const using = async (work: (tree: Tree) => Promise<void>, options: TreeOptions = {}) => {
  using tree = createTree(options)
  await work(tree)
}

/** As a command that may change the Git directory. */
const inside = (tree: Tree, command: string, cwd = tree.workspace): Promise<RunResult> =>
  tree.sh(command, { changesGit: true, cwd })

const works = async (tree: Tree, command: string, cwd = tree.workspace): Promise<string> => {
  const { code, stdout, stderr, note } = await inside(tree, command, cwd)
  assert.equal([code, note], [0, null], `${command}: ${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

const outside = (tree: Tree, ...args: string[]): string =>
  git(tree.workspace, ...args)
    .toString()
    .trim()

/** Names in the real Git directory that no command of Git on the host made. */
const leftIn = (dir: string): string[] =>
  readdirSync(dir).filter(name => /^agent-webui-|\.lock$/.test(name))

test('what people do every day', () =>
  using(async tree => {
    const main = outside(tree, 'symbolic-ref', '--short', 'HEAD')
    await works(tree, 'git add README.md && git commit -qm one')
    assert.is(outside(tree, 'log', '--format=%s'), 'one')
    assert.is(outside(tree, 'status', '--porcelain', 'README.md'), '')
    await works(tree, 'git checkout -qb feature && echo two >> README.md && git commit -qam two')
    assert.is(outside(tree, 'symbolic-ref', '--short', 'HEAD'), 'feature')
    await works(tree, `git checkout -q ${main} && git merge -q --no-ff -m merged feature`)
    assert.is(outside(tree, 'log', '-1', '--format=%s'), 'merged')
    await works(tree, 'echo three >> README.md && git stash -q && git stash list && git status -s')
    assert.match(outside(tree, 'stash', 'list'), 'stash@{0}')
    await works(tree, 'git stash pop && git reset -q --hard && git branch -D feature && git tag v1')
    assert.is(outside(tree, 'stash', 'list'), '')
    assert.is(outside(tree, 'branch', '--format=%(refname:short)'), main)
    assert.is(outside(tree, 'tag'), 'v1')
    await works(tree, 'git gc -q && git reflog | cat')
    assert.match(outside(tree, 'reflog'), 'reset: moving to HEAD')
    outside(tree, 'fsck', '--strict')
    assert.equal(leftIn(join(tree.workspace, '.git')), [])
  }))

test('a hook of the repository, and one in the workspace, run in the sandbox and see the same repository', () =>
  using(async tree => {
    outside(tree, 'config', 'core.hooksPath', '.husky')
    mkdirSync(join(tree.workspace, '.husky'))
    const hook = join(tree.workspace, '.husky', 'pre-commit')
    writeFileSync(
      hook,
      '#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE\necho x > formatted && git add formatted\n',
      {
        mode: 0o755,
      },
    )
    await works(tree, 'git add README.md && git commit -qm hooked')
    assert.match(outside(tree, 'show', '--name-only', '--format='), 'README.md')
  }))

test('fetch from a directory, a conflict in several commands, and a cherry-pick', () =>
  using(async tree => {
    await works(tree, 'git add README.md && git commit -qm base')
    git(tree.shown, 'clone', '-q', tree.workspace, 'other')
    const other = join(tree.shown, 'other')
    writeFileSync(join(other, 'README.md'), 'theirs\n')
    git(other, 'commit', '-qam', 'theirs')
    outside(tree, 'remote', 'add', 'other', other)
    await works(tree, 'git fetch -q other')
    assert.match(outside(tree, 'branch', '-r'), 'other/')
    await works(tree, 'echo ours > README.md && git commit -qam ours')
    const merge = await inside(tree, 'git merge -q other/$(git symbolic-ref --short HEAD)')
    assert.is(merge.code, 1)
    assert.ok(existsSync(join(tree.workspace, '.git', 'MERGE_HEAD')))
    await works(tree, 'echo both > README.md && git add README.md && git commit -qm both')
    assert.not.ok(existsSync(join(tree.workspace, '.git', 'MERGE_HEAD')))
    assert.is(outside(tree, 'log', '-1', '--format=%s'), 'both')
    await works(tree, 'git checkout -q HEAD^1 && git cherry-pick -n HEAD && git checkout -q -')
  }))

test('what needs more fails at once, changes nothing, and says so', () =>
  using(async tree => {
    await works(
      tree,
      'git add README.md && git commit -qm one && git commit -q --allow-empty -m two',
    )
    const before = outside(tree, 'rev-parse', 'HEAD')
    for (const command of [
      'git rebase -f HEAD~1',
      'git bisect start',
      'git config user.name Eve',
      'git worktree add ../other',
      'git worktree add /tmp/other',
      'git remote add x /x',
    ]) {
      const { code, stderr, note } = await inside(tree, command)
      assert.ok(code !== 0 || note !== null, command)
      assert.match(
        `${stderr} ${note}`,
        /Read-only file system|File exists|could not|nothing in the sandbox/,
        command,
      )
    }
    assert.is(outside(tree, 'rev-parse', 'HEAD'), before)
    assert.not.match(outside(tree, 'status'), /rebase|bisect/i)
  }))

test('a linked worktree, and a workspace below the repository', () =>
  using(async tree => {
    await works(tree, 'git add README.md && git commit -qm one')
    const above = join(tree.root, 'above')
    const sub = join(above, 'sub')
    mkdirSync(sub, { recursive: true })
    git(above, 'init', '-q')
    writeFileSync(join(sub, 'file'), 'x\n')
    const linked = join(tree.root, 'linked')
    outside(tree, 'worktree', 'add', '-q', linked)
    for (const workspace of [linked, sub]) {
      const place = tree.with(workspace)
      writeFileSync(join(workspace, 'new'), 'x\n')
      const made = await place.sh('git add new && git commit -qm made && git log -1 --format=%s', {
        changesGit: true,
        cwd: workspace,
      })
      assert.is(String(made.stdout), 'made\n', made.stderr)
      assert.is(git(workspace, 'log', '-1', '--format=%s'), 'made')
      assert.is(git(workspace, 'status', '--porcelain', 'new'), '')
    }
    assert.is(outside(tree, 'symbolic-ref', '--short', 'HEAD') === 'linked', false)
    assert.not.ok(existsSync(join(sub, '.git')))
  }))

test('what another program changed meanwhile stays, and the note says so', () =>
  using(async tree => {
    await works(tree, 'git add README.md && git commit -qm one')
    const file = join(tree.workspace, 'go')
    const running = inside(
      tree,
      'echo a > a && git add a && touch ready && while [ ! -e go ]; do sleep 0.02; done; git commit -qm inside',
    )
    while (!existsSync(join(tree.workspace, 'ready')))
      await new Promise(done => setTimeout(done, 5))
    writeFileSync(join(tree.workspace, 'b'), 'b\n')
    outside(tree, 'add', 'b')
    outside(tree, 'commit', '-qm', 'outside')
    writeFileSync(file, '')
    const { note } = await running
    assert.is(outside(tree, 'log', '-1', '--format=%s'), 'outside')
    assert.match(String(note), /refs\/heads\/\w+ \(another program changed it/)
    assert.match(String(note), 'index (another program')
    outside(tree, 'fsck')
  }))

test('a new repository is made by the service: without configuration and hooks of the command', () =>
  using(
    async tree => {
      const fresh = join(tree.root, 'fresh')
      mkdirSync(fresh)
      const place = tree.with(fresh)
      const run = (command: string) => place.sh(command, { cwd: fresh })
      await run('true')
      assert.not.ok(existsSync(join(fresh, '.git')))
      const made = await run(
        'git init -q -b main && git config core.fsmonitor "sh x.sh" && git remote add o /o && echo a > a && git add a && git commit -qm first',
      )
      assert.is(made.code, 0, made.stderr)
      assert.match(String(made.note), 'config')
      assert.is(git(fresh, 'log', '--format=%s'), 'first')
      assert.is(git(fresh, 'status', '--porcelain'), '')
      assert.not.match(readFileSync(join(fresh, '.git', 'config'), 'utf8'), /fsmonitor|remote/)
      const config = await run('echo x >> .git/config')
      assert.match(config.stderr, 'Read-only file system')
    },
    { parent: '/var/tmp' },
  ))

test('a workspace that a command made look like a Git directory is none', () =>
  using(
    async tree => {
      const fresh = join(tree.root, 'fresh')
      mkdirSync(fresh)
      const place = tree.with(fresh)
      writeFileSync(join(fresh, 'config'), '[core]\n\trepositoryformatversion = 0\n')
      for (const head of ['echo "ref: refs/heads/main" > HEAD', 'ln -s refs/heads/main HEAD']) {
        const { note } = await place.sh(`mkdir -p objects refs; ${head}`, { cwd: fresh })
        assert.match(String(note), 'HEAD.renamed')
        assert.throws(() => git(fresh, 'rev-parse', '--git-dir'), /not a git repository/i)
      }
      const { note } = await place.sh('echo x > HEAD', { cwd: fresh })
      assert.is(note, null)
      // One that was there before is the user's.
      git(fresh, 'init', '--quiet', '--bare', 'bare')
      const bare = join(fresh, 'bare')
      assert.match(String(await tree.with(bare).runner.problem()), 'it is a Git directory')
    },
    { parent: '/var/tmp' },
  ))

all.run()
