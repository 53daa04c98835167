/** Reasoning and tool calls in the text: extracted when meant, kept when they are content. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseInlineMarkup } from '../../../lib/agent/inline-tool-calls.ts'

const test = suite('inline tool calls')

const reply = (text: string) => ({ text, reasoning: '', refusal: '', calls: [], providerState: [] })
const call = (name: string, args = '{"say": "hi"}') =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

const THOUGHTS: [string, string, string][] = [
  ['</think>All done.', 'All done.', ''],
  ['</think>\n\nAll done.', 'All done.', ''],
  [
    'Let me see.\nOK so 2+2.\n</think>\n\nThe answer is 4.',
    'The answer is 4.',
    'Let me see.\nOK so 2+2.',
  ],
  ['The tag `</think>` ends a thought.', 'The tag `</think>` ends a thought.', ''],
  ['Use </think> there.', 'Use </think> there.', ''],
  ['Like this:\n```\n<think>\n</think>\n```', 'Like this:\n```\n<think>\n</think>\n```', ''],
  ['plain', 'plain', ''],
]
for (const [text, said, thought] of THOUGHTS)
  test(`reasoning without an opening tag: ${JSON.stringify(text)}`, () => {
    const meant = parseInlineMarkup(reply(text), [])
    assert.equal([meant.text, meant.reasoning], [said, thought])
  })

test('calls at the end are calls', () => {
  const meant = parseInlineMarkup(reply(`I call.\n${call('echo')}\n${call('other', '{}')}`), [
    'echo',
    'other',
  ])
  assert.is(meant.text, 'I call.')
  assert.equal(
    meant.calls.map(({ name, arguments: args }) => [name, JSON.parse(args)]),
    [
      ['echo', { say: 'hi' }],
      ['other', {}],
    ],
  )
  assert.is(parseInlineMarkup(reply(`<tool_call>{"name":"echo"}`), ['echo']).calls.length, 1)
})

test('an example, an unknown tool and an incomplete call are text', () => {
  for (const text of [
    `You would write:\n${call('echo')}\nand then wait.`,
    call('unknown'),
    '<tool_call>\n{"name": "echo", "argum',
    `Inline ${call('echo')}`,
  ])
    assert.equal(parseInlineMarkup(reply(text), ['echo']), reply(text))
})

test.run()
