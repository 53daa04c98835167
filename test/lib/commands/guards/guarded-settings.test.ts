/** Which changes of config.yaml apply at once, which wait, and what an edit in the page confirms. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  guardedPart,
  mergeEdit,
  restoringEdits,
  withAccepted,
} from '../../../../lib/commands/guards/guarded-settings.ts'

const test = suite('guarded settings')

const VARIABLE = `$\{OTHER_KEY}`

type Values = Record<string, unknown>

const look = (accepted: Values, now: Values) => {
  const { inForce, changes } = withAccepted(now, guardedPart(accepted))
  return { inForce, keys: changes.map(({ path }) => path.join('.')) }
}

/** Each with the keys that wait. */
const LOOSENED: [before: Values, now: Values, keys: string[]][] = [
  [{}, { approvals: { mode: 'off' } }, ['approvals.mode']],
  [{}, { model: { extra_headers: { a: VARIABLE } } }, ['model.extra_headers']],
  [
    {},
    { providers: { openai: { default_headers: { a: VARIABLE } } } },
    ['providers.openai.default_headers'],
  ],
  // YAML 1.1 reads `off` as false.
  [{}, { approvals: { mode: false } }, ['approvals.mode']],
  [{}, { approvals: { cron_mode: 'allow' } }, ['approvals.cron_mode']],
  [{}, { approvals: { outside_sandbox: 'dangerous' } }, ['approvals.outside_sandbox']],
  [{}, { approvals: { some_later_key: true } }, ['approvals.some_later_key']],
  [{ approvals: { deny: ['a', 'b'] } }, { approvals: { deny: ['b', 'c'] } }, ['approvals.deny']],
  [{ approvals: { deny: ['a'] } }, { approvals: 'off' }, ['approvals.deny']],
  [{ approvals: { deny: ['a'] } }, {}, ['approvals.deny']],
  [{ approvals: { deny: ['a'] } }, { approvals: ['x'] }, ['approvals.deny', 'approvals.0']],
  [{}, { permissions: { allow: ['Bash(*)'] } }, ['permissions.allow']],
  [{ permissions: { deny: ['a'] } }, { permissions: { deny: [] } }, ['permissions.deny']],
  [{ permissions: { ask: 'a' } }, { permissions: null }, ['permissions.ask']],
  [{}, { providers: { claude: { acp_mode: 'auto' } } }, ['providers.claude.acp_mode']],
  [
    {},
    { providers: { codex: { acp_options: { mode: 'agent-full-access' } } } },
    ['providers.codex.acp_options'],
  ],
  [{ model: { acp_mode: 'plan' } }, { model: {} }, ['model.acp_mode']],
  [{ command_allowlist: ['a'] }, { command_allowlist: ['a', 'b'] }, ['command_allowlist']],
  [{}, { hooks: { PreToolUse: [{ command: './x' }] } }, ['hooks']],
  [{ hooks: { PreToolUse: [{ command: './x' }] } }, {}, ['hooks']],
  [{}, { mcp_servers: { a: { command: 'a' } } }, ['mcp_servers.a']],
  [
    { mcp_servers: { a: { command: 'a' }, b: { command: 'b' } } },
    { mcp_servers: { a: { command: 'other' } } },
    ['mcp_servers.a'],
  ],
  [
    { mcp_servers: { a: { command: 'a', enabled: false } } },
    { mcp_servers: { a: { command: 'a' } } },
    ['mcp_servers.a'],
  ],
  [{ sandbox: true }, { sandbox: { enabled: 'auto' } }, ['sandbox.enabled']],
  [{ sandbox: { enabled: true } }, { sandbox: false }, ['sandbox.enabled']],
  [{}, { sandbox: { enabled: false } }, ['sandbox.enabled']],
  [{ sandbox: true }, { sandbox: { enabled: true, network: true } }, ['sandbox.network']],
  [
    { sandbox: { network: ['a.example'] } },
    { sandbox: { network: ['a.example', '*'] } },
    ['sandbox.network'],
  ],
  [{}, { sandbox: { writable: '/' } }, ['sandbox.writable']],
  [{ sandbox: { hidden: ['~/x'] } }, { sandbox: {} }, ['sandbox.hidden']],
  [{ terminal: { backend: 'docker' } }, {}, ['terminal.backend']],
  [
    { terminal: { backend: 'docker' } },
    { terminal: { backend: 'docker', docker_volumes: ['/:/host'] } },
    ['terminal.docker_volumes'],
  ],
  [{}, { terminal: { env_passthrough: ['KEY'] } }, ['terminal.env_passthrough']],
  [{ security: { website_blocklist: { enabled: true } } }, {}, ['security.website_blocklist']],
  [{}, { browser: { allow_private_urls: true } }, ['browser.allow_private_urls']],
  [{ budgets: { turn: { usd: 1 } } }, {}, ['budgets.turn']],
  [{ skills: { write_approval: true } }, { skills: {} }, ['skills.write_approval']],
  [{ agent: { disabled_toolsets: ['a'] } }, { agent: {} }, ['agent.disabled_toolsets']],
  [{}, { lsp: { servers: { a: { command: ['a'] } } } }, ['lsp.servers']],
  [{ model: 'a' }, { model: { default: 'a', acp_command: 'x' } }, ['model.acp_command']],
  [
    { custom_providers: [{ name: 'a' }] },
    { custom_providers: [{ name: 'a', acp_command: 'x' }] },
    ['custom_providers.a.acp_command'],
  ],
  // Where prompts, and the keys beside them, are sent.
  [
    { model: { base_url: 'https://a.example/v1' } },
    { model: { base_url: 'https://b.example/v1' } },
    ['model.base_url'],
  ],
  [{}, { base_url: 'https://b.example' }, ['base_url']],
  [{}, { model: { base_url: 'https://127.0.0.1.example/v1' } }, ['model.base_url']],
  [{}, { model: { base_url: ['http://127.0.0.1:9'] } }, ['model.base_url']],
  [
    { model: { base_url: 'https://a.example/v1' } },
    { model: { base_url: 'http://127.0.0.1:9' } },
    ['model.base_url'],
  ],
  [{}, { model: { provider: 'custom', api_key: VARIABLE } }, ['model.api_key']],
  [{ model: { api_key: 'plain' } }, { model: { api: VARIABLE } }, ['model.api']],
  ...['base_url', 'url', 'api', 'key_env', 'api_key_env'].flatMap(
    (key): [before: Values, now: Values, keys: string[]][] => [
      [
        { providers: { a: { [key]: 'x' } } },
        { providers: { a: { [key]: 'y' } } },
        [`providers.a.${key}`],
      ],
      [
        { custom_providers: [{ name: 'A b', [key]: 'x' }] },
        { custom_providers: [{ name: 'A b', [key]: 'y' }] },
        [`custom_providers.a-b.${key}`],
      ],
    ],
  ),
  [{}, { providers: { a: { api_key: VARIABLE } } }, ['providers.a.api_key']],
  [{}, { custom_providers: [{ url: 'y' }] }, ['custom_providers.custom.url']],
  [
    { custom_providers: [{ name: 'a', url: 'x' }] },
    {
      custom_providers: [
        { name: 'a', url: 'y' },
        { name: 'a', url: 'x' },
      ],
    },
    ['custom_providers.a.url', 'custom_providers.a#2.url'],
  ],
  [
    { fallback_providers: [{ model: 'm', base_url: 'x' }] },
    { fallback_providers: [{ model: 'm', base_url: 'y' }] },
    ['fallback_providers.y.base_url'],
  ],
  [
    { fallback_providers: [{ model: 'm', base_url: 'x' }] },
    { fallback_providers: [{ model: 'm', base_url: 'x', key_env: 'K' }] },
    ['fallback_providers.x K.base_url', 'fallback_providers.x K.key_env'],
  ],
  [{}, { fallback_model: { model: 'm', base_url: 'y' } }, ['fallback_model.base_url']],
  [{}, { delegation: { base_url: 'y' } }, ['delegation.base_url']],
  [{}, { auxiliary: { vision: { base_url: 'y' } } }, ['auxiliary.vision.base_url']],
  [{}, { compression: { summary_base_url: 'y' } }, ['compression.summary_base_url']],
  [
    {},
    { tts: { base_url: 'y' }, stt: { a: { base_url: 'y' } } },
    ['stt.a.base_url', 'tts.base_url'],
  ],
  // What counts as inside, and what is read into every chat.
  [{}, { terminal: { cwd: '/' } }, ['terminal.cwd']],
  [{ workspace: '/home/a/work' }, { workspace: '/home/a' }, ['workspace']],
  [{}, { default_workspace: '~' }, ['default_workspace']],
  [
    { platform_toolsets: { cli: ['web'] } },
    { platform_toolsets: { cli: ['web', 'terminal'] } },
    ['platform_toolsets.cli'],
  ],
  [{ platform_toolsets: { cli: ['web'] } }, {}, ['platform_toolsets.cli']],
  [{ platform_toolsets: { cli: ['web'] } }, { platform_toolsets: [] }, ['platform_toolsets.cli']],
  [{}, { platform_toolsets: { cli: ['moa'] } }, ['platform_toolsets.cli']],
  [{}, { skills: { external_dirs: ['/tmp/x'] } }, ['skills.external_dirs']],
  [{}, { agent: { prefill_messages_file: 'x.json' } }, ['agent.prefill_messages_file']],
  [{}, { checkpoints: { enabled: false } }, ['checkpoints.enabled']],
  [{}, { checkpoints: false }, ['checkpoints.enabled']],
  [{}, { checkpoints: { max_snapshots: 1 } }, ['checkpoints.max_snapshots']],
]

test('what loosens waits, and the values in force are the accepted ones', () => {
  for (const [before, now, keys] of LOOSENED) {
    const found = look(before, now)
    assert.equal(found.keys, keys, JSON.stringify(now))
    assert.equal(look(before, { ...found.inForce }).keys, [], JSON.stringify(found.inForce))
  }
})

const TIGHTENED: [before: Values, now: Values][] = [
  [{ approvals: { mode: 'off' } }, { approvals: { mode: 'smart' } }],
  [{ approvals: { mode: 'off' } }, {}],
  [{ approvals: { cron_mode: 'approve' } }, { approvals: { cron_mode: 'deny' } }],
  [{ approvals: { outside_sandbox: 'dangerous' } }, { approvals: { outside_sandbox: 'changes' } }],
  [
    { permissions: { deny: 'a', allow: ['b', 'c'] } },
    { permissions: { deny: ['x', 'a'], allow: ['c'] } },
  ],
  [{ command_allowlist: ['a', 'b'] }, { command_allowlist: [] }],
  [
    { mcp_servers: { a: { command: 'a' }, b: { command: 'b' } } },
    { mcp_servers: { a: { command: 'a', enabled: false } } },
  ],
  [{ sandbox: false }, {}],
  [{ sandbox: { enabled: 'auto', network: true } }, { sandbox: { enabled: true, network: ['a'] } }],
  [{ sandbox: { network: ['a', 'b'] } }, { sandbox: { network: ['b'], hidden: '~/x' } }],
  [{ browser: { allow_private_urls: true } }, { browser: { allow_private_urls: false } }],
  [{ model: { acp_command: 'x' } }, { model: 'a' }],
  // The host agent's command line changes the model, its key, and the address of a service that is known.
  [
    { model: { default: 'a', provider: 'custom', base_url: 'https://a.example/v1', api_key: 'x' } },
    { model: { default: 'b', provider: 'custom', base_url: 'https://a.example/v1', api_key: 'y' } },
  ],
  [
    { model: { default: 'a', provider: 'custom', base_url: 'https://a.example/v1' } },
    {
      model: { default: 'b', provider: 'openrouter', base_url: 'https://openrouter.ai/api/v1/' },
    },
  ],
  [{ model: { base_url: 'https://a.example/v1' } }, { model: { provider: 'anthropic' } }],
  // Entries of lists are known by their names.
  [
    {
      custom_providers: [
        { name: 'a', base_url: 'x', acp_command: 'x' },
        { name: 'b', base_url: 'y', acp_command: 'y' },
      ],
    },
    { custom_providers: [{ name: 'b', base_url: 'y', model: 'm', acp_command: 'y' }] },
  ],
  [
    {
      fallback_providers: [
        { model: 'm', base_url: 'x' },
        { model: 'n', base_url: 'y' },
      ],
    },
    { fallback_providers: ['k', { model: 'other', base_url: 'y' }] },
  ],
  [
    { workspace: '/a', platform_toolsets: { cli: ['a', 'b'] }, skills: { external_dirs: 'x' } },
    { platform_toolsets: { cli: ['b'] } },
  ],
  [{ checkpoints: false }, { checkpoints: true }],
  // What says nothing of this.
  [
    {},
    {
      model: { default: 'a' },
      approvals: { timeout: 5 },
      terminal: { cwd: '.' },
      lsp: { enabled: true },
    },
  ],
  [
    { hooks: {}, permissions: null },
    { permissions: { allow: [] }, mcp_servers: {} },
  ],
]

test('what only tightens applies at once', () => {
  for (const [before, now] of TIGHTENED) {
    const { inForce, keys } = look(before, now)
    assert.equal(keys, [], JSON.stringify(now))
    assert.is(inForce, now)
  }
})

test('a change that does both applies where it tightens', () => {
  const { inForce, keys } = look(
    { permissions: { deny: ['a'] } },
    { permissions: { deny: ['a', 'b'], allow: ['c'] }, approvals: { mode: 'off' } },
  )
  assert.equal(keys, ['approvals.mode', 'permissions.allow'])
  assert.equal(inForce, { permissions: { deny: ['a', 'b'] }, approvals: {} })
})

test('a list keeps its order and the rest of its entries', () => {
  const before = { custom_providers: [{ name: '2', url: 'x' }] }
  const now = {
    custom_providers: [{ name: 'b', url: 'y', model: 'm' }, 'odd', { name: '2', url: 'x' }],
  }
  assert.equal(look(before, now).inForce, {
    custom_providers: [{ name: 'b', model: 'm' }, 'odd', { name: '2', url: 'x' }],
  })
})

test('keys are not copied', () => {
  const written = {
    model: { api_key: 'secret' },
    providers: { a: { api_key: 'secret', url: 'x' } },
  }
  assert.not.match(JSON.stringify(guardedPart(written)), /secret/)
})

test('keys of objects are no way around', () => {
  const now = JSON.parse(
    '{"mcp_servers":{"__proto__":{"command":"x"},"constructor":{"command":"y"}}}',
  )
  assert.equal(look({}, now).keys, ['mcp_servers.__proto__', 'mcp_servers.constructor'])
  assert.equal(JSON.stringify(look({}, now).inForce), '{"mcp_servers":{}}')
})

test('an edit confirms what it changes, and nothing that waited', () => {
  const merged = (accepted: Values, before: Values, after: Values) =>
    mergeEdit(accepted, guardedPart(before), guardedPart(after))
  assert.equal(
    merged(
      { command_allowlist: ['a'] },
      { command_allowlist: ['a', 'waits'] },
      { command_allowlist: ['a', 'waits', 'mine'] },
    ),
    { command_allowlist: ['a', 'mine'] },
  )
  assert.equal(
    merged({}, { approvals: { mode: 'off' } }, { approvals: { mode: 'off', deny: ['x'] } }),
    { approvals: { deny: ['x'] } },
  )
  assert.equal(
    merged(
      { mcp_servers: { a: { command: 'a' } } },
      { mcp_servers: { a: { command: 'waits' } } },
      { mcp_servers: { a: { command: 'waits', enabled: false }, b: { url: 'b' } } },
    ),
    { mcp_servers: { a: { command: 'a', enabled: false }, b: { url: 'b' } } },
  )
  assert.equal(merged({ command_allowlist: ['a'] }, { command_allowlist: ['a'] }, {}), {
    command_allowlist: [],
  })
})

test('restoring writes the values in force, also where the file has no mapping', () => {
  const edits = (accepted: Values, now: Values) =>
    restoringEdits(now, withAccepted(now, guardedPart(accepted)))
  assert.equal(edits({ approvals: { mode: 'manual' } }, { approvals: { mode: 'off' } }), [
    [['approvals', 'mode'], 'manual'],
  ])
  assert.equal(edits({}, { hooks: { a: 1 } }), [[['hooks'], undefined]])
  assert.equal(edits({ sandbox: true }, { sandbox: false }), [[['sandbox'], { enabled: true }]])
  assert.equal(edits({}, { custom_providers: [{ name: 'a', acp_command: 'x' }] }), [
    [['custom_providers'], [{ name: 'a' }]],
  ])
})

test.run()
