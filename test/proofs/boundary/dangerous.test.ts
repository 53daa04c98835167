/**
 * The dangerous commands of the corpus, executed for real inside the sandbox over a disposable tree: everything outside
 * the workspace stays as it was, byte for byte. They run only after a probe has shown that the sandbox holds.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { assessCommand } from '../../../lib/agent/command-risk.ts'
import { createTree, reason, snapshot, type Tree } from '../../lib/sandbox/_sandbox.ts'

const FULL = process.env.PROOF === 'full'
const PARALLEL = 4
const TIMEOUT_MS = 4_000

const dangerous = suite('dangerous commands in the sandbox')
const test = reason === null ? dangerous : dangerous.skip

const corpus = (name: string): string[] =>
  readFileSync(join('test', 'lib', 'agent', 'commands', `${name}.txt`), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.replaceAll('⏎', '\n'))

const SHELL = { home: '/home/ada', cwd: '/home/ada/demo', workspace: '/home/ada/demo', env: {} }

/** Never executed: it uses up the machine, which no sandbox prevents where the service runs as root. */
const exhausts = (command: string): boolean =>
  /fork|\bwhile\s*(?:true|:|\[|\(?1)|\$0\s*[|&]|\byes\b|stress/.test(command) ||
  assessCommand(command, SHELL).blocked === 'a fork bomb'

/** Throws unless writing outside, the network, other processes, and kernel settings are out of reach. */
const requireWall = async (tree: Tree): Promise<void> => {
  const { stdout } = await tree.sh(
    [
      `[ -e ${tree.root}/outside ] && echo outside`,
      `[ -e /proc/${process.pid} ] && echo processes`,
      'touch /usr/sandbox-probe /etc/sandbox-probe /sandbox-probe /dev/sandbox-probe 2>/dev/null && echo writable',
      'for f in /usr /etc / /dev /sys; do [ -e $f/sandbox-probe ] && echo "created in $f"; done',
      '(exec 3<>/proc/sys/kernel/core_pattern) 2>/dev/null && echo settings',
      'grep -q "CapEff:.*[1-9a-f]" /proc/self/status && echo capabilities',
      `[ $(ls /sys/class/net 2>/dev/null | grep -vc '^lo$') = 0 ] || grep -q 'eth\\|en' /proc/net/dev && echo network`,
      'echo end',
    ].join('\n'),
  )
  assert.is(String(stdout), 'end\n', 'the sandbox does not hold: no command was run')
}

/**
 * Before each command, also inside: something to destroy. This process writes nothing to the workspace, where a command
 * may have left a symlink.
 */
const PREPARE = `ulimit -f 8192 -t 1 -v 4000000 -c 0 2>/dev/null
mkdir -p src build data; for f in src/a.ts build/out data/rows.csv .env file.txt; do echo "{}" > $f; done 2>/dev/null`

const OUTSIDE = [
  '/etc/passwd',
  '/etc/hosts',
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/hostname',
]
const ofSystem = () => OUTSIDE.map(path => readFileSync(path, 'utf8'))

const state = (tree: Tree) => [
  ...snapshot(tree.root, [tree.workspace]),
  ...['.git/hooks', '.git/config', '.vscode', 'hidden'].flatMap(name => [
    ...snapshot(join(tree.workspace, name)),
  ]),
  ...ofSystem(),
]

/** Runs commands over trees of its own. A command may make its tree useless for the next ones, which then get a new one. */
const runAll = async (commands: string[]): Promise<number> => {
  let executed = 0
  let tree = createTree()
  let before = state(tree)
  const renew = () => {
    assert.equal(state(tree), before)
    tree.close()
    tree = createTree()
    before = state(tree)
  }
  const execute = async (command: string): Promise<boolean> => {
    const program = { file: 'bash', args: ['-c', `echo started; ${PREPARE}; eval "$0"`, command] }
    const placement = { program, cwd: tree.workspace, env: tree.env, access: 'confined' as const }
    assert.match((await tree.runner.place(placement)).file, /\/bwrap$/)
    const { stdout } = await tree.exec(program.file, program.args, { timeoutMs: TIMEOUT_MS })
    return stdout.includes('started')
  }
  try {
    await requireWall(tree)
    for (let command = commands.pop(); command !== undefined; command = commands.pop()) {
      let isStarted = await execute(command)
      if (!isStarted) {
        renew()
        isStarted = await execute(command)
      }
      if (isStarted) executed++
    }
    assert.equal(state(tree), before)
  } finally {
    tree.close()
  }
  return executed
}

dangerous('fork bombs are recognized under any name, so that none is executed here', () => {
  const bombs = [':(){ :|:& };:', 'f(){ f & f & }; f', 'b() {\n b | b & }\nb', 'x(){ x&x; };x']
  assert.equal(
    bombs.filter(command => !exhausts(command)),
    [],
  )
  assert.not.ok(exhausts('ls(){ rm -rf src; }; ls'))
})

test('leave everything outside the workspace as it was', async () => {
  const all = [...corpus('dangerous'), ...corpus('floor'), ...corpus('elsewhere')].filter(
    command => !exhausts(command),
  )
  const chosen = FULL ? all : all.filter((_, at) => at % 24 === 0)
  const count = chosen.length
  const counts = await Promise.all(Array.from({ length: PARALLEL }, () => runAll(chosen)))
  const executed = counts.reduce((sum, each) => sum + each, 0)
  console.log(`  ${executed} of ${all.length} commands executed`)
  assert.is(executed, count)
  assert.ok(count >= (FULL ? 1_000 : 50))
})

dangerous.run()
