/** The environment of commands: directories of tool managers, and what shell init files set. Broken files first. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../lib/base/clock.ts'
import { Homes } from '../../../lib/profiles/homes.ts'
import { ended } from '../../_wait.ts'

const test = suite<{ base: string; user: string }>('shell environment')
test.before.each(context => {
  context.base = mkdtempSync(join(tmpdir(), 'shell-'))
  context.user = join(context.base, 'user')
  mkdirSync(context.user)
})
test.after.each(({ base }) => rmSync(base, { recursive: true, force: true }))

const PATH = process.env.PATH ?? '/usr/bin:/bin'

const write = (path: string, text: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const open = (base: string, config: string, more: Record<string, string> = {}) => {
  write(join(base, 'agent', 'config.yaml'), config)
  const dir = join(base, 'agent')
  const env = { PATH, HOME: join(base, 'user'), ...more }
  return new Homes({ baseHome: dir, agentHome: dir, configPath: null, env }, systemClock).base
}

const added = (path: string | undefined): string[] =>
  (path ?? '').split(':').slice(PATH.split(':').length)

const INIT = 'terminal:\n  shell_init_files: [~/init.sh]\n'

test('a file that ends the shell is a problem with a reason, and commands keep their environment', async ({
  base,
  user,
}) => {
  const home = open(base, INIT, { KEEP: 'me' })
  const file = join(user, 'init.sh')
  write(file, 'export BROKEN=1\nexit 4\n')
  assert.match((await home.sourceInitFiles()) ?? '', `${file} ends the shell (exit code 4)`)
  assert.equal([home.childEnv().BROKEN, home.childEnv().KEEP], [undefined, 'me'])
  write(file, 'export BROKEN=1\nif then\n')
  assert.match((await home.sourceInitFiles()) ?? '', /line 2: syntax error/)
  assert.is(home.childEnv().BROKEN, '1', 'what precedes the error applies, as in a login shell')
  rmSync(file)
  assert.is(await home.sourceInitFiles(), null, 'a missing file is skipped')
  assert.is(home.childEnv().BROKEN, undefined)
})

test('a file that hangs is stopped with what it started, and not tried again before it changes', async ({
  base,
  user,
}) => {
  const home = open(base, INIT)
  write(join(user, 'init.sh'), `sleep 600 & echo $! >>${user}/pids\nwait\n`)
  const [problem, same] = await Promise.all([home.sourceInitFiles(), home.sourceInitFiles()])
  assert.match(problem ?? '', /init\.sh takes more than 5 s/)
  assert.is(same, problem)
  assert.is(await home.sourceInitFiles(), problem)
  const [pid, ...more] = readFileSync(join(user, 'pids'), 'utf8').trim().split('\n')
  assert.equal(more, [], 'started once')
  await ended(Number(pid))
})

test('background programs and descriptors of a file are no problem', async ({ base, user }) => {
  const home = open(base, INIT)
  for (const text of ['export OK=1; sleep 600 &', 'export OK=2; exec 3>/dev/null']) {
    write(join(user, 'init.sh'), `${text}\n`)
    assert.is(await home.sourceInitFiles(), null, text)
    assert.match(text, `OK=${home.childEnv().OK}`)
  }
})

test('the directory of `~` is that of the user when a profile has its own HOME', async ({
  base,
  user,
}) => {
  write(join(base, 'agent/home/init.sh'), 'export WHOSE=profile')
  write(join(user, 'init.sh'), 'export WHOSE=user')
  const home = open(base, `${INIT}  home_mode: profile\n`)
  assert.is(await home.sourceInitFiles(), null)
  assert.equal([home.childEnv().WHOSE, home.childEnv().HOME], ['user', join(base, 'agent/home')])
})

test('init files set, change, and unset variables; who the user is, our own names, and secrets stay', async ({
  base,
  user,
}) => {
  const home = open(base, `${INIT}  env_passthrough: [PASSED_TOKEN]\n`, {
    GONE: '1',
    AGENT_SESSION: 'ours',
  })
  write(
    join(user, 'init.sh'),
    `echo noise; echo noise >&2; set -u; unset GONE; alias ls=rm; f() { :; }; export -f f
export NEW='two
lines' HOME=/elsewhere AGENT_SESSION=theirs HERMES_X=1 SOME_API_KEY=secret PASSED_TOKEN=known PATH="$HOME/mine:$PATH"
false`,
  )
  assert.is(await home.sourceInitFiles(), null)
  const env = home.childEnv()
  assert.equal(
    [env.NEW, env.HOME, env.AGENT_SESSION, env.HERMES_X, env.SOME_API_KEY, env.PASSED_TOKEN],
    ['two\nlines', user, 'ours', undefined, undefined, 'known'],
  )
  assert.is(env.PATH, `${user}/mine:${PATH}`)
  assert.not('GONE' in env)
  assert.equal(
    Object.keys(env).filter(name => /^(?:BASH_FUNC|SHLVL|PWD|_$|__init)/.test(name)),
    [],
  )
  assert.is(home.env().NEW, undefined, 'init files do not configure the service')
})

test('files are sourced again only when one changes; the usual files only where configured', async ({
  base,
  user,
}) => {
  const count = `echo x >>${user}/runs\n`
  for (const name of ['.profile', '.bashrc'])
    write(join(user, name), `${count}export FROM_${name.slice(1).toUpperCase()}=1\n`)
  const none = open(base, '')
  assert.is(await none.sourceInitFiles(), null)
  assert.is(none.childEnv().FROM_PROFILE, undefined)
  const home = open(base, 'terminal:\n  auto_source_bashrc: true\n')
  await home.sourceInitFiles()
  await home.sourceInitFiles()
  assert.equal([home.childEnv().FROM_PROFILE, home.childEnv().FROM_BASHRC], ['1', '1'])
  const runs = () => readFileSync(join(user, 'runs'), 'utf8').length / 2
  assert.is(runs(), 2)
  utimesSync(join(user, '.bashrc'), 1, 1)
  await home.sourceInitFiles()
  assert.is(runs(), 4)
})

test('existing directories of tool managers are appended to PATH, once, and never replace a program', ({
  base,
  user,
}) => {
  assert.equal(
    added(open(base, '').childEnv().PATH).filter(dir => dir.startsWith(user)),
    [],
  )
  const dirs = ['.local/bin', '.cargo/bin', '.pyenv/shims'].map(dir => join(user, dir))
  for (const dir of dirs) mkdirSync(dir, { recursive: true })
  write(join(user, '.deno/bin'), 'a file')
  const home = open(base, '')
  assert.equal(
    added(home.childEnv().PATH).filter(dir => dir.startsWith(user)),
    dirs,
  )
  assert.is(home.env().PATH, home.childEnv().PATH)
  const known = open(base, '', { PATH: `${dirs[0]}/:${PATH}` })
  assert.is(
    known
      .childEnv()
      .PATH?.split(':')
      .filter(dir => dir.startsWith(user)).length,
    3,
  )
  assert.is(open(base, '', { PATH: '' }).childEnv().PATH, '')
  mkdirSync(join(user, 'closed'))
  chmodSync(join(user, 'closed'), 0)
  assert.ok(open(base, '', { CARGO_HOME: join(user, 'closed') }).childEnv().PATH)
})

test('nvm: the version of the default alias, else the newest', ({ base, user }) => {
  const nvm = join(user, '.nvm')
  const node = () =>
    added(open(base, '').childEnv().PATH)
      .filter(dir => dir.startsWith(nvm))
      .map(dir => dir.slice(nvm.length))
  const bin = (version: string) => `/versions/node/${version}/bin`
  assert.equal(node(), [])
  for (const version of ['v9.11.2', 'v20.9.0', 'v20.11.1', 'v2.0.0', 'v22.1.0'])
    mkdirSync(join(nvm, bin(version)), { recursive: true })
  assert.equal(node(), [bin('v22.1.0')])
  const cases: [alias: string, dirs: string[]][] = [
    ['20', [bin('v20.11.1')]],
    ['v20.9.0\n', [bin('v20.9.0')]],
    ['2', [bin('v2.0.0')]],
    ['lts/*', [bin('v20.11.1')]],
    ['node', [bin('v22.1.0')]],
    ['18', [bin('v22.1.0')]],
    ['../outside', [bin('v22.1.0')]],
    ['default', [bin('v22.1.0')]],
    ['system', []],
  ]
  write(join(nvm, 'alias/lts/*'), 'lts/iron\n')
  write(join(nvm, 'outside'), '20')
  write(join(nvm, 'alias/lts/iron'), 'v20.11.1\n')
  for (const [alias, dirs] of cases) {
    write(join(nvm, 'alias/default'), alias)
    assert.equal(node(), dirs, alias)
  }
})

test.run()
