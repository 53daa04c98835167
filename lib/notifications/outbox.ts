/**
 * What is to be sent and was not yet, and what was sent, in a private file that survives a restart.
 *
 * The file is replaced, not synced: a killed process loses nothing, and a turn never waits for the disk. It also has the keys of
 * facts that were queued before, so that none is queued twice, and hashes of the tokens with which a notification is answered.
 */
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { sha256 } from '../base/sha256.ts'
import { z } from 'zod'
import { CodedSentence } from '../schema/sentence.ts'
import { messageOf } from '../errors.ts'
import { FailureType } from '../schema/failure-type.ts'
import { NotificationKind, NotificationProblem } from '../schema/notification.ts'
import { readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

/** Its name in the state directory. */
export const OUTBOX = 'notifications-outbox.json'

const MAX_ITEMS = 200
const MAX_SEEN = 500
const MAX_TOKENS = 300
const MAX_SHOWN = 300
const KEPT_ATTEMPTS = 2

const Settled = z.enum(['allowed', 'denied', 'answered', 'ended'])
export type Settled = z.infer<typeof Settled>

const Fact = z.object({
  /** What happened, once: a second fact with this key is ignored. */
  key: z.string(),
  kind: NotificationKind,
  session_id: z.string().nullable(),
  profile: z.string(),
  /** Of a task; that of a chat is looked up when it is sent. */
  title: z.string().optional(),
  text: z.string(),
  /** The code of the text, if it has one. */
  coded: CodedSentence.optional(),
  /** Relative address of the page to open; default: the chat. */
  url: z.string().optional(),
  question_id: z.string().optional(),
  /** Why a turn failed. */
  failure: FailureType.optional(),
  /** How many times a task was missed. */
  missed: z.number().optional(),
  /** How the question was settled, whose notification this one replaces. */
  settled: Settled.optional(),
})
export type Fact = z.infer<typeof Fact>

const Item = z.object({
  id: z.string(),
  /** Id of a device or service. */
  target: z.string(),
  fact: Fact,
  /** Milliseconds since 1970. */
  at: z.number(),
  due: z.number(),
  attempts: z.number(),
})
export type Item = z.infer<typeof Item>

const Token = z.object({
  hash: z.string(),
  session_id: z.string(),
  question_id: z.string(),
  question: z.enum(['approval', 'clarify']),
  /** Null: the text that is sent with the token. */
  answer: z.string().nullable(),
  /** Id of the device or service that got it: it ends with it. Empty in files of earlier versions. */
  target: z.string().default(''),
  /** Where it was offered, for the journal. */
  by: z.string(),
  /** Milliseconds since 1970. */
  expires_at: z.number(),
})
export type AnswerToken = z.infer<typeof Token>

/** A question that a receiver shows: replaced when it is settled. */
const ShownNotification = z.object({ target: z.string(), fact: Fact })
export type ShownNotification = z.infer<typeof ShownNotification>

/** What became of the last message to a receiver. */
const Status = z.object({
  /** Seconds since 1970. */
  last_sent_at: z.number().nullable(),
  problem: z.string().nullable(),
  problem_code: NotificationProblem.nullable(),
})
export type Status = z.infer<typeof Status>
const UNUSED: Status = { last_sent_at: null, problem: null, problem_code: null }

export const OutboxFile = z.object({
  version: z.literal(1),
  items: z.array(Item),
  seen: z.array(z.string()),
  tokens: z.array(Token),
  /** These two are absent in files of earlier versions. */
  shown: z.array(ShownNotification).default([]),
  statuses: z.record(z.string(), Status).default({}),
})
type OutboxFile = z.infer<typeof OutboxFile>

const NONE: OutboxFile = { version: 1, items: [], seen: [], tokens: [], shown: [], statuses: {} }

/** Recognizable, so that `lib/base/redact/shapes.ts` masks tokens although only their hashes are known. */
const PREFIX = 'awn_'

/** Without those of earlier attempts to send the same notification, but for the one before: it may have arrived although its reply was lost. */
const lastAttempts = (tokens: readonly AnswerToken[]): AnswerToken[] => {
  const counts = new Map<string, number>()
  return tokens
    .toReversed()
    .filter(({ target, question_id, answer }) => {
      const offer = JSON.stringify([target, question_id, answer])
      const count = (counts.get(offer) ?? 0) + 1
      counts.set(offer, count)
      return count <= KEPT_ATTEMPTS
    })
    .toReversed()
}

export class Outbox {
  readonly #path: string
  readonly #warn: (text: string) => void
  #state
  #isBroken = false

  constructor(path: string, warn: (text: string) => void) {
    this.#path = path
    this.#warn = warn
    this.#state = this.#read()
  }

  items(): readonly Item[] {
    return this.#state.items
  }

  /** When the first of them is sent or decided about, in milliseconds since 1970; null: there is none. */
  nextDue(): number | null {
    return this.#state.items.reduce<number | null>(
      (first, { due }) => (first === null ? due : Math.min(first, due)),
      null,
    )
  }

  notifications(): readonly ShownNotification[] {
    return this.#state.shown
  }

  statusOf(target: string): Status {
    return this.#state.statuses[target] ?? UNUSED
  }

  /** Records what became of a message; null: the receiver was removed. */
  setStatus(target: string, status: Status | null): void {
    const { [target]: _, ...others } = this.#state.statuses
    this.#update({ statuses: status === null ? others : { ...others, [target]: status } })
  }

  show(notification: ShownNotification): void {
    this.#update({ shown: [...this.#state.shown, notification].slice(-MAX_SHOWN) })
  }

  forget(matches: (notification: ShownNotification) => boolean): void {
    const rest = this.#state.shown.filter(each => !matches(each))
    if (rest.length < this.#state.shown.length) this.#update({ shown: rest })
  }

  /** Queues a fact for these targets, in one write. False when it was queued before. */
  add(fact: Fact, targets: readonly string[], { at, due }: { at: number; due: number }): boolean {
    if (this.#state.seen.includes(fact.key)) return false
    const items = targets.map(target => ({
      id: randomBytes(8).toString('hex'),
      target,
      fact,
      at,
      due,
      attempts: 0,
    }))
    this.#update({
      items: [...this.#state.items, ...items].slice(-MAX_ITEMS),
      seen: [...this.#state.seen, fact.key].slice(-MAX_SEEN),
    })
    return true
  }

  remove(matches: (item: Item) => boolean): void {
    const items = this.#state.items.filter(item => !matches(item))
    if (items.length < this.#state.items.length) this.#update({ items })
  }

  delay(id: string, due: number, attempts: number): void {
    const items = this.#state.items.map(item =>
      item.id === id ? { ...item, due, attempts } : item,
    )
    this.#update({ items })
  }

  /** Makes tokens at `now`, in milliseconds since 1970; they are returned only here. Those of questions that are not open any more only say who was first, so they go first. */
  issue(
    tokens: readonly Omit<AnswerToken, 'hash'>[],
    now: number,
    isOpen: (questionId: string) => boolean = () => true,
  ): string[] {
    if (tokens.length === 0) return []
    const pairs = tokens.map(each => {
      const token = `${PREFIX}${randomBytes(32).toString('base64url')}`
      return { token, record: { ...each, hash: sha256(token) } }
    })
    const valid = this.#state.tokens.filter(each => each.expires_at > now)
    const recent = lastAttempts([...valid, ...pairs.map(each => each.record)])
    const closed = recent.filter(({ question_id: id }) => !isOpen(id))
    const open = recent.filter(({ question_id: id }) => isOpen(id))
    this.#update({ tokens: [...closed, ...open].slice(-MAX_TOKENS) })
    return pairs.map(each => each.token)
  }

  /** What a token answers at `now`; undefined when it is unknown or expired. Compares hashes only. */
  find(token: string, now: number): AnswerToken | undefined {
    const hash = sha256(token)
    const record = this.#state.tokens.find(each => each.hash === hash)
    return record && record.expires_at > now ? record : undefined
  }

  #read(): OutboxFile {
    try {
      return OutboxFile.parse(JSON.parse(readWholeText(this.#path)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#warn(`${this.#path} cannot be read; notifications that were not sent yet are lost`)
      return NONE
    }
  }

  #update(patch: Partial<OutboxFile>): void {
    this.#state = { ...this.#state, ...patch }
    try {
      // A leftover of a killed process must not be followed or reused.
      rmSync(`${this.#path}.tmp`, { force: true })
      writeFileSync(`${this.#path}.tmp`, JSON.stringify(this.#state), { mode: 0o600, flag: 'wx' })
      renameSync(`${this.#path}.tmp`, this.#path)
      reportWrite(this.#path)
      this.#isBroken = false
    } catch (error) {
      // A full disk: sent from memory, lost at a restart.
      if (!this.#isBroken) this.#warn(`${this.#path} cannot be written: ${messageOf(error)}`)
      this.#isBroken = true
    }
  }
}
