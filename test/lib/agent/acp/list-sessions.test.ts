/** Earlier sessions of an external agent (bounded list, replayed history) and images stored as files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as assert from 'uvu/assert'
import { adoptSession } from '../../../../lib/agent/acp/attach-session.ts'
import { Replay } from '../../../../lib/agent/acp/replay.ts'
import { ToolOutput } from '../../../../lib/sessions/tool-output.ts'
import { agentSuite } from './_external.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = agentSuite('acp: earlier sessions and images')

const served = { provider: 'acp', model: 'tester' }
const text = (words: string) => ({ type: 'text' as const, text: words })

test('replays messages with roles and calls with results, and ignores updates after the end', () => {
  const replay = new Replay('/w', served, createTestClock())
  replay.user(text('Look at '), '')
  replay.user(text('a.txt'), '')
  replay.transcript()?.text(text('I look.'))
  replay.transcript()?.call({ toolCallId: 'c1', kind: 'read', status: 'completed', content: [] })
  replay.transcript()?.call({ toolCallId: 'c2', kind: 'execute', status: 'in_progress' })
  replay.user(text('And'), 'a')
  replay.user(text('then?'), 'b')
  const { messages, omitted: left } = replay.end()
  replay.user(text('late'), '')
  assert.is(replay.transcript(), undefined)
  assert.is(left, 0)
  assert.equal(
    messages.map(({ role, content, tool_calls }) => [role, tool_calls?.length ?? content]),
    [
      ['user', 'Look at a.txt'],
      ['assistant', 1],
      ['tool', '{"content":""}'],
      ['assistant', 1],
      [
        'tool',
        '{"output":"The result of this call is unknown.","exit_code":null,"error":"It failed; the agent did not say how it ended."}',
      ],
      ['user', 'And'],
      ['user', 'then?'],
    ],
  )
})

test('drops the oldest turns of a history that is too long', () => {
  const replay = new Replay('/w', served, createTestClock(), 4)
  for (const words of ['one', 'two', 'three']) {
    replay.user(text(words), '')
    replay.transcript()?.text(text(`${words}!`))
  }
  const { messages, omitted: left } = replay.end()
  assert.equal(
    [messages.map(({ content }) => content), left],
    [['two', 'two!', 'three', 'three!'], 2],
  )
})

const painting = async (
  say: (words: string, options: object) => Promise<{ messages: { content: unknown }[] }>,
  words: string,
  run: (contents: string[], dir: string, output: ToolOutput) => void,
) => {
  const dir = tempDir('pictures')
  const output = new ToolOutput(dir, () => undefined)
  const saveImage = (id: string, bytes: Buffer, ending: string) =>
    output.saveBytes('0123456789ab', id, bytes, ending)
  const turn = await say(words, { request: { saveImage } })
  run(
    turn.messages.map(({ content }) => String(content)),
    dir,
    output,
  )
}

test('replaces invalid images with a note', async at => {
  const { say } = at
  await painting(say, 'paint junk', contents => {
    assert.not.match(contents.join(), /MEDIA/)
    assert.match(contents.join(), /\[image, image\/png\]/)
  })
  // And where nothing can be kept.
  assert.match((await say('paint')).text, /\[image, image\/png\]/)
})

test('images of calls and answers become files of the session, each shown once', async ({
  say,
}) => {
  await painting(say, 'paint', (contents, dir, output) => {
    const [, result = '', answer = ''] = contents
    const first = join(dir, '0123456789ab', 'i1.png')
    const second = join(dir, '0123456789ab', 'answer.png')
    assert.is(JSON.parse(result).content, `MEDIA:"${first}"`)
    assert.equal(answer.match(/MEDIA:"[^"]+"/g), [`MEDIA:"${first}"`, `MEDIA:"${second}"`])
    assert.is(readFileSync(first).subarray(1, 4).toString(), 'PNG')
    assert.is(output.ownerOf(first), '0123456789ab')
    assert.is(output.ownerOf(join(dir, '..', 'x', 'y.png')), undefined)
    assert.is(output.ownerOf(join(dir, '0123456789ab')), undefined)
  })
})

test('the session of a deleted chat is closed, so that another chat can continue it at once', async at => {
  at.place.traits = 'locks lists closes'
  await at.say('hello one', { request: { sessionKey: 'one' } })
  await at.say('hello two', { request: { sessionKey: 'two' } })
  const id = at.agents().peek(at.endpoint(), 'default', 'one')?.session.id ?? ''
  const adopt = () =>
    at
      .agents()
      .use(at.endpoint(), at.external(), running =>
        adoptSession(running, id, at.workspace, served, [], new AbortController().signal),
      )
  const [early] = await Promise.allSettled([adopt()])
  assert.is(early.status, 'rejected')
  at.agents().forget('nobody')
  at.agents().forget('one')
  assert.is(at.agents().peek(at.endpoint(), 'default', 'one'), null)
  const { replayed } = await adopt()
  assert.is(replayed?.messages[0]?.content, 'hello one')
  assert.ok(at.agents().peek(at.endpoint(), 'default', 'two'))
})

test('an agent that can’t close a session ends with the last chat that was deleted', async at => {
  await at.say('hello one', { request: { sessionKey: 'one' } })
  await at.say('hello two', { request: { sessionKey: 'two' } })
  at.agents().forget('one')
  assert.is(at.agents().running(), 1)
  at.agents().forget('two')
  assert.is(at.agents().running(), 0)
})

test.run()
