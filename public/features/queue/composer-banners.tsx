/** Banners above the composer: side question, queued messages, auto-approve. */
import { usePart } from '../../parts/use-part.ts'
import type { Queued } from '../../../lib/schema/queue.ts'
import { splitComments } from '../../../lib/base/comment-text.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { withoutFiles } from '../messages/message-text.ts'
import type { AsideEvent } from '../messages/chat-reducer.ts'
import { steeringActions } from './actions.ts'
import { t } from './strings.ts'
import { OutboxList } from './outbox-list.tsx'
import { PlanLine } from '../plan/plan-line.tsx'
import { useApp } from '../shell/context.ts'
import { useChat, useSessions } from '../../contexts.ts'

export const ComposerBanners = () => {
  const { transcript: chat, queue } = useChat()
  const sessions = useSessions()
  const id = chat.sessionId.value
  const queued = usePart(chat.chat, ({ queued }) => queued)
  const aside = usePart(chat.chat, ({ aside }) => aside)
  const isOpen = aside?.stream_id === queue.aside.value
  return (
    <div class="beside">
      {aside && isOpen && <AsideCard aside={aside} />}
      <PlanLine />
      {sessions.row(id)?.yolo === true && <YoloLine id={id} />}
      <OutboxList />
      {queued[0] && <PausedLine id={id} first={queued[0]} />}
      {queued.length > 0 && <QueueList id={id} list={queued} />}
    </div>
  )
}

const YoloLine = ({ id }: { id: string }) => {
  const app = useApp()
  return (
    <p class="beside-line beside-warn" role="status">
      <Icon name="shield" size={14} />
      <span>{t('yolo.on')}</span>
      <button
        type="button"
        class="tx-link"
        onClick={() => void app.shell.attempt(() => steeringActions.setYolo(app, id, false))}
      >
        {t('yolo.off')}
      </button>
    </p>
  )
}

type ItemProps = { id: string; item: Queued; index: number; list: readonly Queued[] }

/** After a turn that did not end well the queue waits for the person. */
const PausedLine = ({ id, first }: { id: string; first: Queued }) => {
  const app = useApp()
  const isBusy = app.chat.transcript.busy.value
  const lastTurn = app.sessions.row(id)?.last_turn
  if (isBusy || !lastTurn || lastTurn === 'done') return null
  return (
    <p class="beside-line" role="status">
      <span>{t('queue.paused')}</span>
      <button
        type="button"
        class="tx-link"
        onClick={() => void app.shell.attempt(() => steeringActions.sendQueued(app, id, first.id))}
      >
        {t('queue.resume')}
      </button>
    </p>
  )
}

const QueueList = ({ id, list }: { id: string; list: readonly Queued[] }) => (
  <ul class="queue" aria-label={t('queue.label', { count: list.length })}>
    {list.map((item, index) => (
      <Item key={item.id} id={id} item={item} index={index} list={list} />
    ))}
  </ul>
)

const Item = ({ id, item, index, list }: ItemProps) => {
  const app = useApp()
  const busy = app.chat.transcript.busy.value
  const isRead = busy && item.steer
  const { text, comments } = splitComments(withoutFiles(item.text))
  const act = (verb: () => Promise<unknown>) => () => void app.shell.attempt(verb)
  return (
    <li class="queued">
      <Icon name={isRead ? 'chevron-right' : 'clock'} size={14} />
      <span class="queued-text">
        {isRead && <span class="queued-mark">{t('queue.steering')}</span>}
        {text}
        {comments.length > 0 && (
          <span class="queued-mark">{t('queue.comments', { count: comments.length })}</span>
        )}
      </span>
      {busy && !item.steer && (
        <IconButton
          icon="chevron-right"
          size={14}
          label={t('queue.steer')}
          onClick={act(() => steeringActions.steerQueued(app, id, item.id))}
        />
      )}
      {!busy && (
        <IconButton
          icon="send"
          size={14}
          label={t('queue.send')}
          onClick={act(() => steeringActions.sendQueued(app, id, item.id))}
        />
      )}
      {index > 0 && !list[index - 1]?.steer && (
        <IconButton
          icon="chevron-up"
          size={14}
          label={t('queue.up')}
          onClick={act(() =>
            steeringActions.moveUp(
              app,
              id,
              list.map(one => one.id),
              index,
            ),
          )}
        />
      )}
      <IconButton
        icon="edit"
        size={14}
        label={t('queue.edit')}
        onClick={act(() => steeringActions.editQueued(app, id, item.id))}
      />
      <IconButton
        icon="close"
        size={14}
        label={t('queue.remove')}
        onClick={act(() => steeringActions.removeQueued(app, id, item.id))}
      />
    </li>
  )
}

/** Closing the card stops the question. */
const AsideCard = ({ aside }: { aside: AsideEvent }) => {
  const app = useApp()
  const { stream_id: stream, status, text, error } = aside
  const isRunning = status === 'running'
  const close = () => {
    app.chat.queue.aside.value = ''
    if (isRunning) void app.shell.attempt(() => steeringActions.stopAside(app, stream))
  }
  return (
    <section class="aside-card" aria-label={t('aside.label')}>
      <header class="aside-head">
        <Icon name={isRunning ? 'spinner' : 'question'} size={14} />
        <span class="aside-question">{aside.question}</span>
        <IconButton icon="close" size={14} label={t('aside.close')} onClick={close} />
      </header>
      <div class="aside-answer" aria-live="polite">
        {error ? (
          <p class="tool-error">{error}</p>
        ) : text ? (
          <Markdown text={text} open={isRunning} id={stream} />
        ) : (
          <p class="tool-note">{t(isRunning ? 'aside.waiting' : 'aside.stopped')}</p>
        )}
      </div>
      <p class="aside-note">{t('aside.note')}</p>
    </section>
  )
}
