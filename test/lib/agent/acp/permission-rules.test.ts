/** Permission rules for an external agent: its permission, file, and terminal requests. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Rules } from '../../../../lib/agent/permissions/rules.ts'
import { grantId } from '../../../../lib/turns/context/grants.ts'
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
    const made = new Rules('config.yaml', { workspace, homes: [workspace] }, () => lists)
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
    assert.ok(existsSync(join(agent.workspace, 'ran')))
    await agent.say('run mkdir dir', { request, approve: 'deny' })
    assert.equal(
      agent.asked.map(({ allowedBy }) => allowedBy),
      ['config', undefined],
    )
    assert.not(existsSync(join(agent.workspace, 'dir')))
  }),
)

/** A permission request as agents send it; the answer is the option that was chosen. */
const asking = (agent: ReturnType<typeof createExternal>) => {
  let calls = 0
  return async (
    toolCall: object,
    { approve = 'once', ...rest }: Parameters<typeof agent.say>[1] = {},
  ) => {
    const toolCallId = `ask-${++calls}`
    const before = agent.asked.length
    const said = await agent.say(`ask ${JSON.stringify({ toolCallId, ...toolCall })}`, {
      approve,
      ...rest,
    })
    return { ...said, asked: agent.asked.slice(before) }
  }
}

rules(
  'a command that is only in the title is read as one: denied, blocked, asked about',
  withAgent({ deny: ['bash(touch *)'], ask: ['bash(printf *)'] }, async (agent, request) => {
    const ask = asking(agent)
    const titled = (title: string) => ask({ title, kind: 'execute' }, { request })
    for (const title of ['touch t.txt', '`env touch t.txt`', 'mkfs.ext4 /dev/sdz1']) {
      const { text, asked } = await titled(title)
      assert.equal([text, asked], ['no', []], title)
    }
    const [printf] = (await titled('printf hi')).asked
    assert.equal([printf?.command, printf?.rule], ['printf hi', 'bash(printf *)'])
    const [push] = (await titled('git push --force')).asked
    assert.equal(push?.patternKeys, ['destructive git command'])
  }),
)

rules(
  'what an agent does not name is asked about each time, whatever was allowed, and names the rule that may apply',
  withAgent(
    { deny: ['bash(touch *)', 'edit(secret/**)'], allow: ['bash(make *)', 'edit'] },
    async (agent, request) => {
      const ask = asking(agent)
      for (const toolCall of [
        { kind: 'execute' },
        { kind: 'execute', title: 'bash' },
        { kind: 'execute', title: 'Terminal', rawInput: { description: 'make it' } },
      ]) {
        const { asked } = await ask(toolCall, { request })
        assert.equal(asked[0]?.choices, ['once', 'deny'], JSON.stringify(toolCall))
        assert.is(asked[0]?.isControl, true)
      }
      const [edit] = (await ask({ kind: 'edit', title: 'Edit' }, { request })).asked
      assert.is(edit?.rule, 'edit(secret/**)')
    },
  ),
)

rules(
  'the approval of a tool shows its arguments, and nothing that lasts is answered to the agent',
  withAgent({}, async (agent, request) => {
    const ask = asking(agent)
    const echo = (text: string) =>
      ask(
        { kind: 'other', title: 'mcp__echo__echo_back', rawInput: { text } },
        { request, approve: 'always' },
      )
    const one = await echo('a harmless read')
    assert.is(one.text, 'yes')
    const two = await echo('DELETE EVERYTHING')
    assert.is(two.asked[0]?.command, 'mcp__echo__echo_back {"text":"DELETE EVERYTHING"}')
    assert.equal(two.asked[0]?.any, {
      of: 'arguments',
      name: 'mcp__echo__echo_back',
      key: 'Tester: mcp__echo__echo_back',
    })
    const [first, second] = [one.asked[0]!, two.asked[0]!]
    assert.is.not(grantId(first), grantId(second))
    const edit = (newText: string) =>
      ask(
        {
          kind: 'edit',
          title: 'Edit a.txt',
          content: [
            { type: 'diff', path: join(agent.workspace, 'a.txt'), oldText: 'first\n', newText },
          ],
        },
        { request },
      )
    const [small] = (await edit('one\n')).asked
    const [large] = (await edit('everything\n')).asked
    assert.match(small?.diff ?? '', /\+one/)
    assert.is.not(grantId(small!), grantId(large!))
    assert.is(small?.any?.of, 'changes')
  }),
)

rules(
  'a withheld MCP server is named once in a session, and again when another rule names it',
  async () => {
    await using agent = createExternal()
    agent.place.withheld = [{ name: 'echo', rule: 'mcp__echo__echo_back' }]
    const [first] = (await agent.say('hello')).warnings
    assert.is(
      first,
      'Tester does not get the MCP server echo: the rule “mcp__echo__echo_back” names it, and it might be used without asking.',
    )
    assert.equal((await agent.say('hello')).warnings, [])
    agent.place.withheld = [{ name: 'echo', rule: 'mcp__echo' }]
    assert.match((await agent.say('hello')).warnings[0] ?? '', '“mcp__echo”')
  },
)

rules(
  'a server that a rule names since the session was opened is taken away with the next message',
  async () => {
    await using agent = createExternal('keeps')
    const server = (name: string) => ({
      kind: 'stdio' as const,
      name,
      command: 'true',
      args: [],
      env: {},
    })
    agent.place.mcpServers = [server('echo'), server('other')]
    await agent.say('hello')
    agent.place.mcpServers = [server('other')]
    await agent.say('hello')
    const stored = readFileSync(join(agent.workspace, '.state.json'), 'utf8')
    assert.not.match(stored, '"echo"')
    assert.match(stored, '"other"')
  },
)

rules.run()
