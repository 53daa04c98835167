/** Question card: the agent's choices as buttons, and a field for another answer. */
import type { Clarify } from '../../../lib/schema/question.ts'
import { t } from './strings.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { Icon } from '../../parts/icon.tsx'
import { may } from '../../parts/may.ts'
import { PlanCard, PlanText } from './plan-card.tsx'
import { AnswerNote } from './answer-note.tsx'
import { answerState } from './answer.ts'
import { Reply } from './reply.tsx'

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

const LOOK = {
  choices: 'ask-choices',
  form: 'ask-form',
  input: 'ask-input',
  button: 'ask-button',
  main: 'ask-button ask-main',
}

function OpenQuestion({ question, onAnswer }: QuestionCardProps) {
  const { isSettled, words } = answerState(question)
  return (
    <article class="ask" aria-label={t('ask.question')}>
      <h3 class="ask-title">
        <Icon name="question" /> {t('ask.question')}
      </h3>
      <p class="ask-why ask-question">{visibleText(question.question)}</p>
      {!isSettled && (
        <Reply
          question={question}
          look={LOOK}
          label={t('ask.answer')}
          hint={t('ask.answer.hint')}
          send={t('ask.answer.send')}
          onAnswer={onAnswer}
        />
      )}
      <AnswerNote words={words} />
    </article>
  )
}
