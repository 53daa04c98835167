/** Reads `hooks:` of config.yaml in both formats. What it asks for and is not supported is listed, never dropped silently. */
import { isObject, type JsonObject } from '../../base/json.ts'
import { EVENTS, type EventSpelling, OBSERVERS, OTHER_KEYS } from './events.ts'

export type Hook = EventSpelling & {
  /** The event as the file spells it. */
  name: string
  /** As written; empty: everything. */
  matcher: string
  /** Whether it is for this tool, source, or subagent, by any of its names. */
  matches: (names: readonly string[]) => boolean
  command: string
  timeoutMs: number
  /** A failure blocks the call. */
  failClosed: boolean
  /** Not waited for. */
  isAsync: boolean
}

export type ParsedHooks = {
  hooks: Hook[]
  /** Sentences about what might protect something and is not supported. */
  refused: string[]
  /** Sentences about what has no effect here and protects nothing. */
  notes: string[]
}

const DEFAULT_TIMEOUT_S = 60
const MAX_TIMEOUT_S = 600
const MAX_MATCHER_CHARS = 500
/** A pattern that backtracks needs a long name to take long. */
const MAX_NAME_CHARS = 100

const KNOWN_KEYS = new Set(['matcher', 'command', 'timeout', 'fail_closed', 'failClosed', 'type'])
/** Of other agents; they change nothing that the agent does. */
const HARMLESS_KEYS = new Set(['async', 'statusMessage', 'name', 'description', 'suppressOutput'])

/** Thrown with the sentence that reports it. */
class Unsupported extends Error {}

/** Host agent: the whole name. Others: a list of names, or a pattern that may match a part of the name. */
const toMatches = (matcher: string, { dialect }: EventSpelling): Hook['matches'] => {
  if (matcher === '' || matcher === '*') return () => true
  if (matcher.length > MAX_MATCHER_CHARS)
    throw new Unsupported(`has a matcher of more than ${MAX_MATCHER_CHARS} characters`)
  const isWhole = dialect === 'host' || /^[\w|, -]+$/.test(matcher)
  const source = isWhole ? `^(?:${matcher.replace(/\s*[|,]\s*/g, '|')})$` : matcher
  let pattern: RegExp
  try {
    pattern = new RegExp(source)
  } catch {
    throw new Unsupported(`has a matcher that is no regular expression: ${matcher}`)
  }
  return names => names.some(name => pattern.test(name.slice(0, MAX_NAME_CHARS)))
}

const timeoutOf = (value: unknown): number => {
  const seconds = value === undefined || value === null ? DEFAULT_TIMEOUT_S : Number(value)
  if (!Number.isFinite(seconds) || seconds <= 0)
    throw new Unsupported(`has a timeout that is no number of seconds: ${String(value)}`)
  return Math.min(seconds, MAX_TIMEOUT_S) * 1_000
}

const flagOf = (value: unknown, key: string): boolean => {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw new Unsupported(`needs true or false for ${key}`)
  return value
}

const toHook = (
  name: string,
  spelling: EventSpelling,
  entry: JsonObject,
  matcher: unknown,
): Hook => {
  const strange = Object.keys(entry).find(key => !KNOWN_KEYS.has(key) && !HARMLESS_KEYS.has(key))
  if (strange !== undefined) throw new Unsupported(`uses ${strange}, which is not supported`)
  if (entry.type !== undefined && entry.type !== 'command')
    throw new Unsupported(`has the type ${String(entry.type)}; only command is supported`)
  const { command } = entry
  if (typeof command !== 'string' || command.trim() === '')
    throw new Unsupported('names no command')
  if (command.includes('\0')) throw new Unsupported('has a NUL character in its command')
  if (matcher !== undefined && matcher !== null && typeof matcher !== 'string')
    throw new Unsupported('has a matcher that is no text')
  const pattern = matcher?.trim() ?? ''
  return {
    ...spelling,
    name,
    matcher: pattern === '*' ? '' : pattern,
    matches: toMatches(pattern, spelling),
    command: command.trim(),
    timeoutMs: timeoutOf(entry.timeout),
    failClosed: flagOf(entry.fail_closed ?? entry.failClosed, 'fail_closed'),
    isAsync: flagOf(entry.async, 'async'),
  }
}

/** `{matcher, command}`, or `{matcher, hooks: [{type: command, command}]}`. */
const entriesOf = (entry: JsonObject): { entry: JsonObject; matcher: unknown }[] => {
  const { hooks, matcher, ...rest } = entry
  if (hooks === undefined) return [{ entry: rest, matcher }]
  if (!Array.isArray(hooks) || !hooks.every(isObject))
    throw new Unsupported('has hooks that are no list of mappings')
  const other = Object.keys(rest).find(key => !HARMLESS_KEYS.has(key))
  if (other !== undefined) throw new Unsupported(`uses ${other} beside hooks`)
  return hooks.map(inner => ({ entry: inner, matcher: inner.matcher ?? matcher }))
}

/** The reason when `read` finds something unsupported. */
const attempt = <T>(read: () => T): { value: T } | { problem: string } => {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof Unsupported) return { problem: error.message }
    throw error
  }
}

const unknownEvent = (name: string): string => {
  const similar = Object.keys(EVENTS).find(
    event => event.toLowerCase().replaceAll('_', '') === name.toLowerCase().replaceAll(/[_-]/g, ''),
  )
  return similar
    ? `${name} is no event; ${similar} is.`
    : `The event ${name} is not supported, so its hooks don’t run.`
}

/** In the order of the file. */
export const parseHooks = (section: unknown): ParsedHooks => {
  const lists: ParsedHooks = { hooks: [], refused: [], notes: [] }
  const isNothing = section === undefined || section === null || section === false || section === ''
  if (isNothing || (Array.isArray(section) && section.length === 0)) return lists
  if (!isObject(section))
    return { ...lists, refused: ['It should be a mapping from events to lists of hooks.'] }
  for (const [name, list] of Object.entries(section)) {
    if (OTHER_KEYS.has(name) || list === null || list === undefined) continue
    const spelling = Object.hasOwn(EVENTS, name) ? EVENTS[name] : undefined
    const isEmpty = Array.isArray(list) && list.length === 0
    if (!spelling) {
      if (!isEmpty) lists[OBSERVERS.has(name) ? 'notes' : 'refused'].push(unknownEvent(name))
      continue
    }
    if (!Array.isArray(list)) {
      lists.refused.push(`${name} should be a list of hooks.`)
      continue
    }
    list.forEach((value: unknown, index) => {
      const where = `${name}[${index}]`
      const entries = attempt(() => {
        if (!isObject(value)) throw new Unsupported('should be a mapping with a command')
        return entriesOf(value)
      })
      const results =
        'problem' in entries
          ? [entries]
          : entries.value.map(({ entry, matcher }) =>
              attempt(() => toHook(name, spelling, entry, matcher)),
            )
      for (const result of results)
        if ('problem' in result) lists.refused.push(`${where} ${result.problem}.`)
        else lists.hooks.push(result.value)
    })
  }
  return lists
}
