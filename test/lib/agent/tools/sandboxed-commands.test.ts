/** Commands of the tools inside a sandbox: what runs unasked, what asks, and what is refused. Real bubblewrap. */
import * as assert from 'uvu/assert'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../../../lib/base/clock.ts'
import { suite } from 'uvu'
import { languageOf } from '../../../../lib/agent/code/languages.ts'
import { failureHint } from '../../../../lib/agent/tools/terminal.ts'
import { executeCode } from '../../../../lib/agent/tools/execute-code.ts'
import type { CommandRunner } from '../../../../lib/agent/tool-services.ts'
import { ProcessRegistry } from '../../../../lib/commands/processes.ts'
import {
  createTree,
  reason,
  SECRET,
  type Tree,
  type TreeOptions,
} from '../../commands/sandbox/_sandbox.ts'
import { type Bench, createBench } from './_context.ts'

const commands = suite('commands in a sandbox')
const test = reason === null ? commands : commands.skip

const PARENT = join(import.meta.dirname, '../../../../node_modules/.cache/sandbox-tests')
/** In a checkout below /tmp, the home of a tree is in the sandbox's own /tmp, where commands may change everything. */
const isPrivate = PARENT.startsWith('/tmp/')
if (isPrivate)
  console.log('  skipped: changes outside the workspace, because the checkout is below /tmp')
const outsideTest = isPrivate ? commands.skip : test

type Given = TreeOptions & { isPersistent?: boolean; runner?: Partial<CommandRunner> }

const using = async (work: (bench: Bench, tree: Tree) => Promise<void>, given: Given = {}) => {
  const { isPersistent = false, runner: changed, ...options } = given
  // Outside /tmp, where every change is allowed.
  const tree = createTree({ parent: PARENT, ...options })
  const runner = { ...tree.runner, ...changed }
  const bench = createBench(undefined, { timeoutS: 20, isPersistent, runner })
  const processes = new ProcessRegistry({ clock: systemClock })
  Object.assign(bench.ctx.turn, {
    workspace: tree.workspace,
    env: tree.env,
    runner,
    canUndo: true,
    processes: processes.of('s'),
  })
  try {
    await work(bench, tree)
  } finally {
    await processes.close()
    bench.close()
    tree.close()
  }
}

const labels = (bench: Bench) => bench.asked.map(({ patternKeys }) => patternKeys)

test('refuses every command when the sandbox cannot work, and never runs it directly', () =>
  using(
    async (bench, tree) => {
      const { status, error } = await bench.json('terminal', { command: 'touch made' })
      assert.equal([status, error], ['blocked', 'No bwrap here.'])
      assert.not.ok(existsSync(join(tree.workspace, 'made')))
    },
    { runner: { problem: async () => 'No bwrap here.' } },
  ))

test('what cannot leave the sandbox runs unasked: unknown programs, code, deletions, kills', () =>
  using(async (bench, tree) => {
    for (const command of [
      'python3 -c "print(1)" || node -e "1"',
      'mkdir -p build && rm -rf build',
      './unknown-program --flag || true',
      'kill -9 -1 2>/dev/null; pkill node; true',
      'eval "$(echo echo hidden)"',
      'printf "%s" "$(date)" > x.sh; bash -n x.sh',
    ])
      await bench.json('terminal', { command })
    assert.equal(labels(bench), [])
    assert.ok(existsSync(join(tree.workspace, 'x.sh')))
  }))

test('asks about destructive Git commands; a commit needs no approval', () =>
  using(async bench => {
    const commit = await bench.json('terminal', {
      command: 'git add -A && git commit -qm one && git log --oneline',
    })
    assert.match(commit.output, 'one')
    await bench.json('terminal', { command: 'git branch -D other' })
    assert.equal(labels(bench), [['destructive git command']])
  }))

test('the Git directory is read-only for every command that runs another program', () =>
  using(async (bench, tree) => {
    for (const command of [
      'rm -rf .git',
      'git status; echo x >> .git/hooks/pre-commit',
      'echo evil > .git/commondir && git status',
      "git -c alias.x='!echo x > .git/x' x",
      'true && ./tool; git commit --allow-empty -m x',
      "git rebase -x 'touch .git/x' HEAD",
    ])
      await bench.json('terminal', { command }).catch(() => undefined)
    assert.equal(
      ['x', 'commondir'].filter(name => existsSync(join(tree.workspace, '.git', name))),
      [],
    )
    assert.ok(existsSync(join(tree.workspace, '.git', 'HEAD')))
  }))

test('blocked commands and the guards stay above the sandbox', () =>
  using(async bench => {
    const blocked = await bench.json('terminal', { command: 'rm -rf /' })
    assert.match(blocked.error, 'no approval can allow it')
    bench.ctx.turn.guards = {
      commands: () => null,
      command: () => 'Denied by a rule.',
      write: () => null,
      tool: () => null,
    }
    const denied = await bench.json('terminal', { command: 'ls' })
    assert.is(denied.error, 'Denied by a rule.')
    assert.equal(bench.asked, [])
  }))

outsideTest(
  'a change outside the workspace is refused with what to do, instead of changing a private copy',
  () =>
    using(async (bench, tree) => {
      for (const command of ['echo x >> ~/.bashrc', `rm ${tree.home}/Documents/letter.txt`]) {
        const { status, error } = await bench.json('terminal', { command })
        assert.is(status, 'blocked')
        assert.match(error, 'access "unconfined"')
      }
      assert.equal(bench.asked, [])
    }),
)

test('outside the sandbox: only with approval, which says so, and then really outside', () =>
  using(async (bench, tree) => {
    const command = `cat ${tree.home}/Documents/letter.txt`
    const inside = await bench.json('terminal', { command })
    assert.not.match(inside.output, SECRET)
    const denied = await bench.json('terminal', { command, access: 'unconfined' })
    assert.is(denied.status, 'blocked')
    const ask = bench.asked.at(-1)
    assert.equal([ask?.patternKeys, ask?.leavesSandbox], [['run outside the sandbox'], true])
    bench.say('once')
    const allowed = await bench.json('terminal', { command, access: 'unconfined' })
    assert.match(allowed.output, SECRET)
  }))

test('variables that commands of the sandbox set do not last outside it', () =>
  using(
    async bench => {
      bench.say('once')
      await bench.json('terminal', { command: 'mkdir sub && cd sub && export MARK=planted' })
      const inside = await bench.json('terminal', { command: 'echo "mark $MARK"' })
      assert.match(inside.output, 'mark planted')
      const command = 'echo "mark $MARK"; pwd; export FROM_OUTSIDE=1'
      const outside = await bench.json('terminal', { command, access: 'unconfined' })
      assert.match(outside.output, /mark \n.*\/sub/)
      assert.is(bench.asked.at(-1)?.command, command)
      const again = await bench.json('terminal', { command: 'echo "mark $MARK $FROM_OUTSIDE."' })
      assert.match(again.output, 'mark planted .')
    },
    { isPersistent: true },
  ))

test('background processes, their input, and the persistent shell are inside as well', () =>
  using(
    async (bench, tree) => {
      const { session_id: id } = await bench.json('terminal', {
        command: `read line; cat ${tree.home}/Documents/letter.txt; echo "got $line"`,
        background: true,
      })
      await bench.json('process', { action: 'submit', session_id: id, data: 'hello' })
      const { output } = await bench.json('process', { action: 'wait', session_id: id })
      assert.match(output, 'got hello')
      assert.not.match(output, SECRET)
      await bench.json('terminal', {
        command: 'mkdir -p /tmp/deep && cd /tmp/deep && export X=kept',
      })
      const next = await bench.json('terminal', { command: 'pwd; echo $X; touch here; ls' })
      assert.match(next.output, /deep\nkept\nhere/)
      const read = await bench.json('write_file', {
        path: '/tmp/deep/note',
        content: 'from a tool',
      })
      assert.not.ok(read.error)
      const { output: note } = await bench.json('terminal', { command: 'cat /tmp/deep/note' })
      assert.match(note, 'from a tool')
      assert.not.ok(existsSync('/tmp/deep'))
    },
    { isPersistent: true },
  ))

test('scripts run unasked and call tools over their socket', () =>
  using(async (bench, tree) => {
    const language = languageOf(tree.env.PATH ?? '')
    if (!language) return
    const tool = executeCode(language, { timeoutMs: 20_000, maxCalls: 5 })
    bench.ctx.toolNames = ['read_file']
    bench.ctx.call = async (_, args) => ({ content: JSON.stringify({ read: args.path }) })
    const code =
      language.name === 'Python'
        ? `print(read_file("README.md"))\ntry:\n    print(open("${tree.home}/.bashrc").read())\nexcept OSError as error:\n    print("refused")\nopen("made", "w").write("x")`
        : `console.log(await read_file("README.md")); console.log('refused')`
    const { content } = await tool.run(bench.ctx, { code })
    const { output, status, error } = JSON.parse(content)
    assert.is(status, 'success', error)
    assert.match(output, 'README.md')
    assert.match(output, 'refused')
    assert.not.match(output, SECRET)
    assert.is(readFileSync(join(tree.workspace, 'made'), 'utf8'), 'x')
    assert.equal(bench.asked, [])
  }))

outsideTest('file tools ask before they show or change what commands cannot', () =>
  using(async (bench, tree) => {
    const denied = await bench.json('read_file', { path: join(tree.home, 'Documents/letter.txt') })
    assert.is(denied.status, 'blocked')
    await bench.json('search_files', { pattern: 'x', path: join(tree.home, 'Documents') })
    await bench.json('write_file', { path: '.git/hooks/post-commit', content: 'x' })
    await bench.json('read_file', { path: '.vscode/tasks.json' })
    await bench.json('write_file', { path: '.vscode/tasks.json', content: '{}' })
    assert.equal(labels(bench), [
      ['read outside the sandbox'],
      ['read outside the sandbox'],
      ['change a file that other programs run'],
      ['change a file that other programs run'],
    ])
    await bench.json('write_file', { path: 'src/new.ts', content: 'x' })
    await bench.json('read_file', { path: 'README.md' })
    await bench.json('read_file', { path: join(tree.shown, 'file.txt') })
    assert.is(bench.asked.length, 4)
  }),
)

test('hints name what the sandbox forbids', () => {
  const offers = { canLeave: true } as const
  assert.match(String(failureHint('x: Read-only file system', 'confined', offers)), 'unconfined')
  assert.is(failureHint('x: Read-only file system', 'unconfined', offers), null)
  assert.is(failureHint('all good', 'confined', offers), null)
  assert.match(String(failureHint('ENOTFOUND', 'confined', offers)), 'proxy')
})

commands.run()
