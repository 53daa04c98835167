/** The diff of a changed file with buttons to stage, unstage or discard a hunk or chosen lines of it. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { DiffLine, FileDiff } from '../../parts/diff.ts'
import { LineText, useHighlighted } from '../../parts/diff-view.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { hunksOf } from '../review/hunks.ts'
import type { Change, LoadedDiff } from '../workspace/git-changes.ts'
import { LoadedDiffView } from './loaded-diff.tsx'
import { useGitActions } from './git-context.ts'
import { t } from '../git/strings.ts'
import { may } from '../../parts/may.ts'

/** Numbers of the lines of each hunk: added and removed lines of the file from 0, as the server counts them; −1 for others. */
const lineNumbers = (diff: string): number[][] => {
  let count = 0
  return hunksOf(diff).map(({ file }) =>
    file.lines.map(({ kind }) => (kind === 'added' || kind === 'removed' ? count++ : -1)),
  )
}

const textOf = ({ parts }: DiffLine): string => parts.map(({ text }) => text).join('')

type LineProps = {
  line: DiffLine
  index: number
  isChosen: boolean
  toggle: (index: number) => void
}

const Line = ({ line, index, isChosen, toggle }: LineProps) => {
  const { kind, number, parts } = line
  return (
    <div class={`diff-${kind}`} data-n={kind === 'note' ? '' : number}>
      {index >= 0 && may('POST /api/git/stage') && (
        <input
          type="checkbox"
          class="stage-check"
          checked={isChosen}
          aria-label={t('git.line', { line: number, text: textOf(line).slice(0, 120) })}
          // A press on the line picks it for a comment.
          onClick={event => event.stopPropagation()}
          onChange={() => toggle(index)}
        />
      )}
      <LineText parts={parts} />
      {'\n'}
    </div>
  )
}

type LinesProps = { path: string; lines: readonly DiffLine[]; children: ComponentChildren }

const Lines = ({ path, lines, children }: LinesProps) => (
  <pre dir="ltr" ref={useHighlighted(path, lines)}>
    {children}
  </pre>
)

export const HunkDiff = ({ change, loaded }: { change: Change; loaded: LoadedDiff }) => {
  const actions = useGitActions()
  const numbers = useMemo(() => lineNumbers(loaded.diff), [loaded.diff])
  const chosen = useSignal<ReadonlySet<number>>(new Set())
  useEffect(() => {
    chosen.value = new Set()
  }, [loaded.id])
  const toggle = (index: number) => {
    const next = new Set(chosen.value)
    if (!next.delete(index)) next.add(index)
    chosen.value = next
  }
  const isStaged = change.kind === 'staged'
  const isBusy = actions.busy.value !== ''
  const slots = (at: number, { lines }: FileDiff) => {
    const all = (numbers[at] ?? []).filter(index => index >= 0)
    const isPart = all.some(index => chosen.value.has(index))
    const count = chosen.value.size
    const label = isPart
      ? t(isStaged ? 'git.lines.unstage' : 'git.lines.stage', { count })
      : t(isStaged ? 'git.hunk.unstage' : 'git.hunk.stage')
    const move = () => void actions.move(change, loaded, isPart ? [...chosen.value] : all)
    return {
      head: may('POST /api/git/stage') && (
        <>
          <button type="button" disabled={isBusy} onClick={move}>
            {label}
          </button>
          {!isStaged && (
            <button
              type="button"
              disabled={isBusy}
              onClick={() => void actions.discard(change, loaded, all)}
            >
              {t('git.hunk.discard')}
            </button>
          )}
        </>
      ),
      body: (
        <div class="diff">
          <ScrollBox class="diff-box" label={t('git.lines')}>
            <Lines path={change.path} lines={lines}>
              {lines.map((line, row) => {
                const index = numbers[at]?.[row] ?? -1
                return (
                  <Line
                    key={row}
                    line={line}
                    index={index}
                    isChosen={chosen.value.has(index)}
                    toggle={toggle}
                  />
                )
              })}
            </Lines>
          </ScrollBox>
        </div>
      ),
    }
  }
  return <LoadedDiffView path={change.path} loaded={loaded} slots={slots} />
}
