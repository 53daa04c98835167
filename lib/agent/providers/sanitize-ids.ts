/** Sanitizes call ids and tool names of other providers to the characters strict ones accept. */

const MAX_CHARS = 64

const sanitize = (text: string): string => text.replace(/[^\w-]/g, '_').slice(0, MAX_CHARS)

/** A valid tool name; models may have called tools with invalid names. */
export const sanitizeToolName = (name: string | undefined): string =>
  sanitize(name ?? '') || 'unknown'

/** Returns a function that maps the call ids of one conversation to valid ids, one to one. */
export const createIdSanitizer = () => {
  const known = new Map<string, string>()
  const taken = new Set<string>()
  return (id: string): string => {
    const found = known.get(id)
    if (found !== undefined) return found
    let name = sanitize(id) || 'call'
    for (let copy = 2; taken.has(name); copy++) name = `${sanitize(id).slice(0, 58)}_${copy}`
    known.set(id, name)
    taken.add(name)
    return name
  }
}
