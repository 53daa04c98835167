/** What a page is sent of a long result: its beginning, its end, how it ended and how long it is – with the colors it was printed in. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CommandOutput } from '../../lib/agent/tools/command-output.ts'
import { countResultLines, MAX_SHOWN_CHARS, shortenResult } from '../../lib/turns/result-preview.ts'
import { parseResult } from '../../public/features/tool-calls/result-body.ts'
import { outcomeOf } from '../../public/features/tool-calls/outcome.ts'
import { startChat } from './_chat.ts'
import { createTestClock } from '../_clock.ts'

const test = suite('long output')

// biome-ignore lint/suspicious/noExplicitAny: any JSON
type Cut = any

const BUILD =
  'for i in $(seq 1 400); do printf "\\033[32mstep %s\\033[0m of the build is done\\033[2K\\n" $i; done; printf "\\033[31mERROR\\033[0m it failed\\n"; exit 3'

test('the end, exit code, line count and colors of long output reach the page, not the model', async () => {
  const chat = await startChat()
  const { app, provider } = chat
  const id = await chat.newSession()
  provider.push(
    { toolCalls: [{ name: 'terminal', arguments: { command: BUILD } }] },
    { text: 'done' },
  )
  const seen = await chat.turn(id, 'build it')
  const sent = seen
    .filter(({ event }) => event === 'message')
    .map(({ data }) => data.message as Record<string, unknown>)
    .find(({ role }) => role === 'tool')
  const page = (await app.get(`/api/session?session_id=${id}&limit=10`)).body.session.messages
  const paged = page.find(({ role }: { role: string }) => role === 'tool')
  for (const message of [sent, paged]) {
    assert.ok(message.content.length <= MAX_SHOWN_CHARS)
    const result = parseResult('terminal', message.content, message._output)
    const { exitCode, state } = outcomeOf(message.content)
    assert.equal([exitCode, state, message._content_lines], [3, 'failed', 401])
    if (result.body.kind !== 'output') throw new Error(result.body.kind)
    assert.match(result.body.text, /^\x1b\[32mstep 1\x1b\[0m of/)
    assert.match(result.body.text, /characters left out/)
    assert.match(
      result.body.text,
      /step 400\x1b\[0m of the build is done\n\x1b\[31mERROR\x1b\[0m it failed\n$/,
    )
    assert.not.match(result.body.text, /\[2K/)
  }
  const whole = await app.get(`/api/session/message?session_id=${id}&id=${paged.id}`)
  assert.is(whole.body.message._output.split('\n').length, 402)
  assert.not.match(JSON.stringify(provider.requests), /\\u001b|_output/)
  await chat.turn(id, 'and now')
  assert.not.match(JSON.stringify(provider.requests), /\\u001b|_output/)
  await chat.close()
})

test('redacts a secret split by color codes', async () => {
  const chat = await startChat()
  const id = await chat.newSession()
  const command = 'printf "key sk-ant-abcdefghij\\033[31mklmnopqrstuvwxyz0123456789\\033[0m\\n"'
  chat.provider.push({ toolCalls: [{ name: 'terminal', arguments: { command } }] }, { text: 'ok' })
  await chat.turn(id, 'print it')
  const result = (await chat.messages(id)).find(({ role }) => role === 'tool')
  assert.not.match(JSON.stringify(result), 'klmnopqrstuvwxyz')
  await chat.close()
})

test('truncated values stay JSON with their short fields, within the limit', () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `line "${at}"\t\\`).join('\n')
  const RESULTS: [Record<string, unknown>, (cut: Cut) => void][] = [
    [
      { output: lines(900), exit_code: 2, error: 'x' },
      cut => assert.match(cut.output, /^line "0"[\s\S]*line "899"\t\\$/),
    ],
    [{ output: '\u0001'.repeat(9_000), exit_code: 2 }, () => {}],
    [
      { output: lines(900), error: lines(300), exit_code: 2 },
      cut => assert.match(cut.error, 'line "299"'),
    ],
    [
      {
        total_count: 90,
        matches: Array.from({ length: 90 }, (_, line) => ({ path: 'a'.repeat(80), line })),
      },
      cut => assert.ok(cut.matches.length > 20),
    ],
    [
      { success: true, diff: `--- a\n+++ b\n@@ -1 +1 @@\n${'+x\n'.repeat(3_000)}` },
      cut => assert.match(cut.diff, /\+x\n$/),
    ],
    [
      { content: lines(900), total_lines: 900, truncated: true },
      cut => assert.is(cut.total_lines, 900),
    ],
  ]
  for (const [result, check] of RESULTS) {
    const cut = shortenResult(JSON.stringify(result))
    assert.ok(cut.length <= MAX_SHOWN_CHARS, `${cut.length}`)
    const read = JSON.parse(cut)
    assert.equal(Object.keys(read), Object.keys(result))
    for (const [key, value] of Object.entries(result))
      if (typeof value === 'number') assert.is(read[key], value)
    check(read)
  }
  assert.is(shortenResult('x'.repeat(9_000)).length, MAX_SHOWN_CHARS)
  assert.is(shortenResult(`{"broken": ${'x'.repeat(9_000)}`).length, MAX_SHOWN_CHARS)
  assert.is(countResultLines(JSON.stringify({ output: 'a\nb\n' })), 2)
})

test('output is cut between color codes, not through them', () => {
  const printed = new CommandOutput(createTestClock(), () => {})
  for (let at = 0; at < 20_000; at++)
    printed.write(Buffer.from(`\x1b[38;5;${at % 256}mword\x1b[0m `))
  printed.end()
  const { output, colored = '' } = printed.text()
  assert.match(
    output,
    /^(?:word )+(?:wor?d?)?\n\[… \d+ characters left out …\]\n(?:o?r?d? ?)(?:word )+$/,
  )
  assert.is(colored.replaceAll(/\x1b\[[\d;]*m/g, ''), output)
  assert.not(createPlain('\x1b[2Jx\x1b[0m').colored)
})

test('live output ends at its limit, in words', () => {
  const live: string[] = []
  const printed = new CommandOutput(createTestClock(), text => live.push(text))
  for (let at = 0; at < 30; at++) printed.write(Buffer.from('x'.repeat(9_999)))
  printed.end()
  assert.equal(live, [`${'x'.repeat(200_000)}\n[… more output is not shown live …]\n`])
})

const createPlain = (text: string) => {
  const printed = new CommandOutput(createTestClock(), () => {})
  printed.write(Buffer.from(text))
  return printed.text()
}

test.run()
