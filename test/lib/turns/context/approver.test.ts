/** Approvals of unattended turns: what no earlier answer covers. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApprovalRequest } from '../../../../lib/agent/tool-services.ts'
import { Approver } from '../../../../lib/turns/context/approver.ts'
import type { Questions } from '../../../../lib/turns/questions.ts'

const test = suite('approver')

const COMMAND: ApprovalRequest = {
  command: './deploy',
  patternKeys: ['run outside the sandbox'],
  description: '',
  cwd: '/work',
}

/** Everything was approved for good before, and the task approves everything else. */
const approver = (isUnattended: boolean, noteAllowed: Questions['noteAllowed'] = () => {}) => {
  const unattended = isUnattended ? { ask: async () => 'once' as const } : undefined
  const config = () => ({ approvals: { mode: 'off', gateway_timeout: 0 }, command_allowlist: [] })
  const scope = {
    sessionId: 's',
    home: { name: 'default', config },
    workspace: '/work',
    meta: {},
    unattended,
  }
  const made = new Approver(
    scope as never,
    { head: () => ({ meta: { yolo: true } }) } as never,
    { has: () => true } as never,
    { approve: async () => 'deny', noteAllowed } as never,
  )
  return (ask: ApprovalRequest) => made.approve(ask)
}

test('a scheduled task never leaves the sandbox, even where the user allowed the command for good', async () => {
  const unattended = approver(true)({ ...COMMAND, leavesSandbox: true })
  assert.match(await unattended.catch(String), 'a scheduled task cannot ask')
  assert.is(await approver(false)({ ...COMMAND, leavesSandbox: true }), 'once')
  assert.is(await approver(true)({ ...COMMAND, patternKeys: ['recursive delete'] }), 'once')
})

test('what is allowed without a question is recorded with the place that it reaches', async () => {
  const noted: unknown[] = []
  const approve = approver(true, ({ network }, auto) => void noted.push([network, auto]))
  const network = { host: 'nas.example', port: 80, isPrivate: true }
  await approve({ ...COMMAND, patternKeys: ['network: nas.example:80'], network })
  assert.equal(noted, [[{ host: 'nas.example', port: 80, private: true }, 'off']])
})

test.run()
