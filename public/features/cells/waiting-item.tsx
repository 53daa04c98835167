/** An approval or a question of a cell, to be answered in the list. */
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Route } from '../../parts/may.ts'
import { AnswerNote } from '../approvals/answer-note.tsx'
import { answerState, writeAnswer, writtenAnswer } from '../approvals/answer.ts'
import { BidiSafeCode } from '../approvals/bidi-safe-code.tsx'
import { whyAsked } from '../approvals/stake-strings.ts'
import { isAnswerable } from '../inbox/answerable.ts'
import { t as shared } from '../inbox/strings.ts'

/** All of it is on the page, above the buttons. */
const MAX_CHARS = 4_000

export type WaitingItemProps = {
  question: Question
  /** Of its chat. */
  href: string
  allows: (route: Route) => boolean
  onAnswer: (answer: string) => void
}

const Asked = ({ question }: { question: Question }) =>
  question.kind === 'clarify' ? (
    <p class="asked" dir="auto">
      {visibleText(question.question)}
    </p>
  ) : (
    <>
      <p class="why" dir="auto">
        {whyAsked(question)}
      </p>
      <pre class="command" dir="ltr">
        <BidiSafeCode text={question.command} {...(question.marks && { marks: question.marks })} />
      </pre>
      {question.diff && (
        <pre class="command" dir="ltr">
          <BidiSafeCode text={question.diff} />
        </pre>
      )}
      {question.cwd && <p class="note">{shared('waiting.where', { cwd: question.cwd })}</p>}
    </>
  )

export const WaitingItem = (props: WaitingItemProps) => {
  const { question, href, allows, onAnswer } = props
  const { isSent, isSettled, words } = answerState(question)
  const text = writtenAnswer(question)
  const isDecided =
    !isSettled && isAnswerable(question, { allows, maxChars: MAX_CHARS, showsChange: true })
  const isDenied =
    !isSettled && question.kind === 'approval' && allows('POST /api/approval/respond')
  const mayReply = !isSettled && question.kind === 'clarify' && allows('POST /api/clarify/respond')
  /** Read and answered in its chat. */
  const isPlan = mayReply && question.plan === true
  const isReplied = mayReply && !isPlan
  const answer = (given: string): void => {
    if (given.trim()) onAnswer(given.trim())
  }
  return (
    <>
      <Asked question={question} />
      {isReplied && question.choices_offered.length > 0 && (
        <div class="buttons">
          {question.choices_offered.map(choice => (
            <button key={choice} type="button" disabled={isSent} onClick={() => answer(choice)}>
              {visibleName(choice)}
            </button>
          ))}
        </div>
      )}
      {isReplied && (
        <form
          class="buttons"
          onSubmit={event => {
            event.preventDefault()
            answer(text)
          }}
        >
          <input
            aria-label={shared('waiting.reply')}
            placeholder={shared('waiting.reply')}
            value={text}
            disabled={isSent}
            onInput={event => {
              writeAnswer(question, event.currentTarget.value)
            }}
          />
          <button type="submit" class="main" disabled={isSent || !text.trim()}>
            {shared('waiting.send')}
          </button>
        </form>
      )}
      <AnswerNote words={words} />
      <div class="buttons">
        {isDecided && (
          <button type="button" class="main" disabled={isSent} onClick={() => onAnswer('once')}>
            {shared('waiting.once')}
          </button>
        )}
        {isDenied && (
          <button type="button" disabled={isSent} onClick={() => onAnswer('deny')}>
            {shared('waiting.deny')}
          </button>
        )}
        <a class="open" href={href}>
          {shared(isPlan ? 'waiting.answer' : 'waiting.review')}
        </a>
      </div>
    </>
  )
}
