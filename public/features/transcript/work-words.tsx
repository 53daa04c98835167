/** The words of a group of steps: loaded before the steps themselves, with the first chat that has some. */
import { Fragment } from 'preact'
import { useMemo } from 'preact/hooks'
import { DiffCounts } from '../../parts/diff-counts.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../tool-calls/step-strings.ts'
import type { Step } from './rows.ts'
import { type Clause, type SaidObject, sayWork } from './say-steps.ts'

/** What a group of steps did. */
export function WorkWords({ steps }: { steps: readonly Step[] }) {
  const clauses = useMemo(() => sayWork(steps), [steps])
  return (
    <>
      {clauses.map((clause, at) => (
        <Said key={at} clause={clause} isFirst={at === 0} />
      ))}
    </>
  )
}

const Said = ({ clause, isFirst }: { clause: Clause; isFirst: boolean }) => (
  <span class="said-clause">
    {!isFirst && <span class="said-dot">{' · '}</span>}
    {clause.before}
    {clause.objects.map((object, at) => (
      <Fragment key={object.title}>
        {at > 0 && (clause.objects[at - 1]!.mark ? ' · ' : ', ')}
        <SaidThing object={object} />
      </Fragment>
    ))}
    {clause.more > 0 && ` +${clause.more}`}
    {clause.after}
  </span>
)

/** An object with what came of it. A result that is as expected is not spoken. */
function SaidThing({ object }: { object: SaidObject }) {
  const { text, title, isCode, quotes, note, edit, mark, exitCode } = object
  return (
    <>
      {quotes[0]}
      {text &&
        (isCode ? (
          <code title={title}>{text}</code>
        ) : (
          <b title={title} dir="auto">
            {text}
          </b>
        ))}
      {quotes[1]}
      {edit && edit.added + edit.removed > 0 && (
        <>
          {' '}
          <DiffCounts {...edit} />
        </>
      )}
      {mark && (
        <span class={`said-mark said-mark-${mark}`}>
          {'\u00a0'}
          <Icon name={mark === 'ok' ? 'check' : 'close'} size={12} />
          {exitCode !== null && <span aria-hidden="true">{exitCode}</span>}
          {mark === 'failed' && (
            <span class="tx-sr">
              {exitCode === null ? t('tool.failed') : t('tool.exit', { code: `${exitCode}` })}
            </span>
          )}
        </span>
      )}
      {note && <span class="said-note"> ({note})</span>}
    </>
  )
}
