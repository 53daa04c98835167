/** Attachments of a message: file names. Other clients send objects with a name. */
import { z } from 'zod'
import { MAX_ATTACHMENTS } from '../base/attachment-limits.ts'
import { isObject } from '../base/json.ts'

export const fileNameOf = (item: unknown): string | null => {
  if (typeof item === 'string') return item
  if (typeof item === 'number' || typeof item === 'boolean') return String(item)
  if (!isObject(item)) return null
  const { path, name, filename } = item as Record<string, unknown>
  return [path, name, filename].find((value): value is string => typeof value === 'string') ?? null
}

/** The first ones: the message is not lost for the rest. Our page refuses more before it sends. */
export const Attachments = z.array(z.unknown()).transform(items =>
  items
    .map(fileNameOf)
    .filter(name => name !== null)
    .slice(0, MAX_ATTACHMENTS),
)
