/** Describes a tool call: icon, sentence and object. */
import { isObject } from '../../../lib/base/json.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { listOf, pageLocale } from '../../strings/t.ts'
import type { IconName } from '../../parts/icon.tsx'
import { type StepKey, t } from './step-strings.ts'

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

/** What is specific to a tool: the messages, and the object or several names. */
type Draft = Pick<ToolDescription, 'icon'> & {
  did: string
  does: string
  object?: string | readonly string[]
  code?: boolean
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

type VerbKey = Extract<StepKey, `verb.${string}`>
/** Keeps the place of the object, which `phraseOf` looks for. */
const template: (key: VerbKey) => string = key => t(key as 'verb.ran', { object: '{object}' })

const verb = (icon: IconName, [did, does]: readonly [VerbKey, VerbKey]) => ({
  icon,
  did: template(did),
  does: template(does),
})

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

/** Models also write the names that other agents use; the call ran with ours. */
const pathOf = ({ path, file_path, filePath, absolute_path }: Args): string =>
  text(path ?? file_path ?? filePath ?? absolute_path)

const file = (verbs: readonly [VerbKey, VerbKey], icon: IconName, args: Args): Draft => {
  const path = pathOf(args)
  return { ...verb(icon, verbs), object: shortPath(path), code: true, ...(path ? { path } : {}) }
}

/** A patch contains the file names, in V4A format or as a unified diff. */
const PATCHED =
  /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?|--- a\/(?=.*\n\+\+\+ \/dev\/null))(.+)/m

const patched = (args: Args): Draft => {
  const path = pathOf(args) || PATCHED.exec(text(args.patch ?? args.input))?.[1]
  return file(['verb.edited', 'verb.editing'], 'edit', { path })
}

const processVerbs = (action: string): readonly [VerbKey, VerbKey] => {
  switch (action) {
    case 'list':
      return ['verb.process.list', 'verb.process.list.now']
    case 'wait':
      return ['verb.process.wait', 'verb.process.wait.now']
    case 'kill':
      return ['verb.process.kill', 'verb.process.kill.now']
    case 'write':
    case 'submit':
      return ['verb.process.send', 'verb.process.send.now']
    default:
      return ['verb.process.read', 'verb.process.read.now']
  }
}

const skillVerbs = (action: string): readonly [VerbKey, VerbKey] =>
  action === 'create'
    ? ['verb.skill.created', 'verb.skill.creating']
    : action === 'delete'
      ? ['verb.skill.deleted', 'verb.skill.deleting']
      : ['verb.skill.changed', 'verb.skill.changing']

const taskVerbs = (action: string): readonly [VerbKey, VerbKey] => {
  switch (action) {
    case 'create':
      return ['verb.task.created', 'verb.task.creating']
    case 'list':
      return ['verb.task.list', 'verb.task.list.now']
    case 'remove':
      return ['verb.task.removed', 'verb.task.removing']
    case 'run':
      return ['verb.task.ran', 'verb.task.running']
    default:
      return ['verb.task.changed', 'verb.task.changing']
  }
}

const words: Readonly<Record<string, (args: Args) => Draft>> = {
  terminal: args => ({
    ...verb('terminal', ['verb.ran', 'verb.running']),
    object: oneLine(text(args.command ?? args.cmd)),
    code: true,
  }),
  process: args => ({
    ...verb('terminal', processVerbs(text(args.action))),
    object: text(args.session_id),
    code: true,
  }),
  execute_code: () => verb('terminal', ['verb.script', 'verb.script.now']),
  read_file: args => file(['verb.read', 'verb.reading'], 'file', args),
  write_file: args => file(['verb.wrote', 'verb.writing'], 'edit', args),
  patch: patched,
  search_files: args => ({
    ...verb('search', ['verb.searched', 'verb.searching']),
    object: oneLine(text(args.pattern)),
  }),
  web_search: args => ({
    ...verb('globe', ['verb.web', 'verb.web.now']),
    object: oneLine(text(args.query)),
  }),
  web_extract: args => ({
    ...verb('globe', ['verb.read', 'verb.reading']),
    object: addresses(args.urls).map(host),
  }),
  browser_navigate: args => ({
    ...verb('globe', ['verb.opened', 'verb.opening']),
    object: host(text(args.url)),
  }),
  todo: () => verb('checklist', ['verb.planned', 'verb.planning']),
  exit_plan_mode: () => verb('checklist', ['verb.plan', 'verb.plan']),
  memory: args => ({
    ...verb('brain', ['verb.memory', 'verb.memory.now']),
    object: oneLine(text(args.content ?? args.old_text)),
  }),
  session_search: args => ({
    ...verb('search', ['verb.sessions', 'verb.sessions.now']),
    object: oneLine(text(args.query)),
  }),
  tool_search: args => ({
    ...verb('search', ['verb.tools', 'verb.tools.now']),
    object: oneLine(text(args.query)),
  }),
  skill_view: args => ({
    ...verb('star', ['verb.skill', 'verb.skill.now']),
    object: text(args.name),
  }),
  skill_manage: args => ({
    ...verb('star', skillVerbs(text(args.action))),
    object: text(args.name),
  }),
  skills_list: args => ({
    ...verb('star', ['verb.skills', 'verb.skills.now']),
    object: text(args.category),
  }),
  cronjob: args => ({
    ...verb('clock', taskVerbs(text(args.action))),
    object: oneLine(text(args.name) || text(args.job_id)),
  }),
  vision_analyze: args => ({
    ...verb('image', ['verb.image', 'verb.image.now']),
    object: host(shortPath(text(args.image_url ?? args.image ?? args.path))),
  }),
  clarify: args => ({
    ...verb('question', ['verb.question', 'verb.question.now']),
    object: oneLine(text(args.question)),
  }),
  delegate_task: args => ({
    ...verb('branch', ['verb.subagent', 'verb.subagent']),
    object: oneLine(text(args.goal) || goals(args.tasks)),
  }),
}
const synonyms: Readonly<Record<string, string>> = {
  shell: 'terminal',
  bash: 'terminal',
  edit_file: 'patch',
  subagent_progress: 'delegate_task',
  fetch: 'web_extract',
}

const addresses = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.map(text)
  return text(value).match(/https?:\/\/[^\s"',\]]+/g) ?? []
}

const goals = (tasks: unknown): string =>
  Array.isArray(tasks) ? tasks.map(task => text((task as Args | null)?.goal)).join(' · ') : ''

/** `mcp_<server>_<tool>` and unknown tools: the name in words and the first argument. */
const generic = (name: string, args: Args): Draft => {
  const first = Object.values(args).find(value => typeof value === 'string' && value)
  const plain = name.replace(/^mcp_/, '').replace(/_+/g, ' ').trim() || t('verb.tool')
  const named = `${plain[0]!.toUpperCase()}${plain.slice(1)}[ {object}]`
  return { icon: 'wrench', did: named, does: named, object: oneLine(text(first)) }
}

/** Whether a tool has words of its own. */
export const isDescribed = (name: string): boolean => Object.hasOwn(words, name)

/** `shown` replaces the object, where the arguments are not known. */
export const describeToolCall = (name: string, args: Args, shown?: string): ToolDescription => {
  const known = synonyms[name] ?? name
  const make = Object.hasOwn(words, known) ? words[known] : undefined
  const { did, does, object = '', ...rest } = make ? make(args) : generic(name, args)
  const named = shown ?? object
  const written = typeof named === 'string' ? visibleName(named) : listOf(named)
  return {
    code: false,
    ...rest,
    did: phraseOf(did, written),
    does: phraseOf(does, written),
    // A list of processes has no place for an object, but may have an argument.
    object: OBJECT.test(did) ? written : '',
  }
}

/** Parses the arguments; text that is no JSON object becomes a single argument. */
export const parseArgs = (written: string): Args => {
  try {
    const value: unknown = JSON.parse(written || '{}')
    if (isObject(value)) return value
  } catch {
    // Truncated or invalid JSON is shown as it is.
  }
  return written.trim() ? { arguments: written } : {}
}
