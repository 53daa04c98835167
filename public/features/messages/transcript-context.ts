/** Context of transcript rows: signals of the live turn, actions, and expanded rows. */
import { createContext } from 'preact'
import { useContext, useEffect } from 'preact/hooks'
import { type ReadonlySignal, type Signal, useSignal } from '@preact/signals'
import type { Question, RuleScope } from '../../../lib/schema/question.ts'
import type { Message } from '../../../lib/schema/message.ts'
import type { TranscriptPlace } from '../shell/route.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'
import type { TranscriptState } from './chat-reducer.ts'
import type { Editing } from './editing.ts'
import type { ServerClock } from '../../parts/server-clock.ts'

/**
 * Of “Always allow”; `rule` is absent for a rule that covers the exact command. `any`: not only what was shown, but every call
 * of the tool, every change of the files.
 */
export type RuleAnswer = { scope: RuleScope; rule?: string } | { any: true }

export type TranscriptActions = {
  loadBefore(): Promise<void>
  loadMessage(id: string): Promise<Message>
  /** Text of a long tool result that the service stored at this path. */
  loadStored(path: string): Promise<string>
  /** `added`: names of uploaded files that are sent beside those of the message. */
  edit(id: string, text: string, added?: readonly string[]): Promise<boolean>
  editing: Signal<readonly Editing[]>
  retry(id: string): void
  /** Shows this version of a message; absent where nothing changes the chat. */
  showVersion?(id: string): void
  /** Repeats a failed model call of the running turn now. Rejects when the request failed. */
  retryNow(): Promise<void>
  stop(): void
  branch(id: string): void
  copy(text: string): void
  answer(question: Question, answer: string, rule?: RuleAnswer): void
  /** Sends a text that was not written in the composer. */
  send?(text: string): void
  openFile?(path: string, line?: number): void
  /** The row that the address names. */
  place?: ReadonlySignal<TranscriptPlace | null>
  hrefOfPlace?(row: string): string
  jumpTo?(row: string): void
  /** Loads earlier messages up to this one; false when the chat has no such message. */
  loadUntil?(id: string): Promise<boolean>
  /** The row that the address names does not exist. */
  placeMissing?(): void
  switchModel(): void
  addKey(): void
  compact(): void
}

export type Scope = {
  chat: Signal<TranscriptState>
  live: ReadonlySignal<LiveTurn | null>
  liveText: ReadonlySignal<string>
  liveReasoning: ReadonlySignal<string>
  /** Keys of steps that are expanded, and of activities that were expanded, or collapsed where they are open at first. */
  expandedKeys: Signal<ReadonlySet<string>>
  toggle: (key: string) => void
  actions: TranscriptActions
  showUsage: boolean
  botName: string
  clock: ServerClock
}

const TranscriptContext = createContext<Scope | null>(null)
export const TranscriptProvider = TranscriptContext.Provider

export const useTranscript = (): Scope => {
  const scope = useContext(TranscriptContext)
  if (!scope) throw new Error('A row stands outside its transcript')
  return scope
}

/** Reads a signal at most once per animation frame, however fast tokens arrive. */
export const usePerFrame = <T>(source: ReadonlySignal<T> | null, idle: T): T => {
  const value = useSignal<T>(source?.peek() ?? idle)
  useEffect(() => {
    if (!source) return
    let frame = 0
    const stop = source.subscribe(() => {
      frame ||= requestAnimationFrame(() => {
        frame = 0
        value.value = source.peek()
      })
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  }, [source])
  return source ? value.value : idle
}
