/** Time travel on the page: which recorded point belongs to a step, the list of files, and the moments of a film. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { linesOf } from '../../../public/features/time-travel/file-list.ts'
import {
  advance,
  callAt,
  createScreen,
  durationOf,
  type Film,
  stepFrom,
} from '../../../public/features/time-travel/film.ts'
import { pastOfCall, pointsOf } from '../../../public/features/time-travel/points.ts'
import { createPlayer } from '../../../public/features/time-travel/player.ts'
import type { TurnChange } from '../../../public/features/workspace/turn-changes.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('time travel')

const calls = (...ids: string[]) =>
  ids.map(id => ({
    id,
    type: 'function' as const,
    function: { name: 'terminal', arguments: '{}' },
  }))
const result = (id: string): Message => ({
  ...{ id: `r${id}`, role: 'tool', content: '{}', tool_call_id: id },
})
const messages: Message[] = [
  { id: 'm1', role: 'user', content: 'Go' },
  { id: 'm2', role: 'assistant', content: '', tool_calls: calls('c1', 'c2') },
  result('c1'),
  result('c2'),
  { id: 'm5', role: 'assistant', content: 'Halfway.', tool_calls: calls('c3') },
  result('c3'),
  { id: 'm7', role: 'assistant', content: 'Done.' },
  { id: 'm8', role: 'user', content: 'Again' },
]
const step = (...ids: string[]) => ({ calls: ids, at: 1, files: ['a'] })
const record = (more: Partial<TurnChange>): TurnChange => ({
  ...{ checkpoint: 'f', session_id: 's', message_id: 'm1', title: '', workspace: '/w', at: 1 },
  ...{ ended_at: 2, undo_of: null, interrupted: false, notes: [], files: [], truncated: false },
  ...{ file_count: 0, added: 0, removed: 0, steps: [step('c2'), step('c3')] },
  ...more,
})
const pointOf = (call: string, more: Partial<TurnChange> = {}) => {
  const { change, point, isWhole } = pastOfCall('s', messages, [record(more)], call)
  return [change !== null, point, isWhole]
}

test('finds no point for unknown calls and turns without a record', () => {
  assert.equal(pointOf('none', { message_id: null, steps: [] }), [false, 'after', false])
  assert.equal(pointOf('c1', { message_id: 'm8' }), [false, 'after', false])
  assert.equal(pointOf('c1', { undo_of: 'e' }), [false, 'after', false])
  const old = record({})
  delete old.steps
  assert.equal(pastOfCall('s', messages, [old], 'c1').isWhole, true)
  assert.equal(pointsOf(old), ['before', 'after'])
})

test('a step shows the last change that is not after it', () => {
  assert.equal(pointOf('c1'), [true, 'before', false])
  assert.equal(pointOf('c2'), [true, 'c2', false])
  assert.equal(pointOf('c3', { steps: [step('c2')] }), [true, 'c2', false])
  // The step of the call may have been lost with the server.
  assert.equal(pointOf('c3', { steps: [step('c2')], interrupted: true }), [true, 'after', true])
  assert.equal(pointOf('c2', { steps: [step('c2')], interrupted: true }), [true, 'c2', false])
  assert.equal(pointsOf(record({})), ['before', 'c2', 'c3', 'after'])
})

test('the list has directories first and the files of open ones', () => {
  const files = ['b.txt', 'src/z.ts', 'src/in/a.ts'].map(path => ({ path, state: 'same' as const }))
  const shown = (...open: string[]) =>
    linesOf(files, new Set(open)).map(({ depth, name }) => `${depth} ${name}`)
  assert.equal(shown(), ['0 src', '0 b.txt'])
  assert.equal(shown('src/in'), ['0 src', '0 b.txt'])
  assert.equal(shown('src', 'src/in'), ['0 src', '1 in', '2 a.ts', '1 z.ts', '0 b.txt'])
})

const film: Film = { sessionId: 's', messages, summaries: [], turnUsage: [], title: '' }

test('every moment shows what the transcript showed', () => {
  const screen = createScreen(film, createTestClock(5_000))
  const at = (moment: number) => {
    const { messages: shown, live } = screen(moment)
    return [
      shown.at(-1)?.id,
      live && [live.message_id, live.text, live.tools.map(({ tid }) => tid)],
    ]
  }
  assert.equal(at(0), [undefined, null])
  assert.equal(at(0.1), ['m1', ['m2', '', []]])
  assert.equal(at(2), ['m2', [null, '', ['c1']]])
  assert.equal(at(3.5), ['rc1', [null, '', ['c2']]])
  assert.equal(at(4.5), ['rc2', ['m5', 'Half', []]])
  assert.equal(at(7), ['m7', null])
  assert.equal(at(8), ['m8', null])
  assert.is(screen(4.2).messages, screen(4.9).messages)
  assert.equal([callAt(film, 2), callAt(film, 3), callAt(film, 6.2)], [null, 'c1', 'c3'])
})

test('plays by duration, steps whole messages, and stops at the end', () => {
  assert.is(advance(film, 0, durationOf(messages[0]!) / 2), 0.5)
  assert.is(advance(film, 7.5, 1e9), 8)
  assert.equal([stepFrom(film, 2.5, 1), stepFrom(film, 2.5, -1)], [3, 2])
  assert.equal([stepFrom(film, 8, 1), stepFrom(film, 0, -1)], [8, 0])
  const player = createPlayer(film, { from: 0, isStepped: false })
  player.tick(200)
  assert.is(player.at.value, 0)
  player.toggle()
  player.tick(200)
  assert.ok(player.at.value > 0)
  player.speed.value = 16
  for (let n = 0; n < 20; n++) player.tick(1_000)
  assert.equal([player.at.value, player.playing.value], [8, false])
  player.toggle()
  assert.equal([player.at.value, player.playing.value], [0, true])
  player.step(1)
  assert.equal([player.at.value, player.playing.value], [1, false])
  const stepped = createPlayer(film, { from: 1.5, isStepped: true })
  assert.is(stepped.at.value, 1)
  createPlayer({ ...film, messages: [] }, { from: 0, isStepped: false }).toggle()
})

test('5,000 messages: one moment costs no more than the list of those before it', () => {
  const many = Array.from({ length: 5_000 }, (_, n) => ({ ...messages[n % 8]!, id: `m${n}` }))
  const screen = createScreen({ ...film, messages: many }, createTestClock(5_000))
  for (let moment = 0; moment <= 5_000; moment += 0.5) screen(moment)
  assert.is(screen(5_000).messages.length, 5_000)
})

test.run()
