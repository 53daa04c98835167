/** Functions of programs beside the agent's own tools: names, plan mode, rules, scripts, subagents, external agents. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { chats, removes, withApi, user, WEATHER, weatherCall } from './_client-api.ts'

const turns = suite('client API: functions')

turns(
  'a function of the client replaces our tool of that name, and one call at a time is kept where the client asks for it',
  withApi(
    async ({ openai, asked }) => {
      const { choices } = await openai().chat.completions.create({
        model: 'agent',
        messages: [user('Read both')],
        tools: [{ type: 'function', function: { ...WEATHER, name: 'read_file' } }],
        parallel_tool_calls: false,
      })
      assert.equal(
        choices[0]?.message.tool_calls?.map(({ id }) => id),
        ['r1'],
      )
      const names = asked()[0].tools.map(
        (tool: { function: { name: string } }) => tool.function.name,
      )
      assert.is(names.filter((name: string) => name === 'read_file').length, 1)
      assert.not.ok(names.includes('clarify'))
    },
    {
      toolCalls: [
        { id: 'r1', name: 'read_file', arguments: { city: 'one' } },
        { id: 'r2', name: 'read_file', arguments: { city: 'two' } },
      ],
    },
  ),
)

turns(
  'plan mode refuses functions of the client, and a rule removes them; approvals.deny holds whatever the mode',
  withApi(async service => {
    const { app, openai, asked, push } = service
    const path = join(app.home, 'config.yaml')
    const config = readFileSync(path, 'utf8')
    const ask = async (content: string) => {
      const { choices } = await openai().chat.completions.create(
        {
          model: 'agent',
          messages: [user(content)],
          tools: [WEATHER, { ...WEATHER, name: 'todo' }].map(each => ({
            type: 'function' as const,
            function: each,
          })),
        },
        { headers: { 'X-Hermes-Session-Id': 'one' } },
      )
      return choices[0]
    }
    push({ text: 'Hello.' })
    await ask('Hi')
    const [row] = await chats(service)
    const session_id = String(row?.session_id)
    await app.post('/api/session/mode', { session_id, mode: 'plan' })
    push({ toolCalls: [weatherCall('w1', 'Rome')] }, { text: 'It has to wait.' })
    const planned = await ask('Weather?')
    assert.is(planned?.message.content, 'It has to wait.')
    assert.match(JSON.stringify(asked().at(-1).messages.at(-1)), 'Plan mode is on')

    await app.post('/api/session/mode', { session_id, mode: 'build' })
    writeFileSync(
      path,
      `${config}approvals:\n  mode: off\n  deny: ['rm *']\npermissions:\n  deny: [todo]\n`,
    )
    mkdirSync(join(String(row?.workspace), 'victim'))
    push(removes, { text: 'Not possible.' })
    assert.is((await ask('Delete it'))?.message.content, 'Not possible.')
    assert.ok(existsSync(join(String(row?.workspace), 'victim')))
    const names = asked()
      .at(-1)
      .tools.map((tool: { function: { name: string } }) => tool.function.name)
    assert.ok(names.includes('get_weather'))
    assert.not.ok(names.includes('todo'))
  }),
)

turns(
  'neither scripts nor subagents can call functions of the client',
  withApi(
    async ({ openai, asked }) => {
      const { choices } = await openai().chat.completions.create({
        model: 'agent',
        messages: [user('Go')],
        tools: [{ type: 'function', function: WEATHER }],
      })
      assert.is(choices[0]?.message.content, 'Done.')
      const [, ofSubagent] = asked()
      const names = ofSubagent.tools.map(
        (tool: { function: { name: string } }) => tool.function.name,
      )
      assert.ok(names.includes('read_file'))
      assert.not.ok(names.includes('get_weather'))
    },
    { toolCalls: [{ id: 'd', name: 'delegate_task', arguments: { goal: 'Weather?' } }] },
    { text: 'It cannot be found.' },
    { text: 'Done.' },
  ),
)

turns(
  'rejects functions and instructions for an external agent, which gets neither (400)',
  withApi(async ({ app, headers, asked }) => {
    writeFileSync(
      join(app.home, 'config.yaml'),
      JSON.stringify({
        model: { default: '@acp:tester' },
        providers: { tester: { name: 'Tester', acp_command: process.execPath } },
      }),
    )
    const bodies: [Record<string, unknown>, string][] = [
      [{ tools: [{ type: 'function', function: WEATHER }] }, 'tools'],
      [{ messages: [{ role: 'system', content: 'Rhyme.' }, user('Hi')] }, 'messages'],
    ]
    for (const [body, param] of bodies) {
      const given = { model: 'agent', messages: [user('Hi')], ...body }
      const answer = await app.post('/v1/chat/completions', given, { headers })
      assert.equal([answer.status, answer.body.error.param], [400, param], answer.text)
    }
    assert.is(asked().length, 0)
  }),
)

turns.run()
