/** The comments on diffs in a message of the user. */
import type { DiffComment } from '../../../lib/base/comment-text.ts'
import { visibleName, visibleText, visibleWords } from '../../../lib/base/visible.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { linesText, t } from './strings.ts'

const KINDS: Readonly<Record<string, string>> = { '+': 'diff-added', '-': 'diff-removed' }

type Props = {
  comments: readonly DiffComment[]
  openFile: ((path: string, line?: number) => void) | undefined
}

export function SentComments({ comments, openFile }: Props) {
  return (
    <ul class="review-sent" aria-label={t('sent')}>
      {comments.map((comment, index) => {
        const { path, quote, text, removed, from } = comment
        const lines = linesText(comment).toLowerCase()
        const place = `${visibleName(path)}, ${lines}`
        return (
          <li key={index}>
            <p class="review-where">
              {openFile ? (
                <button
                  type="button"
                  class="tx-link"
                  aria-label={t('open', { place })}
                  onClick={() => openFile(path, removed ? undefined : from)}
                >
                  {visibleName(path)}
                </button>
              ) : (
                visibleName(path)
              )}{' '}
              <span>{lines}</span>
            </p>
            <ScrollBox class="review-quote" label={place}>
              <pre dir="ltr">
                {quote.split('\n').map((line, at) => (
                  <div key={at} class={KINDS[line[0] ?? '']}>
                    {visibleText(line.slice(1))}
                    {'\n'}
                  </div>
                ))}
              </pre>
            </ScrollBox>
            <p class="review-text" dir="auto">
              {visibleWords(text)}
            </p>
          </li>
        )
      })}
    </ul>
  )
}
