/** Which changes of config.yaml apply at once, which wait, and what an edit in the page confirms. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  guardedPart,
  mergeEdit,
  restoringEdits,
  withAccepted,
} from '../../../lib/guards/guarded-settings.ts'

const test = suite('guarded settings')

type Values = Record<string, unknown>

const look = (accepted: Values, now: Values) => {
  const { inForce, changes } = withAccepted(now, guardedPart(accepted))
  return { inForce, keys: changes.map(({ path }) => path.join('.')) }
}

/** Each with the keys that wait. */
const LOOSENED: [before: Values, now: Values, keys: string[]][] = [
  [{}, { approvals: { mode: 'off' } }, ['approvals.mode']],
  // YAML 1.1 reads `off` as false.
  [{}, { approvals: { mode: false } }, ['approvals.mode']],
  [{}, { approvals: { cron_mode: 'allow' } }, ['approvals.cron_mode']],
  [{}, { approvals: { outside_sandbox: 'dangerous' } }, ['approvals.outside_sandbox']],
  [{}, { approvals: { some_later_key: true } }, ['approvals.some_later_key']],
  [{ approvals: { deny: ['a', 'b'] } }, { approvals: { deny: ['b', 'c'] } }, ['approvals.deny']],
  [{ approvals: { deny: ['a'] } }, { approvals: 'off' }, ['approvals.deny']],
  [{ approvals: { deny: ['a'] } }, {}, ['approvals.deny']],
  [{}, { permissions: { allow: ['Bash(*)'] } }, ['permissions.allow']],
  [{ permissions: { deny: ['a'] } }, { permissions: { deny: [] } }, ['permissions.deny']],
  [{ permissions: { ask: 'a' } }, { permissions: null }, ['permissions.ask']],
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
    ['custom_providers.0.acp_command'],
  ],
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
  // What says nothing of this.
  [
    {},
    {
      model: { default: 'a' },
      approvals: { timeout: 5 },
      terminal: { cwd: '/tmp' },
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
