/**
 * Proof *Resume* of the bar: random cuts of one running turn, two readers at once on two kinds of stream, the turn ending
 * without a reader; the text each reader assembled equals the log. `PROOF=full` cuts 1 000 times, a plain run 120 times.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startChat } from '../../handlers/_chat.ts'

const cuts = process.env.PROOF === 'full' ? 1_000 : 120
const proof = suite('resume')

/** Repeatable chance. */
const createDice = (seed: number) => {
  let state = seed
  return (sides: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state % sides
  }
}

type Frame = {
  id: string
  event: string
  data: { source?: string; n: number; text?: string; data?: { text?: string } }
}

proof(`${cuts} cuts: the rendered text equals the log`, async () => {
  const words = Array.from({ length: cuts * 12 }, (_, i) => `w${i} `)
  const whole = words.join('')
  const chat = await startChat({ text: words, portion: 700 }, { text: 'A title' })
  try {
    const id = await chat.newSession()
    const { cursor } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    const stream = await chat.send(id, 'speak')

    /** The stream of the specification: positions of one turn. */
    const onChatStream = async (dice: (sides: number) => number) => {
      let text = ''
      let last = 0
      let done = false
      let made = 0
      while (!done) {
        const cutAfter = made < cuts ? 1 + dice(40) : Number.POSITIVE_INFINITY
        let count = 0
        const headers: Record<string, string> = last ? { 'last-event-id': String(last) } : {}
        for await (const event of chat.app.events(`/api/chat/stream?stream_id=${stream}`, {
          headers,
        })) {
          const frame = event as unknown as Frame
          assert.is(Number(frame.id), last + 1)
          last = Number(frame.id)
          if (frame.event === 'token') text += frame.data.text
          done = frame.event === 'stream_end'
          count += 1
          if (done || count >= cutAfter) break
        }
        made += 1
      }
      return text
    }

    /** The event stream of a page: on a reset the client drops its state and starts over. */
    const onEvents = async (dice: (sides: number) => number) => {
      const got = new Map<number, string>()
      let text = ''
      let last = ''
      let at = cursor
      let made = 0
      let done = false
      while (!done) {
        const cutAfter = made < cuts ? 1 + dice(40) : Number.POSITIVE_INFINITY
        let count = Number.NEGATIVE_INFINITY
        const headers: Record<string, string> = last ? { 'last-event-id': last } : {}
        for await (const event of chat.app.events(`/api/events?watch=${id}@${at}`, { headers })) {
          const frame = event as unknown as Frame
          if (frame.id) last = frame.id
          if (frame.event === 'ready') count = 0
          if (frame.data.source === `session:${id}`) {
            if (frame.event === 'reset') {
              // Fetched by HTTP: what is spoken so far, and from where to go on.
              const { session } = (await chat.app.get(`/api/session?session_id=${id}`)).body
              got.clear()
              text = session.live?.text ?? session.messages.at(-1).content
              at = session.cursor
              last = ''
              done = session.live === null
              break
            }
            if (!got.has(frame.data.n)) {
              got.set(frame.data.n, frame.event)
              if (frame.event === 'token') text += frame.data.data?.text
              done = frame.event === 'stream_end'
            }
          }
          count += 1
          if (done || count >= cutAfter) break
        }
        made += 1
      }
      return text
    }

    const [one, two] = await Promise.all([onChatStream(createDice(1)), onEvents(createDice(2))])
    assert.ok(one === whole, 'the chat stream lost or doubled text')
    assert.ok(two.trimEnd() === whole.trimEnd(), 'the event stream lost or doubled text')
    const messages = await chat.messages(id)
    assert.ok(String(messages.at(-1)!.content).trimEnd() === whole.trimEnd())
  } finally {
    await chat.close()
  }
})

proof('a client that reconnects after the turn ended receives all of it', async () => {
  const chat = await startChat({ text: ['a', 'b', 'c'] }, { text: 'A title' })
  try {
    const id = await chat.newSession()
    const { cursor } = (await chat.app.get(`/api/session?session_id=${id}`)).body.session
    const stream = await chat.send(id, 'speak')
    // The synchronous end of the turn, seen from elsewhere.
    await chat.follow(stream)
    let text = ''
    for await (const event of chat.app.events(`/api/events?watch=${id}@${cursor}`)) {
      const frame = event as unknown as Frame
      if (frame.event === 'token') text += frame.data.data?.text
      if (frame.event === 'ready') break
    }
    assert.is(text, 'abc')
  } finally {
    await chat.close()
  }
})

proof.run()
