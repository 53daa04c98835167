/** Which commands run in plan mode: reading ones that people use, and none that writes, whatever it looks like. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isReadingCommand } from '../../../lib/agent/plan-mode.ts'
import { READING_GIT_ENV } from '../../../lib/agent/shell/git-programs.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite('plan mode commands')

const WORKSPACE = tempDir('plan-commands')
const SHELL = {
  home: '/home/ada',
  cwd: WORKSPACE,
  workspace: WORKSPACE,
  env: { HOME: '/home/ada', PATH: '/usr/bin:/bin' },
}
const runs = (command: string): boolean => isReadingCommand(command, SHELL)

const corpus = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, 'commands', `${name}.txt`), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.replaceAll('⏎', '\n'))

test('reading commands run', () => {
  assert.equal(
    corpus('plan-reading').filter(command => !runs(command)),
    [],
  )
})

test('no writing command runs', () => {
  assert.equal(corpus('plan-writing').filter(runs), [])
})

test('a program of the workspace does not run under the name of a reading one', () => {
  const bin = join(WORKSPACE, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'cat'), '#!/bin/sh\ntouch f\n', { mode: 0o755 })
  const at = (path: string) => ({ ...SHELL, env: { ...SHELL.env, PATH: path } })
  assert.not.ok(isReadingCommand('cat a.txt', at(`${bin}:/usr/bin:/bin`)))
  assert.not.ok(isReadingCommand('cat a.txt', at('bin:/usr/bin:/bin')), 'a relative directory')
  assert.ok(isReadingCommand('ls', at(`${bin}:/usr/bin:/bin`)))
  rmSync(bin, { recursive: true })
})

test('git does not run where the repository names programs in its configuration', () => {
  mkdirSync(join(WORKSPACE, '.git'))
  writeFileSync(join(WORKSPACE, '.git/HEAD'), 'ref: refs/heads/main\n')
  const config = join(WORKSPACE, '.git/config')
  writeFileSync(config, '[core]\n\tbare = false\n')
  assert.ok(runs('git status'))
  for (const text of [
    '[filter "x"]\n\tclean = touch f\n',
    '[diff "x"]\n\ttextconv = touch f\n',
    '[diff]\n\texternal = touch f\n',
    '[include]\n\tpath = ../evil\n',
    '[log]\n\tshowSignature = true\n',
  ]) {
    writeFileSync(config, text)
    assert.not.ok(runs('git status'), text)
    assert.not.ok(runs('git -C . status'), text)
  }
  assert.not.ok(runs('cd "$X"; git status'), 'an unknown directory')
})

test('git does not run in a repository below the workspace', () => {
  const bare = join(WORKSPACE, 'bare')
  for (const dir of ['', 'objects', 'refs', 'deep/.git'])
    mkdirSync(join(bare, dir), { recursive: true })
  writeFileSync(join(bare, 'HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(bare, 'config'), '[core]\n\tbare = true\n')
  // Git passes over a directory that is no repository.
  writeFileSync(join(bare, 'deep/.git/HEAD'), 'nothing\n')
  // The agent could have made it.
  const commands = ['git -C bare log', 'cd bare; git log', 'cd bare/deep && git log']
  assert.equal(commands.filter(runs), [])
})

test('git changes no index and runs no program of a submodule', () => {
  const repo = join(WORKSPACE, 'repo')
  const env = { PATH: '/usr/bin:/bin', HOME: WORKSPACE }
  const sh = (text: string, more = {}) =>
    execFileSync('sh', ['-ec', text], { cwd: repo, env: { ...env, ...more } })
  mkdirSync(join(repo, 'sub'), { recursive: true })
  sh(`git init -q . && git init -q sub && git config user.name a && git config user.email b
    echo 1 > a && echo '* filter=x' > sub/.gitattributes && echo 1 > sub/a
    git -C sub add . && git -C sub -c user.name=a -c user.email=b commit -qm x
    git -C sub config filter.x.clean 'touch ../ran; cat' && echo 2 > sub/a
    git add -f . 2>&1 && git commit -qm x && rm -f ran && touch -d 2001-01-01 a`)
  const index = readFileSync(join(repo, '.git/index'))
  const at = { ...SHELL, cwd: repo, workspace: repo }
  for (const command of ['git status', 'git diff', 'git diff HEAD', 'git log -p', 'git show']) {
    assert.ok(isReadingCommand(command, at), command)
    sh(command, READING_GIT_ENV)
    assert.ok(index.equals(readFileSync(join(repo, '.git/index'))), command)
    assert.not.ok(existsSync(join(repo, 'ran')), command)
  }
  writeFileSync(join(repo, '.gitmodules'), '[submodule "sub"]\n\tpath = sub\n\tignore = none\n')
  assert.not.ok(isReadingCommand('git status', at))
})

test.after(() => rmSync(WORKSPACE, { recursive: true }))
test.run()
