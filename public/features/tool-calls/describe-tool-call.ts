/** Describes a tool call: icon, sentence and object. */
import { isObject } from '../../../lib/base/json.ts'
import { type ShownCall, shownCall } from '../../../lib/base/tools.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { listOf, pageLocale } from '../../strings/t.ts'
import type { IconName } from '../../parts/icon.tsx'
import { t } from './step-strings.ts'

export type Args = Readonly<Record<string, unknown>>

/** A sentence around its object, which languages place differently; without one, all of it is `before`. */
export type Phrase = { before: string; after: string }

export type ToolDescription = {
  icon: IconName
  /** In the past tense, and in the present while it runs. */
  did: Phrase
  does: Phrase
  object: string
  /** Whether the object is code: a command, path or pattern. */
  code: boolean
  /** The file named by the object, if any. */
  path?: string
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value) ?? '')

const oneLine = (value: string): string => value.trim().replace(/\s+/g, ' ').slice(0, 200)

/** The last two segments of a long path. */
const shortPath = (path: string): string => {
  const parts = path.split('/').filter(Boolean)
  return parts.length > 3 ? `…/${parts.slice(-2).join('/')}` : path
}

const host = (address: string): string => URL.parse(address)?.host.replace(/^www\./, '') ?? address

/** Keeps the place of the object, which `phraseOf` looks for. */
const OBJECT_IN_PLACE = { object: '{object}' }

const OBJECT = /\[([^[\]]*)\{object\}([^[\]]*)\]/

/** `message` has its object in brackets: `Read[ {object}]`, `[{object} ]gelesen`. */
export const phraseOf = (message: string, object: string): Phrase => {
  if (!object) {
    const bare = message.replace(OBJECT, '').trim()
    return { before: bare.charAt(0).toLocaleUpperCase(pageLocale()) + bare.slice(1), after: '' }
  }
  const [before = '', after = ''] = message.replace(OBJECT, '$1\0$2').split('\0')
  return { before, after }
}

/** A patch contains the file names, in V4A format or as a unified diff. */
const PATCHED =
  /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?|--- a\/(?=.*\n\+\+\+ \/dev\/null))(.+)/m

const addresses = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.map(text)
  return text(value).match(/https?:\/\/[^\s"',\]]+/g) ?? []
}

type About = { object: string | readonly string[]; path?: string }

/** What a call is about, from the first of these arguments that it has. */
const aboutOf = (names: readonly string[], args: Args): About => {
  const name = names.find(each => args[each] !== undefined && args[each] !== '')
  const value = args[name ?? '']
  switch (name) {
    case undefined:
      return { object: '' }
    case 'urls':
      return { object: addresses(value).map(host) }
    case 'tasks':
      return {
        object: list(value)
          .map(task => text((task as Args | null)?.goal))
          .join(' · '),
      }
    case 'patch':
    case 'input':
      return fileObject(PATCHED.exec(text(value))?.[1] ?? '')
    case 'image_url':
    case 'image':
      return { object: host(shortPath(text(value))) }
    default:
      return /path$/i.test(name) ? fileObject(text(value)) : { object: oneLine(text(value)) }
  }
}

const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const fileObject = (path: string): About => ({
  object: shortPath(path),
  ...(path && { path }),
})

type Draft = About & { icon: IconName; did: string; does: string; code: boolean }

const ofOurs = ({ icon, verb, verbs = {}, about = [], isCode }: ShownCall, args: Args): Draft => {
  const action = text(args.action)
  const form = Object.hasOwn(verbs, action) ? (verbs[action] ?? verb) : verb
  return {
    icon,
    did: t(`verb.${form}` as 'verb.ran', OBJECT_IN_PLACE),
    does: t(`verb.${form}.now` as 'verb.ran.now', OBJECT_IN_PLACE),
    code: isCode ?? false,
    ...aboutOf(about, args),
  }
}

/** `mcp_<server>_<tool>` and unknown tools: the name in words and the first argument. */
const generic = (name: string, args: Args): Draft => {
  const first = Object.values(args).find(value => typeof value === 'string' && value)
  const plain = name.replace(/^mcp_/, '').replace(/_+/g, ' ').trim() || t('verb.tool')
  const phrase = `${plain[0]!.toUpperCase()}${plain.slice(1)}[ {object}]`
  return { icon: 'wrench', did: phrase, does: phrase, code: false, object: oneLine(text(first)) }
}

/** `objectText` replaces the object, where the arguments are not known. */
export const describeToolCall = (
  name: string,
  args: Args,
  objectText?: string,
): ToolDescription => {
  const ours = shownCall(name)
  const { did, does, object, ...rest } = ours ? ofOurs(ours, args) : generic(name, args)
  const target = objectText ?? object
  const text = typeof target === 'string' ? visibleName(target) : listOf(target)
  return {
    ...rest,
    did: phraseOf(did, text),
    does: phraseOf(does, text),
    // A list of processes has no place for an object, but may have an argument.
    object: OBJECT.test(did) ? text : '',
  }
}

/** Parses the arguments; text that is no JSON object becomes a single argument. */
export const parseArgs = (text: string): Args => {
  try {
    const value: unknown = JSON.parse(text || '{}')
    if (isObject(value)) return value
  } catch {
    // Truncated or invalid JSON is shown as it is.
  }
  return text.trim() ? { arguments: text } : {}
}
