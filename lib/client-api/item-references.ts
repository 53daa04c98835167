/** Items of stored responses that a request names instead of repeating them, as the AI SDK does. */
import { asObject, asObjects, isObject, type JsonObject } from '../base/json.ts'
import { missing } from '../errors.ts'
import { responseId } from './responses-reply.ts'

/** Our ids of items contain that of their response: `msg_<id>`, `fc_<id>_<number>`. */
const ITEM = /^(?:msg|fc)_([0-9a-f]+)(?:_\d+)?$/

const referenceIn = (item: unknown): string | null => {
  if (!isObject(item) || typeof item.id !== 'string') return null
  const isBare = (item.type ?? null) === null && item.role === undefined
  return item.type === 'item_reference' || isBare ? item.id : null
}

/** The body with the items themselves. `stored`: the JSON text of a response by its id. Throws a 404. */
export const withItems = (
  body: JsonObject,
  stored: (responseId: string) => string | null | undefined,
): JsonObject => {
  if (!Array.isArray(body.input)) return body
  const input = body.input.map((item: unknown, at) => {
    const id = referenceIn(item)
    if (id === null) return item
    const [, answer] = ITEM.exec(id) ?? []
    const text = answer === undefined ? null : stored(responseId(answer))
    const found = text && asObjects(asObject(JSON.parse(text)).output).find(each => each.id === id)
    if (found) return found
    throw missing(
      `There is no item with the id "${id.slice(0, 100)}". Items of responses with "store": false are not kept.`,
      { param: `input.${at}`, api_code: 'item_not_found' },
    )
  })
  return { ...body, input }
}
