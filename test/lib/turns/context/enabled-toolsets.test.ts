/** Which toolsets are on: named ones, composites, servers, what is forbidden, and what one conversation says. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { selectToolsets, withToolset } from '../../../../lib/turns/context/enabled-toolsets.ts'
import { configOf } from '../../../_config.ts'

const test = suite('toolset selection')

const profile = (cli: unknown, more: Record<string, unknown> = {}) => ({
  platform_toolsets: { cli },
  mcp_servers: { files: {}, my_git: {}, my: {} },
  ...more,
})
const on = (config: Record<string, unknown>, override?: unknown) => [
  ...selectToolsets(configOf(config), override).toolsets,
]
const servers = (config: Record<string, unknown>, override?: unknown) =>
  ['files', 'my_git', 'my'].filter(selectToolsets(configOf(config), override).mcp)

test('everything is enabled by default and by the composite in either spelling', () => {
  for (const cli of [undefined, null, 'agent-cli', ['hermes-cli'], ['agent-telegram']]) {
    const names = on(profile(cli))
    assert.ok(names.includes('terminal') && names.includes('vision'), String(cli))
    assert.not(names.includes('moa'))
  }
  assert.is(selectToolsets(configOf({})).source, 'default')
  // The key at the root is of another time.
  assert.ok(on({ toolsets: ['web'] }).includes('terminal'))
})

test('a disabled toolset stays off in every selection', () => {
  const config = profile(['web', 'terminal'], { agent: { disabled_toolsets: ['terminal', 'my'] } })
  assert.equal(on(config), ['web'])
  assert.equal(on(config, ['terminal', 'todo']), ['todo'])
  assert.equal(servers(config), ['files', 'my_git'])
})

test('MCP servers: all, the named ones, or none', () => {
  assert.equal(servers(profile(['web'])), ['files', 'my_git', 'my'])
  assert.equal(servers(profile(['web', 'my'])), ['my'])
  assert.equal(servers(profile(['agent-cli', 'no_mcp'])), [])
  // A conversation that chooses tools leaves the servers as they are, unless it names some.
  assert.equal(servers(profile(['web', 'my']), ['todo']), ['my'])
  assert.equal(servers(profile(['web', 'my']), ['todo', 'files']), ['files'])
  assert.equal(servers(profile(['web']), ['no_mcp']), [])
})

test('matches a tool to its server by the longest name', () => {
  const { allowsTool } = selectToolsets(configOf(profile(['web', 'my_git'])))
  assert.ok(allowsTool('mcp_my_git_log'))
  assert.not(allowsTool('mcp_my_note'))
  assert.not(allowsTool('mcp_files_read'))
  assert.not(selectToolsets(configOf(profile(['no_mcp']))).allowsTool('mcp_other_x'))
})

test('a session override, and what is not one', () => {
  const config = profile(['web'])
  assert.equal(on(config, ['file']), ['file'])
  assert.equal(on(config, []), [])
  for (const none of [null, undefined, '', {}, 5]) assert.equal(on(config, none), ['web'])
  assert.is(selectToolsets(configOf(config), ['file']).source, 'session')
})

test('switching expands composites and preserves other names', () => {
  assert.equal(withToolset(profile(['web', 'my', 'homegrown']), 'todo', true), [
    'web',
    'todo',
    'my',
    'homegrown',
  ])
  assert.equal(withToolset(profile(['web', 'todo', 'no_mcp']), 'web', false), ['todo', 'no_mcp'])
  const off = withToolset(profile(['agent-cli', 'my']), 'web', false)
  assert.ok(off.includes('browser') && off.includes('my') && !off.includes('agent-cli'))
  assert.not(off.includes('web'))
  assert.equal(withToolset(profile(['web']), 'web', false), [])
})

test.run()
