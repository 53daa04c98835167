/** Ids and names that other providers made, in the characters that strict ones accept. */

const MAX_CHARS = 64

const plain = (text: string): string => text.replace(/[^\w-]/g, '_').slice(0, MAX_CHARS)

/** A tool's name; a model may have called what never existed. */
export const sanitizeToolName = (name: string | undefined): string => plain(name ?? '') || 'unknown'

/** One conversation's call ids: the same id always becomes the same text, another id another one. */
export const createIdSanitizer = () => {
  const known = new Map<string, string>()
  const taken = new Set<string>()
  return (id: string): string => {
    const found = known.get(id)
    if (found !== undefined) return found
    let name = plain(id) || 'call'
    for (let copy = 2; taken.has(name); copy++) name = `${plain(id).slice(0, 58)}_${copy}`
    known.set(id, name)
    taken.add(name)
    return name
  }
}
