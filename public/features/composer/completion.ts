/** What the composer suggests while one types: commands after `/`; files of the workspace, chats, and skills after `@`. */
import { signal } from '@preact/signals'
import type { IconName } from '../../parts/icon.tsx'
import type { FileEntry, FoundFile } from '../../../lib/schema/workspace.ts'
import type { Platform } from '../../platform.ts'
import type { OfferedCommand } from './find-commands.ts'

export type Trigger = { kind: 'command' | 'file'; query: string; from: number; to: number }
export type Suggestion =
  | ({ kind: 'command' } & OfferedCommand)
  | { kind: 'file'; path: string; directory: boolean; ranges?: readonly number[] }
  /** A chat or skill; `text` is put into the message. */
  | {
      kind: 'mention'
      icon: IconName
      name: string
      hint: string
      ranges: readonly number[]
      text: string
    }

/** Of files. Commands are listed whole: what is not shown does not exist for whoever looks for it. */
const MAX_FILES = 40
/** As much before the caret is looked at with each key. */
const MAX_QUERY_CHARS = 1_000

/** Ids of the list and of its options. */
export const COMPLETION_ID = 'completion'
export const offerId = (index: number): string => `${COMPLETION_ID}-${index}`

/** A `/` triggers only as the first character of the message, an `@` only at the start of a word. */
export const findTrigger = (text: string, caret: number): Trigger | null => {
  const from = Math.max(0, caret - MAX_QUERY_CHARS)
  const head = text.slice(from, caret)
  const command = from === 0 ? /^\/([\p{L}\p{N}_:.-]*)$/u.exec(head) : null
  if (command) return { kind: 'command', query: command[1]!, from: 0, to: caret }
  const file = /(?:^|\s)@([^\s@]*)$/.exec(head)
  if (file) return { kind: 'file', query: file[1]!, from: caret - file[1]!.length - 1, to: caret }
  return null
}

const prefixFirst = <T>(items: readonly T[], nameOf: (item: T) => string, query: string): T[] => {
  const needle = query.toLowerCase()
  const matches = items.filter(item => nameOf(item).toLowerCase().includes(needle))
  const starts = (item: T) => nameOf(item).toLowerCase().startsWith(needle)
  return [...matches.filter(starts), ...matches.filter(item => !starts(item))]
}

const splitPath = (query: string): { directory: string; name: string } => {
  const slash = query.lastIndexOf('/')
  return { directory: query.slice(0, Math.max(0, slash)), name: query.slice(slash + 1) }
}

export type CompletionOptions = {
  platform: Platform
  /** Called for each completion, because skills can be added and removed. */
  commands: (query: string) => readonly OfferedCommand[]
  /** Entries of a workspace directory. */
  entries: (directory: string) => Promise<FileEntry[]>
  /** Files and folders of the workspace at any depth, best first. */
  search: (query: string) => Promise<readonly FoundFile[]>
  /** The files with chats and skills. */
  mentions: (query: string, files: readonly Suggestion[]) => Promise<readonly Suggestion[]>
}

export class Completion {
  readonly #options: CompletionOptions
  readonly suggestions = signal<readonly Suggestion[]>([])
  readonly active = signal(0)
  readonly trigger = signal<Trigger | null>(null)
  /** The query that was dismissed with Escape stays dismissed until it changes. */
  #dismissed = ''
  #cancel = () => {}

  constructor(options: CompletionOptions) {
    this.#options = options
  }

  close(): void {
    this.#cancel()
    this.trigger.value = null
    this.suggestions.value = []
  }

  update(text: string, caret: number): void {
    const { commands, platform } = this.#options
    const trigger = findTrigger(text, caret)
    const same = JSON.stringify(trigger)
    if (!trigger || same === this.#dismissed) {
      if (!trigger) this.#dismissed = ''
      this.close()
      return
    }
    if (JSON.stringify(this.trigger.value) === same) return
    this.#dismissed = ''
    this.trigger.value = trigger
    this.#cancel()
    if (trigger.kind === 'command') {
      this.#show(commands(trigger.query).map(command => ({ kind: 'command', ...command })))
    } else this.#cancel = platform.clock.timer(60, () => void this.#listFiles(trigger))
  }

  /** To the next one or the one before, around the ends; by more, up to the ends. */
  move(step: number): void {
    const count = this.suggestions.value.length
    const to = this.active.value + step
    if (count === 0) return
    this.active.value =
      Math.abs(step) === 1 ? (to + count) % count : Math.max(0, Math.min(count - 1, to))
  }

  dismiss(): void {
    this.#dismissed = JSON.stringify(this.trigger.value)
    this.close()
  }

  /** The text and caret after accepting a suggestion. */
  apply(text: string, offer: Suggestion): { text: string; caret: number; file: string | null } {
    const { from, to } = this.trigger.value ?? { from: text.length, to: text.length }
    const word =
      offer.kind === 'command'
        ? `/${offer.name}${offer.argument ? ' ' : ''}`
        : offer.kind === 'mention'
          ? `${offer.text} `
          : offer.directory
            ? `@${offer.path}/`
            : `${offer.path} `
    const rest = text.slice(to)
    return {
      text: text.slice(0, from) + word + (word.endsWith(' ') ? rest.replace(/^ /, '') : rest),
      caret: from + word.length,
      file: offer.kind === 'file' && !offer.directory ? offer.path : null,
    }
  }

  #show(list: readonly Suggestion[]): void {
    this.suggestions.value = list
    this.active.value = 0
  }

  /** A name is searched at any depth. A path that ends with a slash is listed, and so is what the search leaves out: ignored files. */
  async #findFiles({ query }: Trigger): Promise<Suggestion[]> {
    const { search, entries } = this.#options
    const { directory, name } = splitPath(query)
    const files = /[\p{L}\d]/u.test(name) ? await search(query) : []
    if (files.length > 0)
      return files.map(({ path, type, ranges }) => ({
        kind: 'file',
        path,
        directory: type === 'dir',
        ranges,
      }))
    const visible = (await entries(directory)).filter(
      entry => name.startsWith('.') || !entry.name.startsWith('.'),
    )
    return prefixFirst(visible, entry => entry.name, name).map(({ path, type }) => ({
      kind: 'file',
      path,
      directory: type === 'dir',
    }))
  }

  async #listFiles(trigger: Trigger): Promise<void> {
    // No such directory, or not yet.
    const files = await this.#findFiles(trigger).catch(() => [])
    // A path names a file. Without chats and skills, the files are still of use.
    const suggestions = trigger.query.includes('/')
      ? files
      : await this.#options.mentions(trigger.query, files).catch(() => files)
    // The caret may have moved while the server searched.
    if (this.trigger.value === trigger) this.#show(suggestions.slice(0, MAX_FILES))
  }
}
