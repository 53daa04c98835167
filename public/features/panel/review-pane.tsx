/** One file of the list of changes beside it: its diff, the way to its neighbors, and the comments that the next message has. */
import { useEffect, useRef } from 'preact/hooks'
import { visibleName } from '../../../lib/base/visible.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { directoryOf, fileName } from '../../parts/file-kind.ts'
import { t } from '../workspace/strings.ts'
import { useComposer, usePanel, useShell } from '../../contexts.ts'
import { ChangeActions, ChangeDiff } from './change.tsx'
import { useWorkspacePanel } from './context.ts'
import type { Review, ReviewItem } from './review.ts'
import { TurnFileDiff } from './turn-changes-view.tsx'

/** Comments are written here and sent with a message, whose field the sheet covers. */
const Comments = () => {
  const panel = usePanel()
  const { layout } = useShell()
  const { draft } = useComposer()
  const count = draft.comments.value.length
  if (count === 0) return null
  return (
    <footer class="review-foot">
      <span>{t('review.comments', { count })}</span>
      <Button
        kind="primary"
        onClick={() => {
          panel.full.value = false
          if (panel.overlay.value) panel.hide()
          layout.composerFocus.value += 1
        }}
      >
        {t('review.write')}
      </Button>
    </footer>
  )
}

const Head = ({ item }: { item: ReviewItem }) => {
  const { review } = useWorkspacePanel()
  const items = review.items.value
  const at = items.findIndex(({ key }) => key === item.key)
  const { path } = item
  return (
    <header class="review-head">
      <h3 class="preview-name" title={visibleName(path)}>
        <bdi class="preview-base">{visibleName(fileName(path))}</bdi>
        <span class="preview-dir">{visibleName(directoryOf(path))}</span>
      </h3>
      <span class="review-at">{t('review.at', { n: at + 1, total: items.length })}</span>
      <IconButton
        icon="chevron-up"
        size={16}
        label={t('review.previous')}
        keys="P"
        onClick={() => review.step(-1)}
      />
      <IconButton
        icon="chevron-down"
        size={16}
        label={t('review.next')}
        keys="N"
        onClick={() => review.step(1)}
      />
      {'change' in item && <ChangeActions change={item.change} />}
    </header>
  )
}

/** N and P, wherever the focus is, except where they are typed. */
const useKeys = (review: Review) => {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, defaultPrevented, target } = event
      const by = { n: 1, p: -1 }[key] as 1 | -1 | undefined
      const isTyped = (target as Element).closest(
        'input, textarea, select, dialog, .dock, .sidebar',
      )
      if (!by || isTyped || ctrlKey || metaKey || altKey || defaultPrevented) return
      event.preventDefault()
      review.step(by)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [review])
}

export const ReviewPane = () => {
  const { review } = useWorkspacePanel()
  useKeys(review)
  const body = useRef<HTMLDivElement>(null)
  const item = review.current.value
  useEffect(() => {
    review.load()
    if (body.current) body.current.scrollTop = 0
  }, [item?.key])
  return (
    <section class="review-pane" aria-label={item ? visibleName(item.path) : t('git.clean')}>
      {item ? (
        <>
          <Head item={item} />
          <div class="review-body" ref={body} key={item.key}>
            {'change' in item ? (
              <ChangeDiff change={item.change} />
            ) : (
              <TurnFileDiff turn={item.turn} file={item.file} />
            )}
          </div>
        </>
      ) : (
        <div class="panel-blank">
          <h3>{t('git.clean')}</h3>
        </div>
      )}
      <Comments />
    </section>
  )
}
