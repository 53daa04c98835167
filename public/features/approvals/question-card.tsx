/** Question card: the agent's choices as buttons, and a field for another answer. */
import type { Clarify } from '../../../lib/schema/question.ts'
import { t } from './strings.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { PlanCard, PlanText } from './plan-card.tsx'
import { AnswerNote } from './answer-note.tsx'
import { answerState, writeAnswer, writtenAnswer } from './answer.ts'

export type QuestionCardProps = {
  question: Clarify
  onAnswer: (text: string) => void
}

export const QuestionCard = (props: QuestionCardProps) =>
  !may('POST /api/clarify/respond') ? (
    <ReadOnlyQuestion {...props} />
  ) : props.question.plan ? (
    <PlanCard {...props} />
  ) : (
    <OpenQuestion {...props} />
  )

/** For a viewer, who can only read what is asked. */
function ReadOnlyQuestion({ question }: Pick<QuestionCardProps, 'question'>) {
  return (
    <article class="ask" aria-label={t('ask.question')}>
      <h3 class="ask-title">
        <Icon name="question" /> {t('ask.question')}
      </h3>
      {question.plan ? (
        <PlanText plan={question.question} id={question.clarify_id} />
      ) : (
        <p class="ask-why ask-question">{visibleText(question.question)}</p>
      )}
      <p class="ask-covers">{t('ask.member')}</p>
    </article>
  )
}

function OpenQuestion({ question, onAnswer }: QuestionCardProps) {
  const { isSent: sent, isSettled, words } = answerState(question)
  const text = writtenAnswer(question)
  const answer = (given: string) => {
    if (given.trim()) onAnswer(given.trim())
  }
  const submit = (event: Event) => {
    event.preventDefault()
    answer(text)
  }
  return (
    <article class="ask" aria-label={t('ask.question')}>
      <h3 class="ask-title">
        <Icon name="question" /> {t('ask.question')}
      </h3>
      <p class="ask-why ask-question">{visibleText(question.question)}</p>
      {!isSettled && question.choices_offered.length > 0 && (
        <div class="ask-choices">
          {question.choices_offered.map(choice => (
            <button
              key={choice}
              type="button"
              class="ask-button"
              disabled={sent}
              onClick={() => answer(choice)}
            >
              {visibleText(choice)}
            </button>
          ))}
        </div>
      )}
      {!isSettled && (
        <form class="ask-form" onSubmit={submit}>
          <input
            class="ask-input"
            aria-label={t('ask.answer')}
            placeholder={
              question.choices_offered.length > 0 ? t('ask.answer.hint') : t('ask.answer')
            }
            value={text}
            disabled={sent}
            onInput={event => writeAnswer(question, event.currentTarget.value)}
          />
          <button type="submit" class="ask-button ask-main" disabled={sent || !text.trim()}>
            {t('ask.answer.send')}
          </button>
        </form>
      )}
      <AnswerNote words={words} />
    </article>
  )
}
