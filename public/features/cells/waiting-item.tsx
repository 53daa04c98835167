/** An approval or a question of a cell, to be answered in the list. */
import { visibleText } from '../../../lib/base/visible.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Route } from '../../parts/may.ts'
import { AnswerNote } from '../approvals/answer-note.tsx'
import { answerState } from '../approvals/answer.ts'
import { Reply } from '../approvals/reply.tsx'
import { BidiSafeCode } from '../approvals/bidi-safe-code.tsx'
import { whyAsked } from '../approvals/stake-strings.ts'
import { isAnswerable } from '../inbox/answerable.ts'
import { t as shared } from '../inbox/strings.ts'

/** All of it is on the page, above the buttons. */
const MAX_CHARS = 4_000

const LOOK = { choices: 'buttons', form: 'buttons', input: '', button: '', main: 'main' }

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
  const isDecided =
    !isSettled && isAnswerable(question, { allows, maxChars: MAX_CHARS, showsChange: true })
  const isDenied =
    !isSettled && question.kind === 'approval' && allows('POST /api/approval/respond')
  const mayReply = !isSettled && question.kind === 'clarify' && allows('POST /api/clarify/respond')
  /** Read and answered in its chat. */
  const isPlan = mayReply && question.plan === true
  return (
    <>
      <Asked question={question} />
      {mayReply && !isPlan && (
        <Reply
          question={question}
          look={LOOK}
          label={shared('waiting.reply')}
          hint={shared('waiting.reply')}
          send={shared('waiting.send')}
          onAnswer={onAnswer}
        />
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
