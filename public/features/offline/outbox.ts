/**
 * Messages that could not be sent: kept in this browser, and sent in order when the server can be reached again.
 *
 * Each has an id that the server knows after the first time, so a message whose reply was lost is not sent twice.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import { ApiError, type ApiCall } from '../../api.ts'
import type { Choice } from '../chat/session-choices.ts'

export type Kept = {
  /** The client's id of the message. */
  id: string
  /** Null until the chat was created. */
  session_id: string | null
  /** Messages with the same one belong to the same new chat. */
  chat: string
  choice: Choice
  text: string
  files: readonly string[]
  /** Milliseconds since 1970, later than that of the message before. */
  at: number
  /** Why the server rejected it; it then waits for the person, and so do the messages behind it. */
  error?: string
}

/** Where they are stored. */
export type KeptStore = {
  load: () => Promise<Kept[]>
  put: (message: Kept) => Promise<void>
  remove: (id: string) => Promise<void>
}

export type OutboxOptions = {
  api: ApiCall
  store: KeptStore
  nowMs: () => number
  newId: () => string
  /** Runs one at a time in all tabs of the browser. */
  exclusively: (work: () => Promise<boolean>) => Promise<boolean>
  /** The list in the store has changed; other tabs read it again. */
  onChange: () => void
  onKept: () => void
  /** A new chat was created for messages that were written without one. */
  onCreated: (chat: string, sessionId: string) => void
}

export type Outbox = {
  list: ReadonlySignal<readonly Kept[]>
  /** What `Kept.chat` is for the new chat that the page shows. */
  chat: ReadonlySignal<string>
  /** The page begins another new chat. */
  leaveChat: () => void
  newId: () => string
  /** Those of a chat; of null, those of chats that do not exist yet. */
  of: (sessionId: string | null) => readonly Kept[]
  keep: (message: Pick<Kept, 'id' | 'session_id' | 'choice' | 'text' | 'files'>) => Promise<boolean>
  remove: (id: string) => Promise<void>
  /** Sends a message that was rejected once more. */
  retry: (id: string) => Promise<void>
  /** Sends what it can, in order. False when the server could not be reached. */
  flush: () => Promise<boolean>
  /** Reads the list again, after another tab has changed it. */
  reload: () => Promise<void>
}

/** Nothing was answered: the request may or may not have arrived. A proxy says the same with these. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ApiError && [0, 502, 504].includes(error.status)

const isBusy = (error: unknown): boolean => error instanceof ApiError && error.status === 409

export const createOutbox = (options: OutboxOptions): Outbox => {
  const { api, store, nowMs, newId, exclusively, onChange } = options
  const list = signal<readonly Kept[]>([])
  const chat = signal('')

  const reload = async (): Promise<void> => {
    list.value = (await store.load()).sort((a, b) => a.at - b.at)
    // After a reload, what is written belongs to the chat that was begun before.
    chat.value ||= list.value.findLast(each => each.session_id === null)?.chat ?? newId()
  }
  const changed = async (): Promise<void> => {
    await reload()
    onChange()
  }

  /** The session of a message; created once for all messages of a new chat. */
  const sessionOf = async (message: Kept): Promise<string> => {
    if (message.session_id) return message.session_id
    const { model, workspace, personality } = message.choice
    const { session } = await api('POST /api/session/new', {
      ...(model ? { model } : {}),
      ...(workspace ? { workspace } : {}),
    })
    const id = session.session_id
    for (const each of await store.load())
      if (each.chat === message.chat && !each.session_id)
        await store.put({ ...each, session_id: id })
    if (personality) await api('POST /api/personality/set', { session_id: id, name: personality })
    options.onCreated(message.chat, id)
    return id
  }

  const send = async (message: Kept): Promise<void> => {
    const input = {
      session_id: await sessionOf(message),
      message: message.text,
      client_message_id: message.id,
      ...(message.files.length > 0 && { attachments: [...message.files] }),
    }
    try {
      await api('POST /api/chat/start', input)
    } catch (error) {
      if (!isBusy(error)) throw error
      // A turn is running there: the server sends it afterwards.
      await api('POST /api/queue/add', input)
    }
  }

  const sendAll = async (): Promise<boolean> => {
    // A rejected message holds back those behind it in the same chat, so that they stay in order.
    const held = new Set<string>()
    const done = new Set<string>()
    while (true) {
      const next = (await store.load())
        .sort((a, b) => a.at - b.at)
        .find(each => !done.has(each.id) && !held.has(each.session_id ?? each.chat))
      if (!next) return true
      if (next.error) {
        held.add(next.session_id ?? next.chat)
        continue
      }
      try {
        await send(next)
      } catch (error) {
        if (isUnreachable(error)) return false
        held.add(next.session_id ?? next.chat)
        await store.put({ ...next, error: error instanceof Error ? error.message : String(error) })
        await changed()
        continue
      }
      done.add(next.id)
      await store.remove(next.id)
      await changed()
    }
  }

  const flush = async (): Promise<boolean> => {
    await reload()
    return list.value.length === 0 || exclusively(sendAll)
  }

  return {
    list,
    chat,
    newId,
    leaveChat() {
      chat.value = newId()
    },
    of: sessionId => list.value.filter(each => each.session_id === sessionId),
    async keep(message) {
      try {
        const last = list.value.at(-1)?.at ?? 0
        const at = Math.max(nowMs(), last + 1)
        await store.put({ ...message, at, chat: chat.value })
        await changed()
        options.onKept()
        return true
      } catch {
        // No storage, as in some private windows: the text goes back into the composer.
        return false
      }
    },
    async remove(id) {
      await store.remove(id)
      await changed()
    },
    async retry(id) {
      const found = list.value.find(each => each.id === id)
      if (!found) return
      const { error: _, ...message } = found
      await store.put(message)
      await flush()
    },
    flush,
    reload,
  }
}
