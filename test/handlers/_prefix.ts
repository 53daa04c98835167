/** Compares consecutive requests piece by piece: what was sent once is sent the same way ever after. */
import * as assert from 'uvu/assert'
import type { Recorded } from '../_provider.ts'

type Body = Recorded['body']

/** Marks wander with the newest messages and are no part of what is cached. */
const unmarked = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unmarked)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key]) => key !== 'cache_control')
  return Object.fromEntries(entries.map(([key, inner]) => [key, unmarked(inner)]))
}

/** A request in the order in which providers read it: tools, system, then one line for each piece of the conversation. */
const readingOrder = (body: Body): string[] => {
  const { messages, input, tools, system, instructions } = unmarked(body) as Body
  const pieces = (messages ?? input).flatMap((message: Body) =>
    // Anthropic's turns grow block by block.
    system && Array.isArray(message.content)
      ? message.content.map((block: Body) => ({ role: message.role, block }))
      : [message],
  )
  return [tools, system, instructions, ...pieces].map(piece => JSON.stringify(piece) ?? '')
}

/** Requests without tools, such as for a title, are not part of the conversation. */
export const requirePrefix = (requests: Recorded[]): void => {
  const turns = requests.map(({ body }) => body).filter(({ tools }) => tools?.length > 0)
  assert.ok(turns.length > 1)
  for (let at = 1; at < turns.length; at++) {
    const before = readingOrder(turns[at - 1])
    const now = readingOrder(turns[at])
    for (const [place, piece] of before.entries())
      assert.is(now[place], piece, `request ${at + 1}, piece ${place + 1} of ${before.length}`)
  }
}
