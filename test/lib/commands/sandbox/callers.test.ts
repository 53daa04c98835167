/** Commands that no tool starts: terminals of external agents and scripts of scheduled tasks are in the sandbox, too. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callContext } from '../../../_call.ts'
import { Terminals } from '../../../../lib/agent/acp/terminals.ts'
import { runScript } from '../../../../lib/cron/job-script.ts'
import { createTree, reason, SECRET, type Tree } from './_sandbox.ts'

const callers = suite('callers of the sandbox')
const test = reason === null ? callers : callers.skip

const using = async (work: (tree: Tree) => Promise<void>): Promise<void> => {
  using tree = createTree()
  await work(tree)
}

const attackOf = ({ home, root }: Tree): string =>
  `cat ${home}/.ssh/* ${home}/.bashrc; echo x > ${root}/outside/new; echo ended`

const requireUntouched = (tree: Tree, output: string): void => {
  assert.match(output, 'ended')
  assert.not.match(output, SECRET)
  assert.not.ok(existsSync(join(tree.root, 'outside', 'new')))
}

test('a terminal of an external agent', () =>
  using(async tree => {
    const { workspace, env: own, runner } = tree
    const ctx = callContext(
      { workspace, env: own, runner, canUndo: true },
      { approve: async () => 'once' },
    )
    const terminals = new Terminals()
    const agent = { name: 'Tester', allowed: new Set<string>() }
    writeFileSync(join(tree.workspace, 'attack.sh'), attackOf(tree))
    // Variables of the agent show it no more, and load nothing into bwrap, which starts outside.
    const env = [
      { name: 'HOME', value: tree.root },
      { name: 'LD_PRELOAD', value: join(tree.workspace, 'evil.so') },
    ]
    const create = { sessionId: 's', command: 'sh', args: ['attack.sh'], env }
    const id = await terminals.create(ctx, create, agent)
    await terminals.wait(id)
    requireUntouched(tree, terminals.output(id).output)
    const broken = { ...tree.runner, problem: async () => 'No bwrap here.' }
    const refused = await terminals
      .create({ ...ctx, turn: { ...ctx.turn, runner: broken } }, create, agent)
      .catch(error => error.message)
    assert.is(refused, 'No bwrap here.')
  }))

test('the script of a scheduled task', () =>
  using(async tree => {
    const scripts = join(tree.agentHome, 'scripts')
    mkdirSync(scripts)
    writeFileSync(join(scripts, 'job.sh'), `echo x > "$0"\n${attackOf(tree)}`)
    const given = {
      home: tree.agentHome,
      name: 'job.sh',
      env: tree.env,
      signal: new AbortController().signal,
    }
    const { output, error } = await runScript({ ...given, runner: tree.runner })
    assert.is(error, null)
    requireUntouched(tree, output)
    const broken = { ...tree.runner, problem: async () => 'No bwrap here.' }
    assert.match(
      String(await runScript({ ...given, runner: broken }).catch(String)),
      'No bwrap here.',
    )
  }))

callers.run()
