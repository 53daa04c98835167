/**
 * After anything that a command of the sandbox did to repositories of the workspace, the user's own Git in the workspace,
 * outside, runs no program of the agent's and writes no file of the user's.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTree, reason, SECRET, type Tree } from '../../lib/commands/sandbox/_sandbox.ts'

const wall = suite('Git as a way out of the sandbox')
const test = reason === null ? wall : wall.skip

const PROFILE = 'the profile of the shell\n'
const GIT_ENV = {
  PATH: process.env.PATH ?? '',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.org',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.org',
}

const git = (tree: Tree, cwd: string, ...args: string[]) =>
  spawnSync('git', args, { cwd, env: { ...GIT_ENV, HOME: tree.home }, encoding: 'utf8' })

const PREPARE = `
  printf '#!/bin/sh\\ntouch "%s"\\n' "$MARKER" > x.sh; chmod +x x.sh
  evil() { mkdir -p $1/objects $1/refs/heads $1/hooks; echo 'ref: refs/heads/main' > $1/HEAD
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = %s\\n\\tfsmonitor = "%s/x.sh"\\n\\thooksPath = %s\\n' "$W" "$W" "$W/hooks" > $1/config; }
  mkdir -p hooks; for h in pre-commit post-commit post-checkout post-index-change reference-transaction; do cp x.sh hooks/$h; done
`
/** Writes an index whose first entry has another path of the same length. */
const RENAME_IN_INDEX = (from: string, to: string) =>
  `perl -e 'use Digest::SHA "sha1"; local $/; open F, "<", ".git/index"; $_ = <F>; close F; $_ = substr($_, 0, -20); s{\\Q${from}\\E}{${to}}; open F, ">", ".git/index"; print F $_ . sha1($_)'`

const ATTACKS: Readonly<Record<string, string>> = {
  'commondir, by a git of another directory':
    'evil g; git --git-dir=./g status; cp -r .git gc; evil gc; echo ../gc > .git/commondir',
  'commondir, absolute': 'evil gc; echo $W/gc > .git/commondir',
  'commondir, moved there': 'evil gc; echo ../gc > c; mv c .git/commondir',
  'commondir, as a link': 'evil gc; echo ../gc > c; ln -s ../c .git/commondir',
  'a .git file in place of the directory':
    'evil g; mv .git old; rm -rf .git; echo "gitdir: ./g" > .git',
  'a link in place of the directory': 'evil g; mv .git old; rm -rf .git; ln -s g .git',
  'git -C of a repository in the workspace': 'mkdir v; evil v/.git; git -C v status',
  'a clean filter of a repository in the workspace':
    'git init -q v; git -C v config filter.x.clean "cp x.sh .git/hooks/pre-commit"; echo "* filter=x" > v/.gitattributes; git -C v add -A; cp x.sh .git/hooks/pre-commit',
  configuration:
    'git config core.fsmonitor $W/x.sh; printf "[core]\\n fsmonitor = $W/x.sh\\n" >> .git/config',
  'configuration, replaced':
    'evil g; rm -f .git/config; cp g/config .git/config; mv g/config .git/config',
  'configuration of worktrees':
    'evil g; cp g/config .git/config.worktree; mkdir -p .git/worktrees/x; cp g/* .git/worktrees/x',
  hooks:
    'cp hooks/* .git/hooks/; rm -rf .git/hooks; cp -r hooks .git/hooks; ln -sfn ../hooks .git/hooks',
  attributes: 'mkdir -p .git/info; echo "* filter=x" > .git/info/attributes',
  'steps of a rebase':
    'mkdir -p .git/rebase-merge; echo "exec $W/x.sh" > .git/rebase-merge/git-rebase-todo; echo refs/heads/main > .git/rebase-merge/head-name; touch .git/rebase-merge/interactive',
  'steps of a rebase, after what blocks them is removed':
    'rm -rf .git/rebase-merge .git/sequencer; mkdir .git/rebase-merge .git/sequencer; echo "exec $W/x.sh" | tee .git/rebase-merge/git-rebase-todo > .git/sequencer/todo',
  'no HEAD, so that the workspace is a bare repository': 'evil .; rm .git/HEAD',
  'a HEAD that is none, so that the workspace is a bare repository':
    'evil .; echo x > .git/HEAD; sleep 0.1',
  'a HEAD that is a link': 'evil .; echo x > h; rm .git/HEAD; ln -s ../h .git/HEAD',
  'no refs, so that the workspace is a bare repository':
    'evil .; chmod 0 .git/refs .git/objects; mv .git/refs .git/r; mv .git/objects .git/o',
  'a link in the logs, to which the next commit adds':
    'for f in .git/logs/HEAD .git/logs/refs/heads/main; do rm -f $f; ln -s $P $f; done',
  'a link in place of the logs':
    'mv .git/logs .git/l; mkdir l; ln -s $P l/HEAD; ln -s $W/l .git/logs',
  'links in the refs':
    'rm -rf .git/refs/heads; ln -s $(dirname $P) .git/refs/heads; ln -s $P .git/refs/x',
  'a link in place of a file that is taken over':
    'for f in index COMMIT_EDITMSG MERGE_MSG ORIG_HEAD packed-refs; do rm -f .git/$f; ln -s $S .git/$f; done',
  'an index with a path in the Git directory': `mkdir -p Xgit/hooks; cp x.sh Xgit/hooks/post-checkout; git add Xgit; ${RENAME_IN_INDEX('Xgit/hooks', '.git/hooks')}`,
  'an index with a path above the workspace': `mkdir -p XX/XX; cp x.sh XX/XX/.profile; git add XX; ${RENAME_IN_INDEX('XX/XX/.profile', '../../.profile')}`,
  'a repository of its own in the index':
    'git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.fsmonitor $W/x.sh; git add sub; git -c advice.addEmbeddedRepo=false add sub',
  'a submodule that becomes another repository':
    'rm -rf module/.git; evil module/.git; git init -q module; git -C module config core.fsmonitor $W/x.sh',
  'an empty submodule that becomes a repository':
    'evil empty/.git; git init -q empty; git -C empty config core.fsmonitor $W/x.sh; rmdir empty; mkdir empty; evil empty/.git',
  'objects of another place': 'evil g; echo $W/g/objects > .git/objects/info/alternates',
  'a new worktree': 'git worktree add -f ./wt; rm -rf wt/.git; evil wt/.git',
  'another directory for the same work tree': 'git init -q --separate-git-dir=./meta .; evil meta',
  'a shared index': 'git update-index --split-index; cp x.sh .git/sharedindex.0123',
  'everything at once': 'rm -rf .git/* 2>/dev/null; evil .git; cp -r hooks/. .git/hooks/',
}

const requireNothingRan = (tree: Tree, workspace: string, name: string): void => {
  const marker = join(tree.root, 'ran')
  const profile = join(tree.home, '.profile')
  for (const args of [
    ['status'],
    ['diff'],
    ['log', '-1'],
    ['branch'],
    ['checkout', '--', '.'],
    ['add', '-A', '.'],
    ['commit', '--allow-empty', '-qm', '$(touch x)'],
    ['checkout', '-q', '-b', 'another'],
    ['stash'],
    ['rebase', '--continue'],
  ]) {
    const { stdout, stderr } = git(tree, workspace, ...args)
    assert.not.match(stdout + stderr, SECRET)
    assert.not.ok(existsSync(marker), `${name}: git ${args.join(' ')} ran a program of the agent`)
    assert.is(readFileSync(profile, 'utf8'), PROFILE, `${name}: git ${args.join(' ')}`)
  }
}

const createPlace = (): Tree => {
  const tree = createTree({ parent: '/var/tmp' })
  const { workspace, home } = tree
  writeFileSync(join(home, '.profile'), PROFILE)
  unlinkSync(join(workspace, '.git', 'hooks', 'pre-commit'))
  const run = (...args: string[]) => {
    const { status, stderr } = git(tree, workspace, '-c', 'protocol.file.allow=always', ...args)
    if (status !== 0) throw new Error(stderr)
  }
  run('symbolic-ref', 'HEAD', 'refs/heads/main')
  run('add', 'README.md')
  run('commit', '-qm', 'one')
  const module = join(tree.root, 'module-origin')
  execFileSync('git', ['init', '-q', module], { env: GIT_ENV })
  execFileSync('git', ['-C', module, 'commit', '-q', '--allow-empty', '-m', 'x'], { env: GIT_ENV })
  run('submodule', '--quiet', 'add', module, 'module')
  run('submodule', '--quiet', 'add', module, 'empty')
  run('commit', '-qm', 'modules')
  run('submodule', '--quiet', 'deinit', '-f', 'empty')
  return tree
}

/** Whether nobody's Git could be fooled outside, during a command as well as after it. */
const attack = async (changesGit: boolean): Promise<void> => {
  const tree = createPlace()
  try {
    const { workspace, root, home } = tree
    const saved = join(root, 'saved')
    execFileSync('cp', ['-a', workspace, saved])
    for (const [name, script] of Object.entries(ATTACKS)) {
      const variables = {
        MARKER: join(root, 'ran'),
        W: workspace,
        P: join(home, '.profile'),
        S: join(home, '.ssh', 'id_ed25519'),
      }
      const running = tree.sh(
        `${PREPARE}\n${script}\ntouch ready\nwhile [ ! -e go ]; do sleep 0.01; done`,
        {
          changesGit,
          env: { ...tree.env, ...variables },
        },
      )
      while (!existsSync(join(workspace, 'ready'))) await new Promise(done => setTimeout(done, 5))
      const marker = join(root, 'ran')
      for (const args of [['status'], ['log', '-1'], ['diff']]) {
        git(tree, workspace, ...args)
        assert.not.ok(existsSync(marker), `${name}: git ${args.join(' ')} while it ran`)
      }
      writeFileSync(join(workspace, 'go'), '')
      await running
      assert.is(git(tree, workspace, 'rev-parse', '--git-dir').stdout.trim(), '.git', name)
      requireNothingRan(tree, workspace, name)
      rmSync(workspace, { recursive: true, force: true })
      execFileSync('cp', ['-a', saved, workspace])
    }
    console.log(`  ${Object.keys(ATTACKS).length} ways`)
  } finally {
    tree.close()
  }
}

test('a command that may change Git', () => attack(true))
test('a command that may not', () => attack(false))

for (const isBelow of [false, true])
  test(`a workspace without repository${isBelow ? ', in one' : ''}: a command cannot make one that runs programs`, async () => {
    const tree = createTree({ parent: '/var/tmp' })
    try {
      writeFileSync(join(tree.home, '.profile'), PROFILE)
      const above = join(tree.root, 'above')
      const workspace = join(above, 'sub')
      mkdirSync(workspace, { recursive: true })
      if (isBelow) git(tree, above, 'init', '-q')
      const place = tree.with(workspace)
      const variables = { MARKER: join(tree.root, 'ran'), W: workspace }
      for (const script of [
        'evil .git',
        'git init -q; evil .git; cp -r hooks/. .git/hooks/',
        'evil g; rm -rf .git; mv g .git',
        'evil g; rmdir .git; echo "gitdir: g" > .git',
        'git init -q --separate-git-dir=./meta .; evil meta',
      ]) {
        await place.sh(`${PREPARE}\n${script}`, {
          cwd: workspace,
          env: { ...tree.env, ...variables },
        })
        requireNothingRan(tree, workspace, script)
        rmSync(workspace, { recursive: true, force: true })
        mkdirSync(workspace)
      }
    } finally {
      tree.close()
    }
  })

test('a workspace whose .git is a link is refused, because the link could be replaced', async () => {
  const tree = createTree({ parent: '/var/tmp' })
  try {
    const workspace = join(tree.root, 'linked')
    mkdirSync(workspace)
    symlinkSync(join(tree.workspace, '.git'), join(workspace, '.git'))
    assert.match(String(await tree.with(workspace).runner.problem()), 'its .git is a link')
  } finally {
    tree.close()
  }
})

wall.run()
