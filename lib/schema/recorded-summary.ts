/** Tool calls that Hermes WebUI summarized beside the messages. */
import { z } from 'zod'
import { asString, isObject } from '../base/json.ts'

/** A tool call as Hermes WebUI recorded it, where the messages alone do not say the same: often the only trace of the call. */
export const RecordedSummary = z
  .looseObject({
    name: z.string(),
    snippet: z.string(),
    /** Empty when it had none. */
    tid: z.string(),
    args: z.record(z.string(), z.string()),
  })
  .meta({ id: 'RecordedSummary' })
export type RecordedSummary = z.infer<typeof RecordedSummary>

export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

/** Null when it names no tool. */
const toSummary = (value: unknown): RecordedSummary | null => {
  if (!isObject(value) || !asString(value.name)) return null
  const { name, snippet, tid, args, assistant_msg_idx: place, ...rest } = value
  const texts = isObject(args) ? Object.entries(args).map(([key, arg]) => [key, asText(arg)]) : []
  return {
    ...rest,
    ...(typeof place === 'number' && { assistant_msg_idx: place }),
    name: asString(name),
    snippet: snippet === undefined || snippet === null ? '' : asText(snippet),
    tid: asString(tid),
    args: Object.fromEntries(texts),
  }
}

export const readSummaries = (value: unknown): RecordedSummary[] =>
  Array.isArray(value) ? value.flatMap(each => toSummary(each) ?? []) : []
