/** A question of the agent, to be answered outside its chat; for the inbox and the first page. */
import { whyAsked } from '../approvals/stake-strings.ts'
import type { Question } from '../../../lib/schema/question.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { useSessions, useShell } from '../../contexts.ts'
import { Button } from '../../parts/button.tsx'
import { may } from '../../parts/may.ts'
import { AnswerNote } from '../approvals/answer-note.tsx'
import { answerState, answerWithToast } from '../approvals/answer.ts'
import { Reply } from '../approvals/reply.tsx'
import { BidiSafeCode } from '../approvals/bidi-safe-code.tsx'
import { isAnswerable } from './answerable.ts'
import { t } from './strings.ts'

export type WaitingProps = {
  question: Question
  /** The name of its chat; by default that in the session list. */
  title?: string
  /** Offers a field for the answer to a question. */
  replies?: boolean
}

const LOOK = {
  choices: 'waiting-buttons',
  form: 'waiting-reply',
  input: 'input',
  button: 'button button-plain',
  main: 'button button-primary',
}

/** What is asked, and the buttons that answer it. `data-key`: the key that presses a button in the inbox. */
export const Waiting = ({ question, title, replies = false }: WaitingProps) => {
  const { api, route, toasts } = useShell()
  const sessions = useSessions()
  const session_id = question.session_id
  const { isSent, isSettled, words } = answerState(question)
  const answer = (text: string) => void answerWithToast({ api, toasts }, question, text)
  const isWhole = isAnswerable(question)
  const isHere = isWhole && !isSettled
  const takesReply =
    replies &&
    !isSettled &&
    question.kind === 'clarify' &&
    !question.plan &&
    may('POST /api/clarify/respond')
  return (
    <>
      <p class="waiting-in">{t('waiting.in', { title: title ?? sessions.titleOf(session_id) })}</p>
      {question.kind === 'approval' ? (
        <>
          <p dir="auto">{whyAsked(question)}</p>
          {isWhole && (
            <pre class="waiting-command" dir="ltr">
              <BidiSafeCode
                text={question.command}
                {...(question.marks && { marks: question.marks })}
              />
            </pre>
          )}
          {isWhole && question.cwd && <p>{t('waiting.where', { cwd: question.cwd })}</p>}
        </>
      ) : (
        <p class="waiting-question" dir="auto">
          {visibleText(question.question)}
        </p>
      )}
      {takesReply && (
        <Reply
          question={question}
          look={LOOK}
          label={t('waiting.reply')}
          hint={t('waiting.reply')}
          send={t('waiting.send')}
          keyName="r"
          onAnswer={answer}
        />
      )}
      <AnswerNote words={words} />
      <div class="waiting-buttons">
        {isHere && (
          <>
            <Button kind="primary" data-key="a" disabled={isSent} onClick={() => answer('once')}>
              {t('waiting.once')}
            </Button>
            <Button data-key="d" disabled={isSent} onClick={() => answer('deny')}>
              {t('waiting.deny')}
            </Button>
          </>
        )}
        <Button
          kind={isHere || takesReply ? 'quiet' : 'primary'}
          data-key="o"
          onClick={() => route.openSession(session_id)}
        >
          {t(question.kind === 'approval' || takesReply ? 'waiting.review' : 'waiting.answer')}
        </Button>
      </div>
    </>
  )
}
