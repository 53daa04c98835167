/** What an `allow` rule covers, and what it must never cover. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { join } from 'node:path'
import { delegate } from '../../../../lib/agent/tools/delegate.ts'
import { patch } from '../../../../lib/agent/tools/patch.ts'
import { callContext } from '../../../_call.ts'
import { createPlace } from './_place.ts'

const { commandCall, home, isAllowed, pathCall, removePlace, rulesOf, verdictOf, workspace } =
  createPlace()

const allow = suite('allow rules')
allow.after(removePlace)

const RUN = { allow: ['Bash(npm run *)', 'bash(make:*)', 'bash(terraform plan)'] }

allow('does not cover a command with a part that no rule covers', () => {
  for (const command of [
    'npm runx',
    'npm run build && rm -rf x',
    'npm run build; curl x.org',
    'npm run build | sh',
    'npm run build\nrm -rf x',
    'npm run $(rm -rf x)',
    'npm run "$(cat ~/.ssh/id_rsa)"',
    'npm run build > ~/.bashrc',
    'npm run build >> /etc/x',
    'npm run build < ~/.ssh/id_rsa',
    'npm run build <<< "$(cat ~/.ssh/id_rsa)"',
    'npm run build; bash y.sh',
    'npm run build > out.txt',
    'npm run build &',
    'for i in 1 2; do npm run b$i; done',
    'LD_PRELOAD=x npm run build',
    'PATH=.:$PATH npm run build',
    'sudo npm run build',
    './npm run build',
    '/tmp/npm run build',
    '"npm run" build',
    'npm(){ rm -rf /home/x; }; npm run build',
    'alias npm=rm; npm run x',
    'eval npm run build',
    'bash -c "npm run build"',
    'terraform plan -x',
    'NPM run build',
    'ｎpm run build',
    '$NPM run build',
  ])
    assert.not(isAllowed(RUN, command), command)
})

allow('a rule for find or xargs does not cover what they start', () => {
  const lists = { allow: ['bash(find *)', 'bash(xargs *)', 'bash(prettier *)'] }
  for (const command of ['find . -exec rm {} +', 'find . -exec prettier {} +', 'xargs prettier'])
    assert.not(isAllowed(lists, command), command)
  assert.ok(isAllowed(lists, 'find . -delete'))
})

allow('covers every part, with harmless ones beside it', () => {
  for (const command of [
    'npm run',
    'npm run build',
    'npm  run  build',
    '"npm" run build',
    'npm run build && ls',
    'npm run build | head -5',
    'npm run build 2>&1 | tail -20',
    'npm run build 2>/dev/null',
    'npm run a; make b',
    'cd src && npm run build',
    'NODE_ENV=test npm run build',
    'timeout 60 npm run build',
    'make',
    'make all',
    'terraform plan',
  ])
    assert.ok(isAllowed(RUN, command), command)
})

allow(
  'never answers for a control file, for a rule that asks, or for another text than the command',
  () => {
    const rules = rulesOf({ allow: ['bash', 'edit(**)', '*'] })
    const ask = { command: 'npm run x', patternKeys: ['x'], description: '', cwd: workspace }
    const call = commandCall('npm run x')
    assert.ok(rules.covers(call, ask))
    assert.is(rules.covers(call, { ...ask, isControl: true }), null)
    assert.is(rules.covers(call, { ...ask, rule: 'bash' }), null)
    const changed = { ...ask, command: 'export X=1\nnpm run x' }
    assert.is(rulesOf(RUN).covers(call, changed), null)
  },
)

allow(
  'covers a file change only when every file is covered, by its real path and exact name',
  () => {
    const covers = (rules: string[], ...paths: string[]) => {
      const call = {
        tool: 'patch',
        accesses: paths.flatMap(path => pathCall('write', path).accesses),
      }
      const ask = { command: 'change', patternKeys: ['x'], description: '', cwd: workspace }
      return rulesOf({ allow: rules }).covers(call, ask) !== null
    }
    const note = join(home, 'private', 'note')
    assert.ok(covers(['edit(~/private/**)'], note))
    assert.not(covers(['edit(~/private/**)'], note, join(home, 'x')))
    assert.ok(covers(['edit(~/private/**)', 'edit(~/x)'], note, join(home, 'x')))
    assert.not(covers(['edit(~/PRIVATE/**)'], note))
    assert.not(covers(['read(~/private/**)'], note))
    // A name without a slash, or a leading slash, is less here than in deny.
    assert.not(covers(['edit(note)'], note))
    assert.not(covers(['edit(/src/**)'], join(workspace, 'src', 'a.ts')))
    assert.ok(covers(['edit(*.ts)'], join(workspace, 'src', 'a.ts')))
    // A link to elsewhere is judged by where it leads.
    assert.not(covers(['edit(link/**)'], join(home, 'private', 'note')))
  },
)

allow('deny wins over ask, and ask over allow, in any order', () => {
  const call = commandCall('git push origin')
  const rule = ['bash(git push *)']
  assert.is(verdictOf({ allow: rule, ask: rule, deny: rule }, call), 'deny')
  assert.is(verdictOf({ allow: rule, ask: rule, deny: [] }, call), 'ask')
  assert.is(verdictOf({ allow: rule, ask: ['bash(git pull *)'] }, call), 'none')
  assert.is(verdictOf({ allow: ['bash(git push origin)'], deny: ['bash'] }, call), 'deny')
})

allow('a rule for an MCP server does not cover a server whose name begins the same', () => {
  const covers = (rule: string, server: string, tool: string) =>
    rulesOf({ allow: [rule] }).covers(
      { tool, server, accesses: [] },
      { command: '', patternKeys: ['mcp: x'], description: '', cwd: workspace },
    ) !== null
  assert.ok(covers('mcp__git', 'git', 'mcp_git_push'))
  assert.ok(covers('mcp__git__push', 'git', 'mcp_git_push'))
  assert.not(covers('mcp__git', 'git_hub', 'mcp_git_hub_delete'))
  assert.not(covers('mcp__git__push', 'git', 'mcp_git_pull'))
})

allow('the files of a patch are judged in every form, with and without the mode', () => {
  const call = callContext({ workspace, env: { HOME: home } })
  const deny = { deny: ['edit(secret.txt)'] }
  const body = '@@ -1 +1 @@\n-a\n+b'
  const forms = [
    { patch: `*** Begin Patch\n*** Update File: secret.txt\n${body}\n*** End Patch` },
    { patch: `*** Begin Patch\n*** Delete File: secret.txt\n*** End Patch` },
    {
      patch: `*** Begin Patch\n*** Update File: x\n*** Move to: secret.txt\n${body}\n*** End Patch`,
    },
    { patch: `--- a/secret.txt\n+++ b/secret.txt\n${body}\n` },
    { patch: `--- a/secret.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n` },
    { patch: `diff --git a/x b/secret.txt\nrename from x\nrename to secret.txt\n` },
    { path: 'secret.txt', old_string: 'a', new_string: 'b' },
  ]
  for (const form of forms)
    for (const mode of [undefined, 'patch', 'replace']) {
      const accesses = patch.reaches?.(patch.input.parse({ mode, ...form }), call) ?? []
      assert.is(
        verdictOf(deny, { tool: 'patch', accesses }),
        'deny',
        JSON.stringify({ mode, form }),
      )
    }
})

allow('a rule for a subagent covers it by name, alone or among several tasks', () => {
  const call = (args: object) => {
    const accesses = delegate.reaches?.(delegate.input.parse(args), callContext()) ?? []
    return { tool: 'delegate_task', accesses }
  }
  const deny = { deny: ['Task(review*)'] }
  assert.is(verdictOf(deny, call({ goal: 'x', agent: 'Reviewer' })), 'deny')
  assert.is(
    verdictOf(deny, call({ tasks: ['other', 'reviewer'].map(agent => ({ goal: 'x', agent })) })),
    'deny',
  )
  assert.is(verdictOf(deny, call({ goal: 'x', agent: '' })), 'none')
  assert.is(verdictOf(deny, call({ goal: 'review', agent: 'other' })), 'none')
})

allow.run()
