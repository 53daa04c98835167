/** Permission rules without a user to ask: scripts of scheduled tasks, redirections, unattended approvals. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApprovalRequest } from '../../../../lib/agent/types.ts'
import { parseProfileConfig } from '../../../../lib/profiles/config.ts'
import { Approver } from '../../../../lib/turns/context/approver.ts'
import {
  hostDenial,
  rulesFor,
  scriptDenial,
} from '../../../../lib/turns/context/permissions/home-rules.ts'
import { tempDir } from '../../../_temp-dir.ts'

const rules = suite('permission rules of a home')

const dir = tempDir('home-rules')
mkdirSync(join(dir, 'scripts'))
writeFileSync(join(dir, 'scripts', 'push.sh'), 'cd /tmp\ngit push origin\n')
writeFileSync(join(dir, 'scripts', 'look.sh'), 'git status\n')

type Home = Parameters<typeof hostDenial>[0]
const homeWith = (permissions: object): Home =>
  ({
    dir,
    values: () => ({ permissions }),
    env: () => ({ HOME: dir, PATH: '/usr/bin:/bin' }),
    configFile: { path: join(dir, 'config.yaml') },
  }) as unknown as Home

rules(
  'the script of a scheduled task is refused for what it contains; cron_mode answers an ask rule',
  () => {
    const deny = homeWith({ deny: ['bash(git push *)'] })
    assert.match(scriptDenial(deny, 'push.sh', true) ?? '', /permissions\.deny/)
    assert.is(scriptDenial(deny, 'look.sh', false), null)
    const ask = homeWith({ ask: ['bash(git push *)'] })
    assert.match(scriptDenial(ask, 'push.sh', false) ?? '', /the rule “bash\(git push \*\)”/)
    assert.is(scriptDenial(ask, 'push.sh', true), null)
    assert.is(scriptDenial(homeWith({}), 'push.sh', false), null)
  },
)

rules('a redirection to a denied domain, or to another one that needs approval, is refused', () => {
  const home = homeWith({ deny: ['web(domain:bad.org)'], ask: ['WebFetch(domain:asked.org)'] })
  const denied = (host: string, asked: string) => hostDenial(home, 'web_extract', host, asked)
  assert.match(denied('www.bad.org', 'good.org') ?? '', /permissions\.deny/)
  assert.match(denied('bad.org', 'bad.org') ?? '', /permissions\.deny/)
  assert.match(denied('asked.org', 'good.org') ?? '', /Asked because/)
  // The call itself was asked about.
  assert.is(denied('asked.org', 'asked.org'), null)
  assert.is(denied('good.org', 'good.org'), null)
})

rules('a changed file applies to the next call', () => {
  let permissions: object = {}
  const home = { ...homeWith({}), values: () => ({ permissions }) } as unknown as Home
  const current = rulesFor(home, dir, { HOME: dir })
  const call = { tool: 'web_search', accesses: [] }
  assert.is(current.decide(call), null)
  permissions = { deny: ['WebSearch'] }
  assert.is(current.decide(call)?.list, 'deny')
  assert.not(current.isOffered({ name: 'web_search' }))
  permissions = {}
  assert.is(current.decide(call), null)
})

rules(
  'an approval that a rule requires is answered by no mode, label, or earlier answer',
  async () => {
    const { value } = parseProfileConfig({
      approvals: { mode: 'off' },
      command_allowlist: ['recursive delete', 'rule: bash(rm *)'],
    })
    const asked: unknown[] = []
    const granted: unknown[] = []
    const approver = new Approver(
      {
        sessionId: 's',
        home: { name: 'default', config: () => value },
        workspace: dir,
        meta: { approved_patterns: ['recursive delete'] },
        unattended: null,
      } as never,
      { head: () => ({ meta: {} }) } as never,
      { has: () => true, add: (_: string, grant: unknown) => void granted.push(grant) } as never,
      {
        noteAllowed: () => {},
        approve: async (question: unknown) => {
          asked.push(question)
          return 'always'
        },
      } as never,
    )
    const ask: ApprovalRequest = {
      command: 'rm -rf x',
      patternKeys: ['rule: bash(rm *)', 'recursive delete'],
      description: '',
      cwd: dir,
      rule: 'bash(rm *)',
    }
    assert.is(await approver.approve(ask), 'once')
    assert.is(asked.length, 1)
    assert.equal(granted, [])
    const { rule: _, ...plain } = ask
    assert.is(await approver.approve(plain), 'once')
    assert.is(asked.length, 1)
  },
)

rules.run()
