/** Attachments of a message: file names. Other clients send objects with a name. */
import { z } from 'zod'
import { isObject } from '../base/json.ts'

/** Per message. */
const MAX_ATTACHMENTS = 20

export const fileNameOf = (item: unknown): string | null => {
  if (typeof item === 'string') return item
  if (typeof item === 'number' || typeof item === 'boolean') return String(item)
  if (!isObject(item)) return null
  const { path, name, filename } = item as Record<string, unknown>
  return [path, name, filename].find((value): value is string => typeof value === 'string') ?? null
}

/** Rejected rather than truncated: silently dropped files would go unnoticed. */
export const Attachments = z
  .array(z.unknown())
  .transform(items => items.map(fileNameOf).filter(name => name !== null))
  .refine(names => names.length <= MAX_ATTACHMENTS, {
    error: ({ input }) =>
      `A message takes at most ${MAX_ATTACHMENTS} attachments; this one has ${(input as string[]).length}.`,
  })
