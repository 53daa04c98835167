/** Permission rules for an external agent: its permission, file, and terminal requests. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRules, parseLists } from '../../../../lib/agent/permissions/rules.ts'
import { createExternal } from './_external.ts'

const rules = suite('permission rules of external agents')

const withAgent =
  (
    lists: Record<string, string[]>,
    run: (agent: ReturnType<typeof createExternal>, request: object) => Promise<void>,
  ) =>
  async () => {
    const agent = createExternal()
    const { workspace } = agent
    mkdirSync(join(workspace, 'secret'))
    writeFileSync(join(workspace, 'secret', 'key'), 'hidden')
    const made = createRules({
      lists: parseLists(lists),
      workspace,
      homes: [workspace],
      source: 'config.yaml',
    })
    try {
      await run(agent, { rules: made })
    } finally {
      await agent.agents().close()
    }
  }

const DENY = { deny: ['bash(touch *)', 'read(secret/**)', 'edit(secret/**)'] }

rules(
  'a denied command or file is refused, with and without a permission request',
  withAgent(DENY, async (agent, request) => {
    const { workspace } = agent
    const ran = await agent.say('run env touch ran', { request })
    assert.match(ran.text, 'It was c.')
    assert.ok(
      ran.warnings.some(each => each.includes('permissions.deny')),
      ran.warnings.join(),
    )
    const direct = await agent.say('unasked secret/key touch ran', { request })
    assert.is(direct.text.match(/permissions\.deny/g)?.length, 3, direct.text)
    assert.equal(agent.asked, [])
    assert.not(existsSync(join(workspace, 'ran')))
    assert.is(readFileSync(join(workspace, 'secret', 'key'), 'utf8'), 'hidden')
  }),
)

const ASK = { ask: ['bash(touch *)', 'read(secret/**)', 'edit(secret/**)'] }

rules(
  'an ask rule asks about each request, and its answer holds',
  withAgent(ASK, async (agent, request) => {
    const { workspace } = agent
    const denied = await agent.say('unasked secret/key touch ran', { request, approve: 'deny' })
    assert.is(denied.text.match(/refused/g)?.length, 3, denied.text)
    assert.is(agent.asked.length, 3)
    for (const ask of agent.asked) {
      assert.ok(ask.rule)
      assert.equal(ask.choices, ['once', 'deny'])
      assert.match(ask.description, /Asked because of the rule/)
    }
    assert.not(existsSync(join(workspace, 'ran')))
    const allowed = await agent.say('unasked secret/key touch ran', { request })
    assert.match(allowed.text, 'hidden')
    assert.is(readFileSync(join(workspace, 'secret', 'key'), 'utf8'), 'written')
    assert.is(agent.asked.length, 6)
    // The permission request before it is the approval.
    await agent.say('run touch again', { request })
    assert.is(agent.asked.length, 7)
    assert.ok(existsSync(join(workspace, 'again')))
  }),
)

rules(
  'an allow rule answers a permission request, and nothing else',
  withAgent({ allow: ['bash(touch *)'] }, async (agent, request) => {
    await agent.say('run touch ran', { request })
    assert.equal(agent.asked, [])
    assert.ok(existsSync(join(agent.workspace, 'ran')))
    await agent.say('run mkdir dir', { request, approve: 'deny' })
    assert.is(agent.asked.length, 1)
    assert.not(existsSync(join(agent.workspace, 'dir')))
  }),
)

rules.run()
