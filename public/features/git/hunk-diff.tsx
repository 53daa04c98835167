/** The diff of a changed file with buttons to stage, unstage or discard a hunk or chosen lines of it. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { visibleText } from '../../../lib/base/visible.ts'
import { Button } from '../../parts/button.tsx'
import { type DiffLine, type FileDiff, parseDiff } from '../../parts/diff.ts'
import { DiffCounts } from '../../parts/diff-view.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { Change, LoadedDiff } from '../workspace/git-changes.ts'
import { useGitActions } from './context.ts'
import { t } from './strings.ts'

/** `index` counts added and removed lines of the file from 0, as the server does. */
type NumberedLine = DiffLine & { index: number }
export type Hunk = { lines: NumberedLine[] }

export const hunksOf = ({ lines }: FileDiff): Hunk[] => {
  const hunks: Hunk[] = []
  let count = 0
  for (const line of lines) {
    if (line.kind === 'gap' || hunks.length === 0) hunks.push({ lines: [] })
    if (line.kind === 'gap') continue
    const index = line.kind === 'same' ? -1 : count++
    hunks.at(-1)!.lines.push({ ...line, index })
  }
  return hunks.filter(hunk => hunk.lines.length > 0)
}

const changedIn = ({ lines }: Hunk): number[] =>
  lines.flatMap(({ index }) => (index < 0 ? [] : [index]))

const textOf = ({ parts }: DiffLine): string => parts.map(({ text }) => text).join('')

type LineProps = { line: NumberedLine; isChosen: boolean; toggle: (index: number) => void }

const Line = ({ line, isChosen, toggle }: LineProps) => {
  const { kind, number, parts, index } = line
  const words = parts.map((part, at) => {
    const text = visibleText(part.text)
    return part.changed ? <mark key={at}>{text}</mark> : text
  })
  if (index < 0)
    return (
      <div class={`diff-${kind}`} data-n={number}>
        {words}
        {'\n'}
      </div>
    )
  return (
    <div class={`diff-${kind} hunk-line`} data-n={number}>
      <input
        type="checkbox"
        class="hunk-check"
        checked={isChosen}
        aria-label={t('git.line', { line: number, text: textOf(line).slice(0, 120) })}
        onChange={() => toggle(index)}
      />
      {words}
      {'\n'}
    </div>
  )
}

export const HunkDiff = ({ change, loaded }: { change: Change; loaded: LoadedDiff }) => {
  const actions = useGitActions()
  const file = useMemo(() => parseDiff(loaded.diff)[0], [loaded.diff])
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  useEffect(() => setChosen(new Set()), [loaded.id])
  if (!file) return null
  const toggle = (index: number) => {
    const next = new Set(chosen)
    if (!next.delete(index)) next.add(index)
    setChosen(next)
  }
  const isStaged = change.kind === 'staged'
  const isBusy = actions.busy.value !== ''
  const count = chosen.size
  return (
    <>
      <p class="change-counts">
        <DiffCounts added={file.added} removed={file.removed} />
      </p>
      {hunksOf(file).map((hunk, at) => (
        <section key={at} class="hunk">
          <div class="hunk-bar">
            {count > 0 && changedIn(hunk).some(index => chosen.has(index)) ? (
              <Button
                kind="quiet"
                disabled={isBusy}
                onClick={() => void actions.move(change, loaded, [...chosen])}
              >
                {t(isStaged ? 'git.lines.unstage' : 'git.lines.stage', { count })}
              </Button>
            ) : (
              <Button
                kind="quiet"
                disabled={isBusy}
                onClick={() => void actions.move(change, loaded, changedIn(hunk))}
              >
                {t(isStaged ? 'git.hunk.unstage' : 'git.hunk.stage')}
              </Button>
            )}
            {!isStaged && (
              <Button
                kind="quiet"
                disabled={isBusy}
                onClick={() => void actions.discard(change, loaded, changedIn(hunk))}
              >
                {t('git.hunk.discard')}
              </Button>
            )}
          </div>
          <div class="diff">
            <ScrollBox class="diff-box" label={t('git.lines')}>
              <pre dir="ltr">
                {hunk.lines.map((line, index) => (
                  <Line key={index} line={line} isChosen={chosen.has(line.index)} toggle={toggle} />
                ))}
              </pre>
            </ScrollBox>
          </div>
        </section>
      ))}
    </>
  )
}
