/** The diff of a changed file with buttons to stage, unstage or discard a hunk, and a mode in which single lines are chosen. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { DiffLine, FileDiff } from '../../parts/diff.ts'
import { LineText, useHighlighted } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { hunksOf } from '../review/hunks.ts'
import type { GitChange, LoadedDiff } from '../workspace/git-changes.ts'
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
  /** Null: lines are not being chosen. */
  isChosen: boolean | null
  toggle: (index: number) => void
}

/** While lines are chosen every line leaves the same room for a check box, so that the code stays in one column. */
const Line = ({ line, index, isChosen, toggle }: LineProps) => {
  const { kind, number, parts } = line
  const canChoose = isChosen !== null && index >= 0
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the check box does the same
    // biome-ignore lint/a11y/useKeyWithClickEvents: the check box does the same
    <div
      class={`diff-${kind}`}
      data-n={kind === 'note' ? '' : number}
      onClick={event => {
        if (isChosen === null) return
        // A press on the line would pick it for a comment.
        event.stopPropagation()
        if (canChoose && !(event.target as Element).closest('input, a')) toggle(index)
      }}
    >
      {canChoose && (
        <input
          type="checkbox"
          class="stage-check"
          checked={isChosen}
          aria-label={t('git.line', { line: number, text: textOf(line).slice(0, 120) })}
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

export const HunkDiff = ({ change, diff }: { change: GitChange; diff: LoadedDiff }) => {
  const actions = useGitActions()
  const numbers = useMemo(() => lineNumbers(diff.diff), [diff.diff])
  const selection = useSignal<ReadonlySet<number>>(new Set())
  const isChoosing = useSignal(false)
  useEffect(() => {
    selection.value = new Set()
  }, [diff.id])
  const toggle = (index: number) => {
    const next = new Set(selection.value)
    if (!next.delete(index)) next.add(index)
    selection.value = next
  }
  const isStaged = change.kind === 'staged'
  const isBusy = actions.busy.value !== ''
  const slots = (at: number, { lines }: FileDiff) => {
    const all = (numbers[at] ?? []).filter(index => index >= 0)
    const isPart = all.some(index => selection.value.has(index))
    const count = selection.value.size
    const label = isPart
      ? t(isStaged ? 'git.lines.unstage' : 'git.lines.stage', { count })
      : t(isStaged ? 'git.hunk.unstage' : 'git.hunk.stage')
    const move = () => void actions.move(change, diff, isPart ? [...selection.value] : all)
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
              onClick={() => void actions.discard(change, diff, all)}
            >
              {t('git.hunk.discard')}
            </button>
          )}
        </>
      ),
      body: (
        <div class={isChoosing.value ? 'diff stage-lines' : 'diff'}>
          <ScrollBox class="diff-box" label={t('git.lines')}>
            <Lines path={change.path} lines={lines}>
              {lines.map((line, row) => {
                const index = numbers[at]?.[row] ?? -1
                return (
                  <Line
                    key={row}
                    line={line}
                    index={index}
                    isChosen={isChoosing.value ? selection.value.has(index) : null}
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
  const tool = may('POST /api/git/stage') && (
    <button
      type="button"
      class="change-tool"
      aria-pressed={isChoosing.value}
      onClick={() => {
        isChoosing.value = !isChoosing.value
        selection.value = new Set()
      }}
    >
      <Icon name="checklist" size={14} />
      {t(isChoosing.value ? 'git.choose.end' : 'git.choose')}
    </button>
  )
  return <LoadedDiffView path={change.path} diff={diff} slots={slots} tool={tool} />
}
