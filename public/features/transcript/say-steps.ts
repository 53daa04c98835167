/** Says in words and objects what a group of steps did: `Searched “retry” · read retry.js · ran npm test ✗ 1`. */
import { shownCall } from '../../../lib/base/tools.ts'
import { visibleName, visibleWords } from '../../../lib/base/visible.ts'
import { asObject, asString } from '../../../lib/base/json.ts'
import { fileName } from '../../parts/file-kind.ts'
import { pageLocale } from '../../strings/t.ts'
import {
  type Args,
  describeToolCall,
  parseArgs,
  type Phrase,
  phraseOf,
} from '../tool-calls/describe-tool-call.ts'
import { type Outcome, outcomeOf } from '../tool-calls/outcome.ts'
import { t } from '../tool-calls/step-strings.ts'
import { messageText } from '../messages/message-text.ts'
import { type Step, type ToolStep, wasNotAllowed } from './rows.ts'

export type SaidObject = {
  /** Empty: the words alone say it. */
  text: string
  /** The whole of it. */
  title: string
  isCode: boolean
  /** Quotation marks around it. */
  quotes: readonly [string, string]
  note: string
  edit: { added: number; removed: number } | null
  mark: 'ok' | 'failed' | null
  exitCode: number | null
}

/** Words around their objects. */
export type Clause = {
  before: string
  after: string
  objects: readonly SaidObject[]
  /** Objects that are left out. */
  more: number
}

/** The files of a patch of several, in either format. */
const PATCHED = /^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b\/)?(?!\/dev\/null))(.+)/gm

type Draft = Omit<Clause, 'objects' | 'more'> & { objects: Map<string, SaidObject> }

const MAX_CLAUSES = 6
const MAX_OBJECTS = 3
const MAX_CHARS = 44

/** In these, words that follow a separator begin with a small letter. German nouns and scripts without letters of two sizes do not. */
const SMALL_LETTERS = new Set(['en', 'es', 'fr', 'pt', 'ru'])

/** With the space inside of French ones, and the marks that isolate a name in Arabic. */
const QUOTES_BEFORE = /[“„«「‘"][\s\u2068]?$|\u2068$/
const QUOTES_AFTER = /^[\s\u2069]?[”“»」’"]|^\u2069/

/** They stand around each object: isolated as one, several in Arabic would be in the order of the first, and what came of them before them. */
const quoted = ({ before, after }: Phrase) => {
  const quotes = [
    QUOTES_BEFORE.exec(before)?.[0] ?? '',
    QUOTES_AFTER.exec(after)?.[0] ?? '',
  ] as const
  return {
    before: before.slice(0, before.length - quotes[0].length),
    after: after.slice(quotes[1].length),
    quotes,
  }
}

const cut = (text: string): string =>
  text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS - 1).trimEnd()}…` : text

/** These only keep the list of what is to be done, so other steps are more to say. */
const isBookkeeping = ({ name }: ToolStep): boolean =>
  shownCall(name)?.verb === 'planned' || shownCall(name)?.verb === 'plan'

const isCommand = (name: string): boolean =>
  shownCall(name)?.verb === 'ran' || shownCall(name)?.verb === 'script'

export const goalsOf = (step: ToolStep): string[] => {
  const { tasks, goal } = parseArgs(step.argsText)
  return (Array.isArray(tasks) ? tasks : [{ goal }])
    .map(task => asString(asObject(task).goal))
    .filter(Boolean)
}

const isSubagent = (name: string): boolean => shownCall(name)?.verb === 'subagent'

const subagentWords = (count: number, goal: string) =>
  quoted(phraseOf(t('said.subagents', { count, object: '{object}' }), goal))

const subagents = (step: ToolStep, outcome: Outcome | null): Draft => {
  const goals = goalsOf(step)
  const isFailed = outcome?.state === 'failed'
  const { before, after, quotes } = subagentWords(Math.max(1, goals.length), goals[0] ?? '')
  return {
    ...{ before, after },
    objects: new Map(
      (goals.length > 0 ? goals : ['']).map(each => [
        each,
        {
          ...{ text: cut(visibleWords(each)), title: each, isCode: false, quotes },
          ...{ note: '', edit: null, mark: isFailed ? 'failed' : null, exitCode: null },
        },
      ]),
    ),
  }
}

const small = (words: string): string =>
  SMALL_LETTERS.has((pageLocale() ?? 'en').slice(0, 2))
    ? words.charAt(0).toLocaleLowerCase(pageLocale()) + words.slice(1)
    : words

const noteOf = (outcome: Outcome | null): string => {
  if (outcome?.state === 'refused') return small(t(`tool.refused.${outcome.by ?? 'checks'}`))
  if (outcome?.state !== 'ok') return ''
  if (outcome.isInBackground) return small(t('tool.background'))
  return outcome.matches === null ? '' : t('tool.matches', { count: outcome.matches })
}

const filesOf = ({ patch, input }: Args): string[] => {
  const text = patch ?? input
  return typeof text === 'string'
    ? [...new Set([...text.matchAll(PATCHED)].map(match => match[1]!.trim()))]
    : []
}

const draftOf = (step: ToolStep): Draft => {
  const outcome = step.result ? outcomeOf(messageText(step.result), step.result) : null
  if (isSubagent(step.name)) return subagents(step, outcome)
  const args = step.short ?? parseArgs(step.argsText)
  const { did, object, code, path } = describeToolCall(step.name, args)
  const isRefused = outcome?.state === 'refused'
  const whole = object || (isRefused ? did.before : '')
  const { before, after, quotes } = quoted(
    isRefused ? phraseOf(t('said.refused', { object: '{object}' }), whole) : did,
  )
  const isFailed = outcome ? outcome.state === 'failed' : step.finished?.isError === true
  const isDone = isCommand(step.name) && outcome?.state === 'ok' && !outcome.isInBackground
  const patched = path ? filesOf(args) : []
  const edit = outcome?.state === 'ok' && patched.length < 2 ? outcome.edit : null
  const titles = patched.length > 1 ? patched : [path ?? whole]
  const objectOf = (title: string): SaidObject => ({
    text: path ? visibleName(fileName(title)) : cut(whole),
    title: path ? visibleName(title) : title,
    isCode: code,
    quotes,
    note: noteOf(outcome),
    edit,
    mark: isFailed ? 'failed' : isDone ? 'ok' : null,
    exitCode: isFailed && outcome?.exitCode ? outcome.exitCode : null,
  })
  return { before, after, objects: new Map(titles.map(title => [title, objectOf(title)])) }
}

/** What was done again counts with its last result; the lines of edits are counted together. */
const add = (objects: Map<string, SaidObject>, fresh: Draft['objects']): void => {
  for (const [key, object] of fresh) {
    const before = objects.get(key)
    const edit =
      before?.edit && object.edit
        ? {
            added: before.edit.added + object.edit.added,
            removed: before.edit.removed + object.edit.removed,
          }
        : (object.edit ?? before?.edit ?? null)
    objects.set(key, { ...object, edit })
  }
}

/** Files of the same name are told apart by their folder. */
const withFolders = (objects: readonly SaidObject[]): SaidObject[] =>
  objects.map(object => {
    const isTwice = objects.some(each => each !== object && each.text === object.text)
    const folder = object.title.split('/').slice(-2).join('/')
    return isTwice && object.isCode && object.title.includes('/')
      ? { ...object, text: folder }
      : object
  })

/** Of the steps that have ended. Those that a line of its own says, as that a person denied it, are left to it. */
export const sayWork = (steps: readonly Step[]): Clause[] => {
  const ended = steps.filter(
    (step): step is ToolStep => step.kind === 'tool' && step.state === 'ended',
  )
  const news = ended.filter(step => !isBookkeeping(step) && !wasNotAllowed(step))
  const drafts = new Map<string, Draft & { name: string }>()
  for (const step of news.length > 0 ? news : ended) {
    const draft = draftOf(step)
    // How many there were is part of their words.
    const key = isSubagent(step.name) ? 'subagents' : `${draft.before}\0${draft.after}`
    const existing = drafts.get(key)
    if (existing) add(existing.objects, draft.objects)
    else drafts.set(key, { ...draft, name: step.name })
  }
  const all = [...drafts.values()].slice(0, MAX_CLAUSES)
  return all.map(({ objects, name, ...words }, index) => {
    const sorted = [...objects.values()]
    const { before, after } = isSubagent(name)
      ? subagentWords(sorted.length, sorted[0]!.text)
      : words
    // One that failed is never left out.
    const failures = sorted.filter(({ mark }) => mark === 'failed').slice(-MAX_OBJECTS)
    const others = sorted
      .filter(each => !failures.includes(each))
      .slice(0, MAX_OBJECTS - failures.length)
    const visible = sorted.filter(each => failures.includes(each) || others.includes(each))
    const clause = {
      ...{ before, after },
      objects: withFolders(visible),
      more: sorted.length - visible.length,
    }
    const isOurs = shownCall(name) !== undefined
    return index > 0 && isOurs ? { ...clause, before: small(before) } : clause
  })
}

/** The same as plain text, for tests and where no marks can be drawn. */
export const inPlainWords = (clauses: readonly Clause[]): string =>
  clauses
    .map(({ before, after, objects, more }) => {
      const texts = objects.map(({ text, quotes: [open, close], edit, mark, exitCode, note }) =>
        [
          text ? `${open}${text}${close}` : ' ',
          edit && `+${edit.added} −${edit.removed}`,
          mark && (mark === 'ok' ? '✓' : ['✗', exitCode].filter(Boolean).join(' ')),
          note && `(${note})`,
        ]
          .filter(Boolean)
          .join(' ')
          .replace(/^ +/, ' '),
      )
      const list = texts.map((each, at) =>
        at === 0 ? each : `${objects[at - 1]!.mark ? ' · ' : ', '}${each}`,
      )
      const rest = more > 0 ? ` +${more}` : ''
      return `${before}${list.join('')}${rest}${after}`.trim()
    })
    .join(' · ')
