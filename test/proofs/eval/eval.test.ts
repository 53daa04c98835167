/** The evaluation as a regression test: each scripted task is solved with the steps, tokens and bytes of the baseline. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { problemOf, type Row } from '../../../eval/evaluate.ts'
import {
  BASELINE_PATH,
  differences,
  evaluateScripts,
  toBaseline,
} from '../../../eval/regression.ts'
import { createScriptedModel } from '../../../eval/scripted-model.ts'
import { TASKS } from '../../../eval/tasks.ts'
import { LONG_READING_TASKS } from '../../../eval/tasks/long-reading.ts'
import { LONG_WORK_TASKS } from '../../../eval/tasks/long-work.ts'

const test = suite('eval')

/** Share of the full size of large inputs; the figures do not depend on it. */
const SIZE = process.env.PROOF === 'full' ? 1 : 0.1

const withRoot = async (work: (root: string) => Promise<void> | void): Promise<void> => {
  const root = mkdtempSync(join(tmpdir(), 'eval-'))
  try {
    await work(root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

test('no task counts as solved before any work is done', () =>
  withRoot(root => {
    for (const task of TASKS) {
      const workspace = join(root, task.id)
      mkdirSync(workspace)
      task.setup(workspace, SIZE)
      assert.ok(problemOf(task, workspace, [{ role: 'user', content: 'go' }]), task.id)
    }
  }))

const LONG = [...LONG_READING_TASKS, ...LONG_WORK_TASKS]

test('ten tasks are long', () => {
  assert.is(LONG.length, 10)
  for (const { id, script } of LONG) assert.ok(script.length >= 40, `${id}: ${script.length}`)
})

test('a request that lost something of the one before is refused with what it lost', () =>
  withRoot(async root => {
    const [task] = LONG_READING_TASKS
    assert.ok(task)
    const workspaceOf = () => join(root, 'work')
    const provider = await createScriptedModel([task], workspaceOf, new Set())
    const send = async (messages: unknown[]) => {
      const response = await fetch(`${provider.url}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ tools: [{}], messages }),
      })
      const body = await response.text()
      return response.ok ? 'answered' : body
    }
    const user = { role: 'user', content: `[Workspace: ${workspaceOf()}]\ngo` }
    const called = { role: 'assistant', content: '', tool_calls: [{ id: 'a' }, { id: 'b' }] }
    const result = (id: string) => ({
      role: 'tool',
      tool_call_id: id,
      content: JSON.stringify({ content: '1|nothing' }),
    })
    const lost: [messages: unknown[], expected: RegExp][] = [
      [[user], /answered/],
      [[{ ...user, content: `${user.content}!` }, called, result('a'), result('b')], /Message 1 /],
      [[user, called, result('a')], /calls a, b /],
      [[user, called, result('b'), result('a')], /calls a, b /],
      [[user, called, result('a'), result('b')], /answered/],
      [[user, called, result('a')], /Message 4 /],
    ]
    try {
      for (const [messages, expected] of lost) assert.match(await send(messages), expected)
    } finally {
      await provider.close()
    }
  }))

const ROW: Row = {
  id: 'rename',
  problem: null,
  steps: 5,
  inputTokens: 10_000,
  cachedShare: 0.9,
  outputTokens: 100,
  resultBytes: 3_000,
  approvals: 0,
  cost: 0,
  seconds: 1,
}

test('reports a failed task and each figure that left the baseline', () => {
  const baseline = toBaseline([ROW])
  const changes: [Partial<Row>, RegExp][] = [
    [{ problem: 'getUser is still used.' }, /still used/],
    [{ steps: 6 }, /steps 5 → 6/],
    [{ inputTokens: 10_300 }, /input tokens 10000 → 10300/],
    [{ resultBytes: 3_300 }, /result bytes 3000 → 3300/],
    [{ cachedShare: 0.8 }, /cached 90 % → 80 %/],
    [{ approvals: 1 }, /approvals 0 → 1/],
    [{ id: 'new' }, /not in the baseline/],
  ]
  assert.equal(differences([{ ...ROW, inputTokens: 10_100, seconds: 9 }], baseline), [])
  for (const [change, message] of changes) {
    const [line] = differences([{ ...ROW, ...change }], baseline)
    assert.match(line ?? 'nothing', message)
  }
})

test('the scripts solve all tasks with the figures of the baseline', () =>
  withRoot(async root => {
    const rows = await evaluateScripts(TASKS, { root, size: SIZE })
    const baseline = JSON.parse(readFileSync(BASELINE_PATH, 'utf8'))
    assert.equal(differences(rows, baseline), [], 'npm run eval -- --update states a change')
    assert.equal(Object.keys(baseline).toSorted(), TASKS.map(({ id }) => id).toSorted())
  }))

test.run()
