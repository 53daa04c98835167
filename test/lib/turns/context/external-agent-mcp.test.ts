/** Which MCP servers an external agent is given: none that a rule names, that are filtered, or that are turned off. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ProfileConfig } from '../../../../lib/profiles/config.ts'
import { serversFor } from '../../../../lib/turns/context/external-agent-mcp.ts'

const test = suite('mcp servers of external agents')

const servers = (permissions: object, more: object = {}, toolsets?: unknown) => {
  const { passed, withheld } = serversFor(
    {
      mcp_servers: { echo: { command: 'e' }, 'my-files': { url: 'https://x.example' } },
      permissions,
      platform_toolsets: {},
      agent: {},
      ...more,
    } as unknown as ProfileConfig,
    toolsets,
  )
  return [passed.map(({ name }) => name).join(), withheld.map(({ rule }) => rule).join()]
}

test('a server that a deny or ask rule may be about is withheld, with the rule', () => {
  for (const [rule, passed] of [
    ['mcp__echo__echo_back', 'my-files'],
    ['mcp__echo', 'my-files'],
    ['mcp_echo_*', 'my-files'],
    ['mcp_echo_echo_back', 'my-files'],
    ['mcp_e*', 'my-files'],
    ['mcp__my-files__read', 'echo'],
    ['MCP__Echo__x', 'my-files'],
    ['mcp_*', ''],
    ['*', ''],
    ['mcp__other__x', 'echo,my-files'],
    ['bash(touch *)', 'echo,my-files'],
    ['web_search', 'echo,my-files'],
  ] as const)
    for (const list of ['deny', 'ask']) {
      const [given, rules] = servers({ [list]: [rule] })
      assert.is(given, passed, `${list} ${rule}`)
      assert.is(
        rules,
        Array(2 - passed.split(',').filter(Boolean).length)
          .fill(rule)
          .join(),
        rule,
      )
    }
  assert.equal(servers({ allow: ['mcp__echo'] }), ['echo,my-files', ''])
})

test.run()
