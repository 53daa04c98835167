/**
 * Proof *No loss* of the bar: the service is killed with SIGKILL at random points of turns with many tool calls. After the
 * restart every acknowledged message and every event ever sent is there, once, in order; the files parse; the session continues.
 * `PROOF=full` kills 200 times, a plain run three times.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptSettings, spawnApp } from '../../_app.ts'
import { createProvider, type Step } from '../../_provider.ts'

const rounds = process.env.PROOF === 'full' ? 200 : 3
const proof = suite('no loss')

/** Repeatable chance: a failure must be able to happen again. */
const createDice = (seed: number) => {
  let state = seed
  return (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state % sides
  }
}

const words = Array.from({ length: 12 }, (_, i) => `word${i} `)
const steps = (kill: number): Step[] => [
  ...Array.from({ length: 6 }, (_, round) => ({
    text: words,
    toolCalls: Array.from({ length: 3 }, (_, i) => ({
      id: `r${round}c${i}`,
      name: 'terminal',
      arguments: { command: `echo ${kill}-${round}-${i} >> ran` },
    })),
    portion: 200,
  })),
  { text: ['The', ' end.'] },
]

type Event = { id?: string; event: string; data: Record<string, unknown> }
type Message = { id: string; role: string; content: string; tool_call_id?: string }

proof(`${rounds} kills: nothing acknowledged is lost or doubled`, async () => {
  const dice = createDice(20261121)
  const provider = await createProvider()
  const app = await spawnApp()
  try {
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  base_url: ${provider.url}\n  default: test-model\napprovals:\n  outside_sandbox: dangerous\n`,
    )
    await acceptSettings(app)
    for (let round = 0; round < rounds; round++) {
      // What an earlier round left of the script must not answer this one.
      provider.clear()
      provider.push(...steps(round))
      // Calls that the kill cut off have taken their step of the script.
      provider.otherwise = () => ({ text: 'The end.' })
      const { body } = await app.post('/api/session/new', {})
      const id: string = body.session.session_id
      const started = await app.post('/api/chat/start', { session_id: id, message: `go ${round}` })
      assert.is(started.status, 200)
      const stream: string = started.body.stream_id

      const killAfter = 1 + dice(120)
      const sent: Event[] = []
      try {
        for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`)) {
          sent.push(event as Event)
          if (sent.length >= killAfter || event.event === 'stream_end') break
        }
      } finally {
        await app.kill()
      }
      await app.start()

      // The stream resumes exactly, the turn continues, and ends.
      const rest: Event[] = []
      for await (const event of app.events(
        `/api/chat/stream?stream_id=${stream}&after=${sent.length}`,
      ))
        rest.push(event as Event)
      const ids = [...sent, ...rest].map(event => Number(event.id))
      assert.ok(ids.every((n, i) => n === i + 1))
      const last = [...sent, ...rest].map(({ event }) => event)
      assert.equal(
        [last.at(-1), last.includes('done'), last.includes('apperror')],
        ['stream_end', true, false],
      )

      const { session } = (await app.get(`/api/session?session_id=${id}`)).body
      const messages: Message[] = session.messages
      assert.is(messages[0]!.content, `go ${round}`)
      assert.is(new Set(messages.map(message => message.id)).size, messages.length)
      assert.equal([session.active_stream_id, session.is_streaming], [null, false])

      // No command ran twice.
      const ran = existsSync(join(session.workspace, 'ran'))
        ? readFileSync(join(session.workspace, 'ran'), 'utf8').trim().split('\n')
        : []
      assert.is(new Set(ran).size, ran.length)

      // Every announced final message is in the transcript, in order.
      const announced = sent
        .filter(event => event.event === 'message')
        .map(event => (event.data.message as Message).id)
      const stored = messages.map(message => message.id)
      assert.equal(stored.slice(0, announced.length), announced)

      // Every token that was sent is in the message it was sent for, unless it was withdrawn.
      const tokens = new Map<string, string>()
      for (const event of [...sent, ...rest]) {
        const of = String(event.data.message_id)
        if (event.event === 'retry') tokens.delete(of)
        if (event.event !== 'token') continue
        tokens.set(of, (tokens.get(of) ?? '') + String(event.data.text))
      }
      for (const [of, text] of tokens) {
        const message = messages.find(each => each.id === of)
        assert.ok(message, `message ${of} is gone`)
        assert.ok(message.content.startsWith(text.trimEnd()), `message ${of} lost text`)
      }

      // Each call has exactly one answer: a provider would refuse the history otherwise.
      const asked = messages.flatMap(
        message => (message as { tool_calls?: { id: string }[] }).tool_calls ?? [],
      )
      for (const call of asked)
        assert.is(messages.filter(message => message.tool_call_id === call.id).length, 1)

      for (const line of readFileSync(join(app.state, 'sessions', `${id}.jsonl`), 'utf8')
        .trimEnd()
        .split('\n'))
        JSON.parse(line)

      // And the session can go on.
      provider.clear()
      provider.push({ text: 'Here again.' })
      const again = await app.post('/api/chat', { session_id: id, message: 'and now?' })
      assert.equal([again.status, again.body.answer], [200, 'Here again.'])
    }
  } finally {
    await app.close()
    await provider.close()
  }
})

proof.run()
