/** Agents of other programs in the model list: what is installed, what config.yaml names, and which sentence says what is missing. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { InstalledAgents, installedAgents } from '../../../lib/models/external-agents.ts'
import { compatibleFor } from '../../../lib/models/compat.ts'
import { modelGroups } from '../../../lib/models/model-groups.ts'
import { readinessOf } from '../../../lib/models/readiness.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { bare, homeOf } from './_home.ts'
import { tempDir } from '../../_temp-dir.ts'

const test = suite<{ bin: string }>('external agents')

const install = (bin: string, ...names: string[]) => {
  for (const name of names) {
    writeFileSync(join(bin, name), '#!/bin/sh\n')
    chmodSync(join(bin, name), 0o755)
  }
}

test.before.each(context => {
  context.bin = tempDir('bin')
})

type Given = Parameters<typeof homeOf>[0]
const endpointOf = (given: Given, id: string) => {
  const home = homeOf(given)
  return resolveEndpoint(home, bare, resolveFor(home, id))
}

test('ignores directories, plain files, and relative or missing paths', ({ bin }) => {
  mkdirSync(join(bin, 'goose'))
  writeFileSync(join(bin, 'gemini'), 'text')
  assert.equal(installedAgents(`${bin}:relative::/nowhere/at/all:${bin}/gemini`), [])
})

test('starts each agent of the table with its own arguments', ({ bin }) => {
  install(bin, 'cline', 'kilo', 'gemini', 'kimi')
  const found = installedAgents(bin).map(({ id, command }) => [id, ...command.slice(1)].join(' '))
  assert.equal(found.toSorted(), ['cline --acp', 'gemini --acp', 'kilo acp', 'kimi acp'])
})

test('rejects agents that are not installed, unknown or removed', ({ bin }) => {
  const env = { PATH: bin }
  const cases: [string, Given, RegExp][] = [
    ['@acp:gemini', { env }, /Couldn’t start Gemini CLI: gemini isn’t installed/],
    ['@acp:nobody', { env }, /Unknown agent "nobody".*acp_command/],
    ['@copilot-acp:x', { env }, /Couldn’t start GitHub Copilot ACP: copilot isn’t installed/],
    [
      '@mine:x',
      { env, config: { providers: { mine: { acp_command: '/nowhere/agent' } } } },
      /Couldn’t start Mine: \/nowhere\/agent isn’t installed/,
    ],
  ]
  for (const [id, given, words] of cases) assert.throws(() => endpointOf(given, id), words)
})

test('an agent named like a provider alias does not replace it', ({ bin }) => {
  install(bin, 'x')
  const env = { PATH: bin, ANTHROPIC_API_KEY: 'sk-ant-x', GEMINI_API_KEY: 'g' }
  const entry = {
    acp_command: 'x',
    env: { A: 1, B: null, C: { no: 'text' } },
    acp_start_timeout: '300',
    acp_idle_timeout: -1,
    acp_max_idle: 3,
  }
  const config = { providers: { claude: entry, opencode: entry } }
  const agent = endpointOf({ env, config }, '@acp:claude')
  assert.is(agent.apiMode, 'acp')
  assert.is(agent.agent?.name, 'Claude Code')
  assert.equal(agent.agent?.settings, {
    env: { A: '1', B: '' },
    mcp: true,
    startMs: 300_000,
    maxIdle: 3,
  })
  const api = endpointOf({ env, config }, '@anthropic:claude-sonnet-4-5')
  assert.is(api.apiMode, 'anthropic_messages')
  // Said to be the provider itself, it is.
  const chosen = { ...config, model: { provider: 'claude' } }
  assert.is(endpointOf({ env, config: chosen }, 'claude-sonnet-4-5').apiMode, 'acp')
})

test('reads how a new chat starts; what is no text or switch is left out', ({ bin }) => {
  install(bin, 'x')
  const first = (more: Record<string, unknown>) => {
    const config = { providers: { mine: { acp_command: 'x', ...more } } }
    const {
      env: _,
      mcp: __,
      ...rest
    } = endpointOf({ env: { PATH: bin }, config }, '@acp:mine').agent?.settings ?? {}
    return rest
  }
  assert.equal(
    first({ acp_mode: ' plan ', acp_model: 4.5, acp_options: { loud: true, level: 2 } }),
    {
      mode: 'plan',
      model: '4.5',
      options: { loud: true, level: '2' },
    },
  )
  assert.equal(first({ acp_mode: '', acp_model: null, acp_options: ['x', { y: 1 }] }), {})
  assert.equal(first({ acp_options: { deep: { er: 1 }, none: null } }), {})
})

test('the message for an installed agent without a command', ({ bin }) => {
  install(bin, 'gemini')
  const config = { providers: { gemini: { env: { KEY: 'k' }, acp_mcp: false } } }
  const { agent, command } = endpointOf({ env: { PATH: bin }, config }, '@acp:gemini')
  assert.equal(command, [join(bin, 'gemini'), '--acp'])
  assert.equal(agent?.settings, { env: { KEY: 'k' }, mcp: false })
})

test('lists installed agents of the launch table; their model ids may hold any character', ({
  bin,
}) => {
  install(bin, 'opencode', 'claude-agent-acp')
  const env = { PATH: `/nowhere:${bin}` }
  assert.equal(endpointOf({ env }, '@acp:opencode'), {
    provider: 'acp',
    model: 'opencode',
    apiMode: 'acp',
    baseUrl: '',
    apiKey: null,
    contextLength: 0,
    command: [join(bin, 'opencode'), 'acp'],
    agent: { id: 'opencode', name: 'OpenCode', model: null },
  })
  const claude = endpointOf({ env }, '@acp:claude:lab/large:free')
  assert.equal(claude.command, [join(bin, 'claude-agent-acp')])
  assert.is(claude.agent?.model, 'lab/large:free')
  assert.is(claude.model, 'claude:lab/large:free')
})

test('reads acp_command and acp_args from the model section, a provider, a custom provider', ({
  bin,
}) => {
  install(bin, 'npx')
  const env = { PATH: bin }
  const npx = join(bin, 'npx')
  const said = { acp_command: 'npx', acp_args: ['-y', 'some-agent'] }
  const cases: [string, Record<string, unknown>, string | null][] = [
    ['', { model: { provider: 'mine', ...said } }, null],
    ['', { model: { provider: 'mine', default: 'large', ...said } }, 'large'],
    ['@acp:mine', { providers: { mine: said } }, null],
    ['@mine:default', { providers: { mine: { ...said, acp_args: '-y some-agent' } } }, null],
    ['@custom:my-box:big', { custom_providers: [{ name: 'My Box', ...said }] }, 'big'],
  ]
  for (const [id, config, model] of cases) {
    const endpoint = endpointOf({ env, config }, id)
    assert.equal([endpoint.apiMode, endpoint.command], ['acp', [npx, '-y', 'some-agent']], id)
    assert.is(endpoint.agent?.model, model, id)
  }
})

test('copilot-acp starts the command of its variables', ({ bin }) => {
  install(bin, 'other')
  const env = {
    PATH: bin,
    AGENT_COPILOT_ACP_COMMAND: 'other',
    AGENT_COPILOT_ACP_ARGS: '--acp --port 1',
  }
  assert.equal(endpointOf({ env }, '@copilot-acp:gpt-5.4').command, [
    join(bin, 'other'),
    '--acp',
    '--port',
    '1',
  ])
})

test('agents form one group with the models they offer; a session keeps its choice', ({ bin }) => {
  install(bin, 'opencode')
  const home = homeOf({
    env: { PATH: bin },
    config: { providers: { mine: { name: 'My agent', acp_command: 'opencode' } } },
  })
  const agents = {
    programs: installedAgents,
    models: (id: string) => (id === 'opencode' ? [{ id: 'a/b:c', label: 'ABC' }] : []),
  }
  const { groups } = modelGroups(home, bare, { agents })
  assert.equal(groups.at(-1), {
    provider: 'Agents on this machine',
    provider_id: 'acp',
    models: [
      { id: '@acp:opencode', label: 'OpenCode' },
      { id: '@acp:opencode:a/b:c', label: 'OpenCode · ABC' },
      { id: '@acp:mine', label: 'My agent' },
    ],
  })
  for (const id of ['@acp:opencode', '@acp:opencode:a/b:c'])
    assert.equal(compatibleFor(home, bare, id, { agents }), { model: id, changed: false })
  assert.is(modelGroups(homeOf({}), bare, { agents }).groups.at(-1)?.provider_id, 'demo')
})

test('as the default, an installed agent is ready without a key', ({ bin }) => {
  const home = {
    ...homeOf({ env: { PATH: bin }, config: { model: { provider: 'acp', default: 'opencode' } } }),
    authProblem: () => null,
  }
  assert.is(readinessOf(home, bare).isReady, false)
  install(bin, 'opencode')
  assert.is(readinessOf(home, bare).isReady, true)
  assert.is(resolveEndpoint(home, bare, resolveFor(home, '')).agent?.id, 'opencode')
})

test('repeats the lookup only when a directory of PATH has changed', ({ bin }) => {
  const installed = new InstalledAgents()
  const find = (path: string) => installed.find(path)
  const none = find(bin)
  assert.equal(none, [])
  assert.is(find(bin), none)
  install(bin, 'goose')
  assert.equal(
    find(bin).map(({ name }) => name),
    ['goose'],
  )
})

test.run()
