/** A plan that waits for approval, and the plan of an earlier call. */
import { APPROVE_PLAN, KEEP_PLANNING } from '../../../lib/base/plan-answers.ts'
import type { Clarify } from '../../../lib/schema/question.ts'
import { Markdown } from '../../markdown/markdown.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { AnswerNote } from './answer-note.tsx'
import { answerState, writeAnswer, writtenAnswer } from './answer.ts'
import { parseArgs } from '../tool-calls/describe-tool-call.ts'
import { t } from '../plan/strings.ts'

export const PlanText = ({ plan, id }: { plan: string; id: string }) => (
  <ScrollBox class="plan-text" label={t('plan.title')}>
    <Markdown text={plan} open={false} id={id} />
  </ScrollBox>
)

export type PlanCardProps = {
  question: Clarify
  onAnswer: (text: string) => void
}

export const PlanCard = ({ question, onAnswer }: PlanCardProps) => {
  const { isSent, isSettled, words } = answerState(question)
  const comment = writtenAnswer(question)
  return (
    <article class="ask" aria-label={t('plan.title')}>
      <h3 class="ask-title">
        <Icon name="checklist" /> {t('plan.title')}
      </h3>
      <p class="ask-why">{t('plan.text')}</p>
      <PlanText plan={question.question} id={question.clarify_id} />
      {!isSettled && (
        <form
          class="ask-form"
          onSubmit={event => {
            event.preventDefault()
            onAnswer(comment.trim() || KEEP_PLANNING)
          }}
        >
          <input
            class="ask-input"
            aria-label={t('plan.comment')}
            placeholder={t('plan.comment.hint')}
            value={comment}
            disabled={isSent}
            onInput={event => writeAnswer(question, event.currentTarget.value)}
          />
          <button type="submit" class="ask-button" disabled={isSent}>
            {t('plan.keep')}
          </button>
          <button
            type="button"
            class="ask-button ask-main"
            disabled={isSent || comment.trim() !== ''}
            onClick={() => onAnswer(APPROVE_PLAN)}
          >
            {t('plan.approve')}
          </button>
        </form>
      )}
      <AnswerNote words={words} />
    </article>
  )
}

/** The plan that a call presented. `argsText`: its arguments as JSON text. */
export const PresentedPlan = ({ id, argsText }: { id: string; argsText: string }) => {
  const { plan } = parseArgs(argsText)
  return typeof plan === 'string' ? <PlanText plan={plan} id={id} /> : null
}
