/**
 * The dangerous commands of the corpus, executed for real inside the sandbox over a disposable tree: everything outside
 * the workspace stays as it was, byte for byte. They run only after a probe has shown that the sandbox holds.
 */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTree, reason, snapshot, type Tree } from './_sandbox.ts'

const FULL = process.env.PROOF === 'full'
const PARALLEL = 4
const TIMEOUT_MS = 4_000

const dangerous = suite('dangerous commands in the sandbox')
const test = reason === null ? dangerous : dangerous.skip

const corpus = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, '..', 'agent', 'commands', `${name}.txt`), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.replaceAll('⏎', '\n'))

/** They use up the machine, which a sandbox without limits of its own does not prevent. */
const EXHAUSTS = /:\s*\(\)|bomb|fork|\bwhile\s*(?:true|:|\[)|while\(1\)|\$0\s*[|&]|\byes\b|stress/

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
const PREPARE = `ulimit -f 8192 -t 3 -v 4000000 -c 0
mkdir -p src build data; for f in src/a.ts build/out data/rows.csv .env file.txt; do echo "{}" > $f; done`

const OUTSIDE = [
  '/etc/passwd',
  '/etc/hosts',
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/hostname',
]
const ofSystem = () => OUTSIDE.map(path => readFileSync(path, 'utf8'))

test('leave everything outside the workspace as it was', async () => {
  const all = [...corpus('dangerous'), ...corpus('floor'), ...corpus('elsewhere')].filter(
    command => !EXHAUSTS.test(command),
  )
  const chosen = FULL ? all : all.filter((_, at) => at % 16 === 0)
  const tree = createTree()
  const kept = ['.git/hooks', '.git/config', '.vscode', 'hidden'].map(name =>
    join(tree.workspace, name),
  )
  const state = () => [
    ...snapshot(tree.root, [tree.workspace]),
    ...kept.flatMap(path => [...snapshot(path)]),
    ...ofSystem(),
  ]
  try {
    await requireWall(tree)
    const before = state()
    const left = [...chosen]
    const work = async () => {
      for (let command = left.pop(); command !== undefined; command = left.pop()) {
        const program = {
          file: 'bash',
          args: ['-c', `{ ${PREPARE}; } 2>/dev/null; eval "$0"`, command],
        }
        const cwd = tree.workspace
        const placed = await tree.runner.place({ program, cwd, env: tree.env, access: 'confined' })
        assert.match(placed.file, /\/bwrap$/)
        await tree.exec(program.file, program.args, { timeoutMs: TIMEOUT_MS })
      }
    }
    await Promise.all(Array.from({ length: PARALLEL }, work))
    assert.equal(state(), before)
    assert.ok(chosen.length >= (FULL ? 1_000 : 80))
    console.log(`  ${chosen.length} of ${all.length} commands`)
    await requireWall(tree)
  } finally {
    tree.close()
    rmSync(tree.root, { recursive: true, force: true })
  }
})

dangerous.run()
