/** Approval card: shows the proposed change and only the available answers. */
import '../../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Approval } from '../../../lib/schema/question.ts'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { createRandom } from '../../_random.ts'
import { createTestClock } from '../../_clock.ts'
import { createServerClock } from '../../../public/parts/server-clock.ts'

const { ApprovalCard } = await import('../../../public/features/approvals/approval-card.tsx')

const test = suite('approval card')

const clock = createServerClock(createTestClock())
const draw = (more: Partial<Approval>): string => {
  const approval: Approval = {
    kind: 'approval',
    approval_id: 'a',
    session_id: 's',
    command: 'edit a.txt',
    pattern_key: 'Tester: change files',
    pattern_keys: ['Tester: change files'],
    description: 'Tester asks to change files',
    requested_at: 1,
    ...more,
  }
  return renderToString(
    h(ApprovalCard, { approval, keys: false, clock, onAnswer: () => undefined }),
  )
}

test('the change is drawn, file by file, with what is left out of it', () => {
  const diff =
    '--- a.txt\n+++ a.txt\n@@ -1,1 +1,1 @@\n-first\n+<b>second</b>\n' +
    '--- /dev/null\n+++ new.txt\n@@ -0,0 +1,1 @@\n+third\n\\ 7 more lines of this change are not shown.\n'
  const shown = draw({ diff }).replace(/<\/?mark[^>]*>/g, '')
  for (const words of ['a.txt', 'first', '&lt;b>second&lt;/b>', 'new.txt', 'third', '7 more lines'])
    assert.ok(shown.includes(words), words)
  assert.not.match(draw({}), /ask-diff/)
})

test('only the answers on offer', () => {
  const count = (shown: string) => shown.match(/<button/g)?.length
  assert.is(count(draw({})), 4)
  assert.is(count(draw({ choices: ['once', 'deny'] })), 2)
  assert.is(count(draw({ choices: ['deny'] })), 1)
})

test('a question about the network: the host is prominent, and what each answer covers is said', () => {
  const shown = draw({
    command: 'npm install',
    pattern_key: 'network: nas.example:8080',
    pattern_keys: ['network: nas.example:8080'],
    description:
      '`npm install` wants to reach nas.example:8080, which is 10.0.0.5 in your own network.',
    reasons: [
      { reaches: { command: 'npm install', place: 'nas.example:8080', address: '10.0.0.5' } },
    ],
    network: { host: 'nas.example', port: 8_080, private: true, address: '10.0.0.5' },
  })
  const text = shown.replace(/<[^>]*>/g, '')
  for (const words of [
    'Allow network access?',
    '“npm install” wants to reach nas.example:8080, which is 10.0.0.5 in your own network.',
    'Always allow here',
    'those in this workspace',
  ])
    assert.ok(text.includes(words), words)
  assert.match(shown, /<p class="ask-host" dir="ltr">nas\.example:8080<\/p>/)
})

test('says what an answer that lasts covers: what is shown, unless the person chooses any call', () => {
  const covered = (more: Partial<Approval>) => {
    const shown = draw({
      pattern_key: 'mcp: odd/erase',
      command: 'odd/erase {"path":"/x"}',
      ...more,
    })
    return [
      /type="checkbox"/.test(shown),
      /<label class="ask-any">.*?>([^<>]+)<\/label>/.exec(shown)?.[1],
      /ask-covers">([^<]+)/.exec(shown)?.[1],
    ]
  }
  assert.equal(covered({ any: { of: 'arguments', name: 'odd/erase' } }), [
    true,
    'This tool, with any arguments',
    '“Allow for this chat” and “Always allow” cover only this tool with exactly these arguments.',
  ])
  assert.is(
    covered({ any: { of: 'changes', name: 'a.txt' } })[2],
    '“Allow for this chat” and “Always allow” cover only exactly this change.',
  )
  assert.equal(
    covered({ any: { of: 'arguments', name: 'odd/erase' }, choices: ['once', 'deny'] }),
    [false, undefined, 'The agent has to ask about this every time.'],
  )
})

test('characters that hide others are shown once, whether the service showed them already or not', () => {
  const raw = 'ls \u202e\u200b gpj.x\u001b[8m ; rm -rf ~'
  const shown = 'ls ⟨U+202E⟩⟨U+200B⟩ gpj.x⟨U+001B⟩[8m ; rm -rf ~'
  for (const command of [raw, shown, `${raw} שלום`, `${shown} שלום`]) {
    const card = draw({ command, description: command, cwd: command, diff: `\\ ${command}` })
    const text = card.replace(/<[^>]*>/g, '')
    // The title, the command, the note of the diff and the folder.
    assert.is(text.split('⟨U+202E⟩⟨U+200B⟩').length - 1, 4, text)
    assert.not.match(card, /[\u202e\u200b\u001b]|⟨[^⟩]*⟨/u)
  }
})

test('what was made visible stays as it is', () => {
  const parts = [
    'a',
    ' ',
    '\n',
    '\u202e',
    '\u200b',
    '\u200d',
    '\ufe0f',
    '\ud800',
    '👩',
    '👍🏽',
    '🏴',
  ]
  parts.push('\u{e0067}', '\u{e007f}', 'ب', '葛', '\u{e0100}', '1', '\u20e3', '⟨', 'U+202E', '⟩')
  const random = createRandom(7)
  for (let run = 0; run < 3_000; run++) {
    const text = Array.from({ length: 1 + random.below(12) }, () => random.pick(parts)).join('')
    for (const each of [visibleText, visibleName]) {
      const once = each(text)
      assert.is(each(once), once, JSON.stringify(text))
    }
  }
})

test.run()
