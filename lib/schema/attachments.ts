/** What a person sends with a message: names of files. Other programs send objects that carry one. */
import { z } from 'zod'

/** More than these are left out. */
const MAX_ATTACHMENTS = 20

export const fileNameOf = (item: unknown): string | null => {
  if (typeof item === 'string') return item
  if (typeof item === 'number' || typeof item === 'boolean') return String(item)
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return null
  const { path, name, filename } = item as Record<string, unknown>
  return [path, name, filename].find((value): value is string => typeof value === 'string') ?? null
}

export const Attachments = z.array(z.unknown()).transform(items =>
  items
    .map(fileNameOf)
    .filter(name => name !== null)
    .slice(0, MAX_ATTACHMENTS),
)
