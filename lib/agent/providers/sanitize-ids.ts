/** Sanitizes call ids and tool names of other providers to the characters strict ones accept. */

const MAX_CHARS = 64

const sanitize = (text: string): string => text.replace(/[^\w-]/g, '_').slice(0, MAX_CHARS)

/** A valid tool name; models may have called tools with invalid names. */
export const sanitizeToolName = (name: string | undefined): string =>
  sanitize(name ?? '') || 'unknown'

/** Returns a function that maps the call ids of one conversation to valid ids, one to one. */
export const createIdSanitizer = () => {
  const names = new Map<string, string>()
  const usedNames = new Set<string>()
  return (id: string): string => {
    const earlier = names.get(id)
    if (earlier !== undefined) return earlier
    let name = sanitize(id) || 'call'
    for (let copy = 2; usedNames.has(name); copy++) name = `${sanitize(id).slice(0, 58)}_${copy}`
    names.set(id, name)
    usedNames.add(name)
    return name
  }
}
