/** Comments that the next message will contain, above the text of the composer. */
import { visibleName, visibleWords } from '../../../lib/base/visible.ts'
import { useComposer } from '../../contexts.ts'
import { IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { nameOf } from '../workspace/file-kind.ts'
import { linesText, t } from './strings.ts'

export function CommentChips() {
  const { composer } = useComposer()
  const comments = composer.comments.value
  if (comments.length === 0) return null
  return (
    <ul class="review-chips" aria-label={t('chips', { count: comments.length })}>
      {comments.map((comment, index) => {
        const place = `${visibleName(nameOf(comment.path))}, ${linesText(comment).toLowerCase()}`
        return (
          <li key={index} class="review-chip" title={comment.quote}>
            <Icon name="diff" size={14} />
            <span class="review-place">{place}</span>
            <span class="review-said">{visibleWords(comment.text)}</span>
            <IconButton
              icon="close"
              size={14}
              label={t('remove', { place })}
              onClick={() => composer.removeComment(comment)}
            />
          </li>
        )
      })}
    </ul>
  )
}
