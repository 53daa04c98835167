/** Describes a tool call: icon, verb and object. */
import { isObject } from '../../../lib/base/json.ts'
import { visibleName } from '../../../lib/base/visible.ts'
import { t } from '../../strings/t.ts'
import type { IconName } from '../../parts/icon.tsx'

export type Args = Readonly<Record<string, unknown>>
export type ToolDescription = {
  icon: IconName
  /** Verb in the past tense, and in the present while it runs. */
  did: string
  does: string
  object: string
  /** Whether the object is code: a command, path or pattern. */
  code: boolean
  /** The file named by the object, if any. */
  path?: string
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value) ?? '')

const oneLine = (value: string): string => value.trim().replace(/\s+/g, ' ').slice(0, 200)

const quoted = (value: unknown): string => (text(value) ? `“${oneLine(text(value))}”` : '')

/** The last two segments of a long path. */
const shortPath = (path: string): string => {
  const parts = path.split('/').filter(Boolean)
  return parts.length > 3 ? `…/${parts.slice(-2).join('/')}` : path
}

const host = (address: string): string => URL.parse(address)?.host.replace(/^www\./, '') ?? address

type Verb = Pick<ToolDescription, 'icon' | 'did' | 'does'>
const verb = (icon: IconName, did: string, does: string): Verb => ({ icon, did, does })

const file = (head: Verb, args: Args): ToolDescription => {
  const path = text(args.path)
  return { ...head, object: shortPath(path), code: true, ...(path ? { path } : {}) }
}

/** A patch in V4A format contains the file names. */
const patched = (args: Args): ToolDescription => {
  if (args.path) return file(verb('edit', t('verb.edited'), t('verb.editing')), args)
  const path = /\*\*\* (?:Update|Add|Delete) File: (.+)/.exec(text(args.patch))?.[1] ?? ''
  return file(verb('edit', t('verb.edited'), t('verb.editing')), { path })
}

type Verbs = [did: string, does: string]

const processVerbs = (action: string): Verbs => {
  switch (action) {
    case 'list':
      return [t('verb.process.list'), t('verb.process.list.now')]
    case 'wait':
      return [t('verb.process.wait'), t('verb.process.wait.now')]
    case 'kill':
      return [t('verb.process.kill'), t('verb.process.kill.now')]
    case 'write':
    case 'submit':
      return [t('verb.process.send'), t('verb.process.send.now')]
    default:
      return [t('verb.process.read'), t('verb.process.read.now')]
  }
}

const skillVerbs = (action: string): Verbs =>
  action === 'create'
    ? [t('verb.skill.created'), t('verb.skill.creating')]
    : action === 'delete'
      ? [t('verb.skill.deleted'), t('verb.skill.deleting')]
      : [t('verb.skill.changed'), t('verb.skill.changing')]

const taskVerbs = (action: string): Verbs => {
  switch (action) {
    case 'create':
      return [t('verb.task.created'), t('verb.task.creating')]
    case 'list':
      return [t('verb.task.list'), t('verb.task.list.now')]
    case 'remove':
      return [t('verb.task.removed'), t('verb.task.removing')]
    case 'run':
      return [t('verb.task.ran'), t('verb.task.running')]
    default:
      return [t('verb.task.changed'), t('verb.task.changing')]
  }
}

const words: Readonly<Record<string, (args: Args) => ToolDescription>> = {
  terminal: args => ({
    ...verb('terminal', t('verb.ran'), t('verb.running')),
    object: oneLine(text(args.command)),
    code: true,
  }),
  process: args => ({
    ...verb('terminal', ...processVerbs(text(args.action))),
    object: args.action === 'list' ? '' : text(args.session_id),
    code: true,
  }),
  execute_code: () => ({
    ...verb('terminal', t('verb.ran'), t('verb.running')),
    object: t('verb.script'),
    code: false,
  }),
  read_file: args => file(verb('file', t('verb.read'), t('verb.reading')), args),
  write_file: args => file(verb('edit', t('verb.wrote'), t('verb.writing')), args),
  patch: patched,
  search_files: args => ({
    ...verb('search', t('verb.searched'), t('verb.searching')),
    object: quoted(args.pattern),
    code: false,
  }),
  web_search: args => ({
    ...verb('globe', t('verb.web'), t('verb.web.now')),
    object: quoted(args.query),
    code: false,
  }),
  web_extract: args => ({
    ...verb('globe', t('verb.read'), t('verb.reading')),
    object: addresses(args.urls).map(host).join(', '),
    code: false,
  }),
  browser_navigate: args => ({
    ...verb('globe', t('verb.opened'), t('verb.opening')),
    object: host(text(args.url)),
    code: false,
  }),
  todo: () => ({
    ...verb('checklist', t('verb.planned'), t('verb.planning')),
    object: '',
    code: false,
  }),
  exit_plan_mode: () => ({
    ...verb('checklist', t('verb.plan'), t('verb.plan')),
    object: '',
    code: false,
  }),
  memory: args => ({
    ...verb('brain', t('verb.memory'), t('verb.memory.now')),
    object: quoted(args.content ?? args.old_text),
    code: false,
  }),
  session_search: args => ({
    ...verb('search', t('verb.sessions'), t('verb.sessions.now')),
    object: quoted(args.query),
    code: false,
  }),
  tool_search: args => ({
    ...verb('search', t('verb.tools'), t('verb.tools.now')),
    object: quoted(args.query),
    code: false,
  }),
  skill_view: args => ({
    ...verb('star', t('verb.skill'), t('verb.skill.now')),
    object: text(args.name),
    code: false,
  }),
  skill_manage: args => ({
    ...verb('star', ...skillVerbs(text(args.action))),
    object: text(args.name),
    code: false,
  }),
  skills_list: args => ({
    ...verb('star', t('verb.skills'), t('verb.skills.now')),
    object: text(args.category),
    code: false,
  }),
  cronjob: args => ({
    ...verb('clock', ...taskVerbs(text(args.action))),
    object: oneLine(text(args.name) || text(args.job_id)),
    code: false,
  }),
  vision_analyze: args => ({
    ...verb('image', t('verb.image'), t('verb.image.now')),
    object: host(shortPath(text(args.image_url ?? args.image ?? args.path))),
    code: false,
  }),
  clarify: args => ({
    ...verb('question', t('verb.question'), t('verb.question.now')),
    object: quoted(args.question),
    code: false,
  }),
  delegate_task: args => ({
    ...verb('branch', t('verb.subagent'), t('verb.subagent')),
    object: oneLine(text(args.goal) || goals(args.tasks)),
    code: false,
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
const generic = (name: string, args: Args): ToolDescription => {
  const first = Object.values(args).find(value => typeof value === 'string' && value)
  const plain = name.replace(/^mcp_/, '').replace(/_+/g, ' ').trim() || t('verb.tool')
  const said = plain[0]!.toUpperCase() + plain.slice(1)
  return { ...verb('wrench', said, said), object: oneLine(text(first)), code: false }
}

/** Whether a tool has words of its own. */
export const isDescribed = (name: string): boolean => Object.hasOwn(words, name)

export const describeToolCall = (name: string, args: Args): ToolDescription => {
  const known = synonyms[name] ?? name
  const make = Object.hasOwn(words, known) ? words[known] : undefined
  const said = make ? make(args) : generic(name, args)
  return { ...said, object: visibleName(said.object) }
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
