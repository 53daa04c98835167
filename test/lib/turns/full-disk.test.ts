/** Proof *Full disk* for turns: a sentence, a free session, and nothing lost of what was sent, once there is space again. */
import { readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Agent, ModelEndpoint } from '../../../lib/agent/types.ts'
import { UserError } from '../../../lib/errors.ts'
import { Hub } from '../../../lib/http/hub.ts'
import { Sessions } from '../../../lib/sessions/sessions.ts'
import { Turns } from '../../../lib/turns/turns.ts'
import { emptyUsage } from '../../../lib/schema/usage.ts'
import { createTestClock } from '../../_clock.ts'
import { tempDir } from '../../_temp-dir.ts'

const disk = suite('full disk')

const endpoint: ModelEndpoint = {
  provider: 'p',
  model: 'm',
  apiMode: 'demo',
  baseUrl: '',
  apiKey: null,
  contextLength: 0,
}
const silent = async function* () {}

/** A home whose transcripts can simulate a full disk. */
const setup = (agent: Agent) => {
  const dir = tempDir('full-disk')
  const state = { full: false }
  const log: string[] = []
  const clock = createTestClock()
  const sessions = new Sessions({
    dir: join(dir, 'sessions'),
    trashDir: join(dir, 'trash'),
    cacheDir: join(dir, 'cache'),
    redact: text => text,
    onRow: () => {},
    onDeleted: () => {},
    onCopied: () => {},
    log: line => log.push(line),
    clock,
    write: (fd, data) => {
      if (state.full) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
      return writeSync(fd, data)
    },
  })
  const ended: unknown[] = []
  const done: string[] = []
  const started = () =>
    new Turns({
      sessions,
      hub: new Hub('0badcafe', clock),
      liveDir: join(dir, 'live'),
      resume: {},
      onEnded: ({ failure }) => ended.push(failure?.type),
      onDone: id => done.push(id),
      clock,
      log: line => log.push(line),
      redactMessage: message => message,
      providers: { chat_completions: silent, demo: silent },
      createContext: turn => ({
        agent,
        request: async () => ({
          endpoint: turn.endpoint as ModelEndpoint,
          providers: { chat_completions: silent, demo: silent },
          tools: [],
          system: '',
          workspace: dir,
          env: {},
          forbidden: [],
          maxSteps: 1,
          history: [],
          nextMessageId: () => sessions.nextMessageId(turn.sessionId),
          approve: async () => 'deny' as const,
          clarify: async () => null,
        }),
        record(message) {
          const [entry] = sessions.append(turn.sessionId, [{ t: 'message', message }])
          if (entry?.t !== 'message') throw new Error('expected a message')
          return entry.message
        },
        recordSent: () => undefined,
        recordSummary: () => null,
        redact: text => text,
      }),
    })
  const turns = started()
  const { session_id: id } = sessions.create({ workspace: dir, model: null, profile: 'default' })
  const start = (text: string) =>
    turns.start({ sessionId: id, text, attachments: [], patch: {}, endpoint })
  return {
    sessions,
    turns,
    clock,
    ended,
    done,
    started,
    state,
    log,
    id,
    start,
    dir,
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await turns.close()
      await sessions.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const outcome = { steps: 1, usage: emptyUsage, provider: 'p', model: 'm' }

disk(
  'no space for the message: the start is rejected with a reason and leaves nothing behind',
  async () => {
    await using home = setup(async () => ({ status: 'finished', text: '', ...outcome }))
    home.state.full = true
    await home.start('hello').then(
      () => assert.unreachable('it was accepted'),
      (error: unknown) => {
        assert.instance(error, UserError)
        assert.match((error as UserError).message, /disk is full/i)
      },
    )
    assert.is(home.turns.count(), 0)
    home.state.full = false
    assert.equal(home.sessions.load(home.id).messages, [])
    const { result } = await home.start('hello')
    assert.is((await result)?.status, 'finished')
  },
)

disk(
  'full in mid-answer: a sentence to the readers, a free session, and the text is there afterwards',
  async () => {
    await using home = setup(async ({ nextMessageId, signal }, emit) => {
      const id = nextMessageId()
      emit({ type: 'token', messageId: id, text: 'precious words' })
      home.state.full = true
      emit({ type: 'message', message: { id, role: 'assistant', content: 'precious words' } })
      return { status: signal.aborted ? 'stopped' : 'finished', text: '', ...outcome }
    })
    const { turn, result } = await home.start('hello')
    await result
    assert.is(home.turns.count(), 0)
    const seen: string[] = []
    const said: string[] = []
    for await (const event of turn.log.read(0, new AbortController().signal)) {
      seen.push(event.type)
      if (event.type === 'apperror') said.push((event.data as { message: string }).message)
    }
    assert.equal(seen.slice(-2), ['apperror', 'stream_end'])
    assert.match(said[0]!, /disk is full/i)
    assert.is(home.sessions.require(home.id).is_streaming, false)
    assert.ok(home.log.length > 0)

    // Space again: before the next turn, the streamed text is written to the transcript.
    home.state.full = false
    const next = await home.start('and now?')
    home.state.full = false
    await next.result
    const { messages } = home.sessions.load(home.id)
    const contents = messages.map(message => message.content)
    assert.equal(contents.slice(0, 2), ['hello', 'precious words'])
    assert.is(messages[1]!._partial, true)
    assert.ok(contents.includes('and now?'))
    for (const line of readFileSync(join(home.dir, 'sessions', `${home.id}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n'))
      JSON.parse(line)
  },
)

disk(
  'a turn that has ended in the transcript is not ended again because its last event could not be written',
  async () => {
    await using home = setup(async ({ nextMessageId }, emit) => {
      emit({
        type: 'message',
        message: { id: nextMessageId(), role: 'assistant', content: 'all of it' },
      })
      return { status: 'finished', text: 'all of it', ...outcome }
    })
    const { turn, result } = await home.start('hello')
    const append = turn.log.append.bind(turn.log)
    turn.log.append = event => {
      if (event.type === 'done') throw new UserError('full', 'The disk is full')
      return append(event)
    }
    await result
    await (await home.start('and now?')).result
    const contents = home.sessions.load(home.id).messages.map(message => message.content)
    assert.equal(contents, ['hello', 'all of it', 'and now?', 'all of it'])
  },
)

disk(
  'after a turn whose last event could not be written, the next message is sent once there is space',
  async () => {
    await using home = setup(async () => ({ status: 'finished', text: '', ...outcome }))
    const { turn, result } = await home.start('hello')
    const append = turn.log.append.bind(turn.log)
    turn.log.append = event => {
      if (event.type !== 'done') return append(event)
      home.state.full = true
      throw new UserError('full', 'The disk is full')
    }
    await result
    await home.clock.advance(60_000)
    assert.equal(home.done, [])
    home.state.full = false
    await home.clock.advance(60_000)
    assert.equal(home.done, [home.id])
  },
)

disk(
  'the error is in the transcript as soon as there is space, without another message',
  async () => {
    await using home = setup(async ({ nextMessageId, signal }, emit) => {
      const id = nextMessageId()
      emit({ type: 'token', messageId: id, text: 'precious words' })
      home.state.full = true
      emit({ type: 'message', message: { id, role: 'assistant', content: 'precious words' } })
      return { status: signal.aborted ? 'stopped' : 'finished', text: '', ...outcome }
    })
    await (await home.start('hello')).result
    await home.clock.advance(60_000)
    assert.is(home.sessions.load(home.id).messages.length, 1)
    assert.equal(home.ended, [])
    home.state.full = false
    await home.clock.advance(5_000)
    const { messages, turn } = home.sessions.load(home.id)
    assert.equal([messages[1]!.content, messages[1]!._partial], ['precious words', true])
    assert.ok(messages[2]!._error)
    assert.match(String(messages[2]!.content), /disk is full/i)
    assert.is(turn?.how, 'interrupted')
    assert.equal(home.ended, ['error'])
    await home.clock.advance(60_000)
    assert.is(home.sessions.load(home.id).messages.length, 3)
  },
)

disk(
  'a later start records the end of a turn that was given up, and does not continue it',
  async () => {
    let calls = 0
    await using home = setup(async ({ nextMessageId }, emit) => {
      calls += 1
      emit({ type: 'token', messageId: nextMessageId(), text: 'precious words' })
      home.state.full = true
      emit({ type: 'message', message: { id: nextMessageId(), role: 'assistant', content: 'x' } })
      return { status: 'stopped', text: '', ...outcome }
    })
    await (await home.start('hello')).result
    await home.turns.close()
    home.state.full = false
    const again = home.started()
    await again.resume({ endpointOf: async () => endpoint, workOf: {} } as never)
    assert.is(again.count(), 0)
    const { messages, turn } = home.sessions.load(home.id)
    assert.is(turn?.how, 'interrupted')
    assert.match(String(messages.at(-1)!.content), /could not be saved/)
    assert.is(calls, 1)
    await again.close()
  },
)

disk.run()
