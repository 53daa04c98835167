/** Generates sessions for benchmarks as journals in the documented format (lib/sessions/entries.ts). */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Message } from '../lib/schema/message.ts'

/** A seeded random generator, so that every run measures the same data. */
const createRandom = (seed: number) => {
  const state = { value: seed >>> 0 }
  return (): number => {
    state.value = (Math.imul(state.value, 1_664_525) + 1_013_904_223) >>> 0
    return state.value / 2 ** 32
  }
}

const SYLLABLES =
  'ba be bi bo da de di do ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to va ve vi vo'.split(
    ' ',
  )
const VOCABULARY = 6_000

/** The word of this frequency rank: low ranks are common, high ones rare. */
export const word = (rank: number): string => {
  const base = SYLLABLES.length
  return [rank % base, Math.floor(rank / base) % base, Math.floor(rank / base / base), rank % 7]
    .map(part => SYLLABLES[part % base])
    .join('')
}

const createText = (random: () => number) => (words: number) =>
  Array.from({ length: words }, () => word(Math.floor(VOCABULARY ** random()) - 1)).join(' ')

export const sessionId = (index: number): string => index.toString(16).padStart(12, '0')

const START = Date.UTC(2026, 0, 1) / 1000

export type Shape = {
  sessions: number
  messages: number
  words?: number
  /** Every n-th message is a tool call with its output. */
  toolEvery?: number
  firstIndex?: number
}

/** Journal lines of one session. `message` is the last key of a line, as the fast path of the reader expects. */
const sessionLines = (index: number, shape: Shape, workspace: string): string => {
  const random = createRandom(index + 1)
  const text = createText(random)
  const at = START + index * 60
  const lines = [
    JSON.stringify({
      n: 1,
      t: 'session',
      at,
      v: 1,
      id: sessionId(index),
      meta: { title: `${text(4)} ${index}`, workspace, model: null, profile: 'default' },
    }),
  ]
  const add = (message: Omit<Message, 'id'>) => {
    const n = lines.length + 1
    const line = { n, t: 'message', at: at + n, message: { id: `m${n}`, ...message } }
    lines.push(JSON.stringify(line))
  }
  for (let i = 0; i < shape.messages; i++) {
    const timestamp = at + lines.length
    if (shape.toolEvery && i % shape.toolEvery === shape.toolEvery - 1) {
      const id = `call_${i}`
      const call = { name: 'shell', arguments: JSON.stringify({ command: `echo ${text(3)}` }) }
      const tool_calls = [{ id, type: 'function' as const, function: call }]
      add({ role: 'assistant', content: '', timestamp, tool_calls })
      add({ role: 'tool', content: text(40), tool_call_id: id, name: 'shell', timestamp })
    } else {
      const role = i % 2 === 0 ? 'user' : 'assistant'
      add({ role, content: text(shape.words ?? 40), timestamp })
    }
  }
  return `${lines.join('\n')}\n`
}

/** Writes sessions into a state directory that no service uses yet. */
export const writeSessions = (stateDir: string, workspace: string, shape: Shape): void => {
  const directory = join(stateDir, 'sessions')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const first = shape.firstIndex ?? 0
  for (let index = first; index < first + shape.sessions; index++) {
    const path = join(directory, `${sessionId(index)}.jsonl`)
    writeFileSync(path, sessionLines(index, shape, workspace), { mode: 0o600 })
  }
}
