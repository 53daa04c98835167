/** Starting, stopping, queueing and repeating turns of the open chat. */
import type { Clock } from '../../../lib/base/clock.ts'
import { effect, type ReadonlySignal } from '@preact/signals'
import { type ApiCall, ApiError, isUnreachable, SEND_MS } from '../../api.ts'
import { t } from '../../strings/t.ts'
import { splitComments, withComments } from '../../../lib/base/comment-text.ts'
import { withFiles, withoutFiles } from '../composer/composer.ts'
import type { Outbox, Unsent } from '../offline/outbox.ts'
import type { Sending } from '../offline/sending.ts'
import type { Queue } from '../queue/queue.ts'
import { isHostSession } from '../sessions/host-session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { RouteState } from '../shell/route.ts'
import type { Toasts } from '../shell/toast.ts'
import { type OpenChat, textOf } from './open-chat.ts'
import type { SessionChoices } from './session-choices.ts'

export type TurnActionsOptions = {
  api: ApiCall
  toasts: Toasts
  route: RouteState
  sessions: Sessions
  chat: OpenChat
  queue: Queue
  choices: Pick<SessionChoices, 'ensureSession' | 'importIfHostSession' | 'choice'>
  /** Undefined: not loaded yet. */
  outbox: ReadonlySignal<Outbox | null | undefined>
  sending: Pick<Sending, 'newId' | 'sending'>
  clock: Clock
  attempt: (action: () => Promise<unknown>) => Promise<void>
}

/** How long a message waits for the outbox, which may hold earlier ones. It is stored before that. */
const LOAD_MS = 2_000

export type TurnActions = {
  /** Starts a turn of the open chat. False when it could not start: the caller keeps the text. */
  startTurn: (text: string, files: readonly string[]) => Promise<boolean>
  /** Queues a message after the running turn, or steers the turn with it. False when the server rejected it. */
  enqueue: (id: string, text: string, files: readonly string[], steer?: boolean) => Promise<boolean>
  /** Sends a text that was not written in the composer. */
  sendText: (text: string) => Promise<boolean>
  stop: () => Promise<undefined>
  /** Ends the wait before a failed model call is repeated. Shows an error and rejects when the request failed. */
  retryNow: () => Promise<void>
  edit: (id: string, text: string, added?: readonly string[]) => Promise<void>
  retry: (id?: string) => Promise<undefined>
  /** Returns the sentence to show. */
  undo: (id: string) => Promise<string | undefined>
}

/** The outbox, once it is loaded; null when it cannot be, or not in time. */
const whenLoaded = async ({
  outbox,
  clock,
}: Pick<TurnActionsOptions, 'outbox' | 'clock'>): Promise<Outbox | null> => {
  if (outbox.peek() === undefined)
    await new Promise<void>(resolve => {
      const cancel = clock.timer(LOAD_MS, resolve)
      effect(() => {
        if (outbox.value === undefined) return
        cancel()
        resolve()
      })
    })
  return outbox.peek() ?? null
}

/** One request after the other: on a slow connection a later message could overtake an earlier one. */
const createOrder = () => {
  let last: Promise<unknown> = Promise.resolve()
  return <T>(work: () => Promise<T>): Promise<T> => {
    const made = last.then(work, work)
    last = made
    return made
  }
}

export const createTurnActions = (options: TurnActionsOptions): TurnActions => {
  const { api, toasts, route, sessions, chat, queue, choices, attempt } = options

  /** Keeps a message in this browser when its request got no reply. Shows any other error; false: the caller keeps the text. */
  const keepUnsent = async (error: unknown, message: Unsent | null): Promise<boolean> => {
    if (isUnreachable(error) && message && (await (await whenLoaded(options))?.keep(message)))
      return true
    toasts.showError(error)
    return false
  }
  const toMessage = (session_id: string | null, text: string, files: readonly string[]) => {
    // A session of the command line is imported first, which gives it another journal.
    if (isHostSession(sessions.row(session_id))) return null
    const id = options.sending.newId()
    return { id, session_id, text, files, choice: choices.choice.value }
  }
  const inOrder = createOrder()
  /** Names the message, so that it is stored once if it has to be sent again. */
  const named = (message: Unsent | null) => (message ? { client_message_id: message.id } : {})

  /** Stored in this browser while it is being sent, because the page may be closed before the server replies. */
  const sending = (
    message: Unsent | null,
    work: (inSession?: (id: string) => void) => Promise<boolean>,
  ): Promise<boolean> => {
    const lastAt = options.outbox.value?.list.value.at(-1)?.at
    return message ? options.sending.sending(message, work, lastAt) : work()
  }

  const add = async (
    id: string,
    text: string,
    files: readonly string[],
    message: Unsent | null,
  ): Promise<boolean> => {
    try {
      await queue.add(id, text, files, named(message))
      return true
    } catch (error) {
      return keepUnsent(error, message)
    }
  }

  const enqueue: TurnActions['enqueue'] = async (id, text, files, steer = false) => {
    if (!steer) {
      const message = toMessage(id, text, files)
      return sending(message, () => inOrder(() => add(id, text, files, message)))
    }
    try {
      await queue.steer(id, text, files)
      return true
    } catch (error) {
      // Guidance for a turn is not sent later: by then it may have ended.
      return keepUnsent(error, null)
    }
  }

  const start = async (
    text: string,
    files: readonly string[],
    message: Unsent | null,
    inSession?: (id: string) => void,
  ): Promise<boolean> => {
    let id = route.sessionId.value
    const isLoading = options.outbox.value === undefined
    const shown = isLoading ? chat.addPending(text, files) : undefined
    const outbox = isLoading ? await whenLoaded(options) : options.outbox.value
    // Behind those that wait, so that they arrive in order.
    if (message && outbox?.of(id).length && (await outbox.keep(message))) {
      shown?.()
      void attempt(outbox.flush)
      return true
    }
    const removePending = shown ?? chat.addPending(text, files)
    const unsent = () => message && { ...message, session_id: id }
    const request = async (to: string): Promise<boolean> => {
      const behind = unsent()
      // Also behind one that was sent just before and got no reply.
      if (behind && outbox?.of(to).length && (await outbox.keep(behind))) {
        removePending()
        void attempt(outbox.flush)
        return true
      }
      const input = {
        session_id: to,
        message: text,
        ...(files.length > 0 ? { attachments: [...files] } : {}),
        ...named(message),
      }
      // On a connection that has stalled, the message is kept and sent again.
      const limit = message ? { signal: AbortSignal.timeout(SEND_MS), key: message.id } : {}
      const reply = await api('POST /api/chat/start', input, limit)
      if (reply.effective_model) chat.patch({ model: reply.effective_model })
      return true
    }
    const failed = async (error: unknown): Promise<boolean> => {
      removePending()
      if (!id || !(error instanceof ApiError) || error.status !== 409)
        return keepUnsent(error, unsent())
      // Another tab or device started a turn first: queue the message after it.
      const queued = await add(id, text, files, unsent())
      void chat.reload()
      return queued
    }
    try {
      const to = await choices.ensureSession()
      id = to
      inSession?.(to)
      await choices.importIfHostSession(to)
      return await inOrder(() => request(to).catch(failed))
    } catch (error) {
      return failed(error)
    }
  }

  const startTurn: TurnActions['startTurn'] = async (text, files) => {
    const message = toMessage(route.sessionId.value, text, files)
    return sending(message, inSession => start(text, files, message, inSession))
  }

  /** Deletes this message and everything after it, then sends its text, or `text`, again. */
  const resend = async (id: string, text: string | null, added: readonly string[] = []) => {
    const prompt = chat.promptOf(id)
    if (!prompt) return
    if (chat.busy.value) {
      toasts.show(t('command.busy'))
      return
    }
    await attempt(async () => {
      const keep = chat.countBefore(prompt.id)
      await choices.importIfHostSession(chat.chat.value.sessionId)
      await chat.truncate(keep)
      const given = prompt.attachments ?? []
      const files = [...given, ...added]
      const before = given.length > 0 ? withoutFiles(textOf(prompt)) : textOf(prompt)
      // An edited text replaces the text only: comments and files stay.
      const message = text === null ? before : withComments(text, splitComments(before).comments)
      await startTurn(withFiles(message, files), files)
    })
  }

  return {
    startTurn,
    enqueue,
    sendText: text => startTurn(text, []),
    async stop() {
      const { live, sessionId } = chat.chat.value
      const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
      if (stream) await attempt(() => api('POST /api/chat/cancel', { stream_id: stream }))
      return undefined
    },
    async retryNow() {
      const { live, sessionId } = chat.chat.value
      const stream = live?.stream_id || sessions.row(sessionId)?.active_stream_id
      if (!stream) return
      try {
        // The position of the last event seen: a late press does not end a later wait.
        const pos = live?.pos ? { pos: live.pos } : {}
        const { retried } = await api('POST /api/chat/retry', { stream_id: stream, ...pos })
        if (!retried) toasts.show(t('chat.retry.late'))
      } catch (error) {
        toasts.showError(error)
        throw error
      }
    },
    edit: resend,
    async retry(id) {
      const prompt = chat.promptOf(id)
      if (prompt) await resend(prompt.id, null)
      return undefined
    },
    async undo(id) {
      if (chat.busy.value) return t('command.busy')
      const reply = await api('POST /api/session/undo', { session_id: id })
      if ('error' in reply) return reply.error
      await chat.reload()
      return t('command.undone', { preview: reply.removed_preview })
    },
  }
}
