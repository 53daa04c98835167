/** Keys of config.yaml are obeyed, or named as not obeyed. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { unreadKeys } from '../../../lib/profiles/unread-keys.ts'

const test = suite('keys that are not read')

const named = (text: string, isKnown: boolean): string[] =>
  unreadKeys(parse(text))
    .filter(({ why }) => (why !== null) === isKnown)
    .map(({ key }) => key)

test('what is read is not named', () => {
  const text = `
model: {default: m, provider: custom, base_url: http://h/v1, api: k, context_length: 5}
providers: {deepseek: {base_url: http://h, api_key: k}}
custom_providers: [{name: a, base_url: http://h, model: m}]
mcp_servers: {a: {command: x, args: [], env: {ANY: x}, tools: {include: [a]}}}
auxiliary: {title_generation: {enabled: false, model: m}}
agent: {clarify_timeout: 0, personalities: {x: {prompt: y}}}
clarify: {timeout: 0}
hooks: {pre_tool_call: [{command: x}]}
stt: {groq: {model: x}}
checkpoints: false
`
  assert.equal(unreadKeys(parse(text)), [])
})

for (const [text, ...keys] of [
  ['modle: x', 'modle'],
  ['model: {streaming: false}', 'model.streaming'],
  ['model: {default_header: {A: b}}', 'model.default_header'],
  ['agent: {max_turn: 5}', 'agent.max_turn'],
  ['database: {journal_mode: delete}', 'database'],
  ['clarify: {timout: 5}', 'clarify.timout'],
  ['providers: {a: {request_timeout: 5}}', 'providers.a.request_timeout'],
  ['custom_providers: [{name: a, key_cmd: x}]', 'custom_providers[0].key_cmd'],
  ['mcp_servers: {a: {comand: x}}', 'mcp_servers.a.comand'],
  ['auxiliary: {vision: {temperature: 1}}', 'auxiliary.vision.temperature'],
  ['tools: {tool_search: {enabled: on, more: 1}}', 'tools.tool_search.more'],
] as const)
  test(`a key that nothing here knows is named: ${text}`, () => {
    assert.equal(named(text, false), keys)
    assert.equal(named(text, true), [])
  })

for (const [text, ...keys] of [
  ['display: {skin: mono, show_reasoning: true}', 'display.skin'],
  ['platform_toolsets: {cli: [a], telegram: [b]}', 'platform_toolsets.telegram'],
  ['smart_model_routing: {enabled: true}', 'smart_model_routing'],
  ['agent: {verbose: true}', 'agent.verbose'],
  ['auxiliary: {approval: {model: m}}', 'auxiliary.approval'],
  ['_config_version: 50', '_config_version'],
] as const)
  test(`a setting of another program is named apart: ${text}`, () => {
    assert.equal(named(text, true), keys)
    assert.equal(named(text, false), [])
  })

test.run()
