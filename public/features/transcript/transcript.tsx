/** Transcript of a chat: message rows, the running turn, and pending questions. */
import { computed, signal, useComputed, useSignal } from '@preact/signals'
import type { ReadonlySignal, Signal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { shownRetryOf } from './pending-retry.ts'
import { firstContent } from '../../parts/first-content.ts'
import { lazy } from '../../parts/lazy.tsx'
import { Loading } from '../../parts/loading.tsx'
import type { TranscriptState } from '../messages/chat-reducer.ts'
import { t } from '../../strings/transcript-strings.ts'
import { preloadSteps } from './activity-row.tsx'
import { type LiveShape, reuseRows, type TranscriptRow, toRows } from './rows.ts'
import {
  type Scope,
  type TranscriptActions,
  TranscriptProvider,
  useTranscript,
} from '../messages/transcript-context.ts'
import type { ScrollController } from './scroll-controller.ts'
import type { ServerClock } from '../../parts/server-clock.ts'
import { partOf } from './row-view.tsx'
import { VirtualList } from './virtual-list.tsx'
import type { TranscriptPlace } from '../shell/route.ts'
import { messageIdOf } from './spine.ts'

type JumpScope = Pick<Scope, 'chat' | 'toggle' | 'actions'> & { isOpen: (key: string) => boolean }
type Rows = { peek(): readonly TranscriptRow[] }

/** The activity that contains a step: `m12:a0` of `m12:a0/call`. */
const activityOf = (key: string): string | null => /^([^/]+)\//.exec(key)?.[1] ?? null

const show = async (
  place: TranscriptPlace,
  { actions, isOpen, toggle, chat }: JumpScope,
  rows: Rows,
  list: ScrollController,
): Promise<boolean> => {
  const id = messageIdOf(place.row)
  if (!chat.peek().messages.some(message => message.id === id)) {
    const isFound = (await actions.loadUntil?.(id)) ?? false
    if (!isFound) return false
    // A later jump, or another chat.
    if (actions.place?.peek() !== place) return true
  }
  const activity = activityOf(place.row)
  if (activity && !isOpen(activity)) toggle(activity)
  if (list.jumpTo(place)) return true
  // The row of a setting that has changed since, such as hidden reasoning: its request is close enough.
  const nearest = rows.peek().find(row => messageIdOf(row.key) === id)
  return nearest !== undefined && list.jumpTo({ ...place, row: nearest.key, heading: null })
}

const useJumps = (
  scope: JumpScope,
  rows: Rows,
  controller: RefObject<ScrollController | null>,
): void => {
  const { actions } = scope
  useEffect(
    () =>
      actions.place?.subscribe(place => {
        if (!place || !controller.current) return
        void show(place, scope, rows, controller.current).then(
          isShown => {
            if (!isShown) actions.placeMissing?.()
          },
          // The request failed; the transcript offers to load earlier messages again.
          () => undefined,
        )
      }),
    [scope],
  )
}

/** Whoever sends a message sees it, and what follows, also when they were reading further up. */
const useOwnMessages = (
  { chat }: { chat: Signal<TranscriptState> },
  controller: { current: ScrollController | null },
): void => {
  const ownId = useComputed(() => {
    const id = chat.value.messages.at(-1)?.id ?? ''
    return id.startsWith('sent-') ? id : null
  })
  useEffect(() => void (ownId.value && controller.current?.jumpToEnd()), [ownId.value])
}

/** Loaded when they are needed. */
const ApprovalCard = lazy(async () => (await import('../approvals/approval-card.tsx')).ApprovalCard)
const QuestionCard = lazy(async () => (await import('../approvals/question-card.tsx')).QuestionCard)
const ErrorCard = lazy(async () => (await import('./error-card.tsx')).ErrorCard, true)
const RetryCard = lazy(async () => (await import('./retry-card.tsx')).RetryCard, true)

/** A part that does not come holds the text up for this long at most. */
const PARTS_MS = 4_000

/** What is loaded for the rows and the cards below them. Null: they can be drawn as they will stay. */
const preloadParts = (
  rows: readonly TranscriptRow[],
  { questions, live, error }: TranscriptState,
): Promise<unknown> | null => {
  const parts = new Set([
    ...rows.map(partOf),
    ...questions.map(({ kind }) => (kind === 'approval' ? ApprovalCard : QuestionCard)),
    shownRetryOf(live) && RetryCard,
    error && ErrorCard,
  ])
  const loads = [...parts].flatMap(part => part?.preload() ?? [])
  return loads.length > 0 ? Promise.all(loads) : null
}

/** Whether what the chat was opened with can be drawn as it will stay. What comes later comes at the end. */
const useParts = (
  rows: ReadonlySignal<readonly TranscriptRow[]>,
  { chat, clock }: TranscriptProps,
): boolean => {
  const loading = useMemo(() => preloadParts(rows.peek(), chat.peek()), [])
  const isWhole = useSignal(loading === null)
  useEffect(() => {
    const show = () => {
      isWhole.value = true
    }
    // A failure is said in the place of the part.
    loading?.then(show, show)
    return loading ? clock.timer(PARTS_MS, show) : undefined
  }, [])
  return isWhole.value
}

export { warmUp } from '../../markdown/warm-up.ts'

export type TranscriptProps = {
  chat: Signal<TranscriptState>
  showThinking: boolean
  /** Groups of steps are open unless they were closed. */
  showSteps: boolean
  showUsage: boolean
  actions: TranscriptActions
  botName: string
  clock: ServerClock
}

/** Keyed by session: scroll position, expanded cards and row heights belong to one chat. */
export function Transcript(props: TranscriptProps) {
  const session = useMemo(() => computed(() => props.chat.value.sessionId), [props.chat])
  const id = session.value
  const { chat, showThinking, showSteps, showUsage, actions, botName, clock } = props
  // Memoized, so that a re-render of the page does not re-render the transcript for each token.
  return useMemo(
    () => <Conversation key={id} {...props} />,
    [id, chat, showThinking, showSteps, showUsage, actions, botName, clock],
  )
}

function Conversation(props: TranscriptProps) {
  const { chat, showThinking, showSteps } = props
  const model = useMemo(
    () => createModel(chat, showThinking, showSteps),
    [chat, showThinking, showSteps],
  )
  return useParts(model.rows, props) ? <Messages {...props} model={model} /> : <Loading />
}

type MessagesProps = TranscriptProps & { model: ReturnType<typeof createModel> }

function Messages({ chat, showUsage, actions, botName, clock, model }: MessagesProps) {
  const scope = useMemo<Scope & JumpScope>(
    () => ({ chat, ...model, actions, showUsage, botName, clock }),
    [chat, model, actions, showUsage, botName, clock],
  )
  const controller = useRef<ScrollController>(null)
  useJumps(scope, model.rows, controller)
  useOwnMessages(scope, controller)
  useEffect(() => void firstContent.then(preloadSteps), [])
  const stuck = useSignal<'idle' | 'loading' | 'failed'>('idle')
  const loadBefore = () => {
    const first = chat.peek().messages[0]?.id
    stuck.value = 'loading'
    actions.loadBefore().then(
      // Nothing new although more exists: retry by hand only, to avoid an endless loop.
      () => {
        stuck.value =
          chat.peek().messages[0]?.id === first && chat.peek().before > 0 ? 'failed' : 'idle'
      },
      () => {
        stuck.value = 'failed'
      },
    )
  }
  const onNearTop = () => {
    if (stuck.value === 'idle' && chat.peek().before > 0) loadBefore()
  }
  return (
    <TranscriptProvider value={scope}>
      <VirtualList
        // With its title, because two chats can be side by side.
        label={`${t('tx.region')}: ${chat.peek().title}`}
        rows={model.rows}
        running={model.running}
        onNearTop={onNearTop}
        controller={controller}
        head={
          <Head before={model.before} hasFailed={stuck.value === 'failed'} onAgain={loadBefore} />
        }
        tail={<Tail />}
      />
    </TranscriptProvider>
  )
}

/** Derived signals of the transcript. A token changes only `liveText`. */
const createModel = (chat: Signal<TranscriptState>, showThinking: boolean, showSteps: boolean) => {
  const live = computed(() => chat.value.live)
  const messages = computed(() => chat.value.messages)
  const finished = computed(() => chat.value.finished)
  const summaries = computed(() => chat.value.summaries)
  const turnUsage = computed(() => chat.value.turnUsage)
  const notices = computed(() => chat.value.notices)
  const expandedKeys = signal<ReadonlySet<string>>(new Set())
  const shapeKey = computed(() => {
    const turn = live.value
    if (!turn) return null
    const spoken = [turn.message_id, turn.text.trim() !== '', turn.reasoning !== '']
    const writing = [turn.writing?.index, turn.writing?.path]
    return [turn.stream_id, ...spoken, ...writing, ...turn.tools.map(tool => tool.tid)].join('\n')
  })
  const shape = computed((): LiveShape | null => {
    if (shapeKey.value === null) return null
    const turn = live.peek()!
    return {
      messageId: turn.message_id,
      hasText: turn.text.trim() !== '',
      hasReasoning: showThinking && turn.reasoning !== '',
      tools: turn.tools,
      writing: turn.writing,
    }
  })
  let previous: ReadonlyMap<string, TranscriptRow> = new Map()
  const rows = computed(() => {
    const input = {
      messages: messages.value,
      live: shape.value,
      finished: finished.value,
      summaries: summaries.value,
      turnUsage: turnUsage.value,
      notices: notices.value,
    }
    const all = expandedKeys.value
    const open = { has: (key: string) => all.has(key) !== showSteps }
    const fresh = toRows({ ...input, open, showThinking, showSteps })
    const list = reuseRows(previous, fresh)
    previous = new Map(list.map(row => [row.key, row]))
    return list
  })
  return {
    live,
    liveText: computed(() => live.value?.text ?? ''),
    liveReasoning: computed(() => live.value?.reasoning ?? ''),
    running: computed(() => live.value !== null),
    before: computed(() => chat.value.before),
    expandedKeys,
    isOpen: (key: string) => expandedKeys.peek().has(key) !== showSteps,
    rows,
    toggle(key: string) {
      const next = new Set(expandedKeys.peek())
      if (!next.delete(key)) next.add(key)
      expandedKeys.value = next
    },
  }
}

type HeadProps = { before: ReadonlySignal<number>; hasFailed: boolean; onAgain: () => void }

function Head({ before, hasFailed, onAgain }: HeadProps) {
  if (before.value === 0) return null
  return (
    <p class="tx-earlier">
      {t(hasFailed ? 'tx.earlier.failed' : 'tx.earlier')}
      {hasFailed && (
        <button type="button" class="tx-link" onClick={onAgain}>
          {t('list.retry')}
        </button>
      )}
    </p>
  )
}

/** Below the last row: pending questions, the wait before a retry, and an error without a message. */
function Tail() {
  const { chat, actions, clock } = useTranscript()
  const parts = useMemo(() => {
    const last = computed(() => chat.value.messages.at(-1))
    return {
      questions: computed(() => chat.value.questions),
      retry: computed(() => shownRetryOf(chat.value.live)),
      error: computed(() => (last.value?._error ? null : chat.value.error)),
      last,
    }
  }, [chat])
  const error = parts.error.value
  const retry = parts.retry.value
  const keyed = parts.questions.value.findIndex(question => question.kind === 'approval')
  return (
    <div class="tx-tail">
      {parts.questions.value.map((question, index) =>
        question.kind === 'approval' ? (
          <Asked key={question.approval_id}>
            <ApprovalCard
              approval={question}
              keys={index === keyed}
              clock={clock}
              onAnswer={(choice, rule) => actions.answer(question, choice, rule)}
            />
          </Asked>
        ) : (
          <Asked key={question.clarify_id}>
            <QuestionCard question={question} onAnswer={text => actions.answer(question, text)} />
          </Asked>
        ),
      )}
      {retry && (
        <RetryCard
          retry={retry}
          clock={clock}
          onRetryNow={actions.retryNow}
          onStop={actions.stop}
        />
      )}
      {error && (
        <ErrorCard
          error={error}
          onRetry={() => actions.retry(parts.last.peek()?.id ?? '')}
          onSwitchModel={actions.switchModel}
          onAddKey={actions.addKey}
          onCompact={actions.compact}
        />
      )}
    </div>
  )
}

/** An approval or a question on the spine. */
const Asked = ({ children }: { children: ComponentChildren }) => (
  <div class="tx-ask">
    <span class="node node-waiting" aria-hidden="true" />
    {children}
  </div>
)
