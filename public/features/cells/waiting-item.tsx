/** An approval or a question of a cell, to be answered in the list. */
import { useSignal } from '@preact/signals'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import type { Question } from '../../../lib/schema/question.ts'
import type { Route } from '../../parts/may.ts'
import { BidiSafeCode } from '../approvals/bidi-safe-code.tsx'
import { translateStakes } from '../approvals/stake-strings.ts'
import { isAnswerable } from '../home/answerable.ts'
import { t as shared } from '../inbox/strings.ts'
import type { Answered } from './cells-state.ts'

/** All of it is on the page, above the buttons. */
const MAX_CHARS = 4_000

export type WaitingItemProps = {
  question: Question
  /** Of its chat. */
  href: string
  allows: (route: Route) => boolean
  decide: (choice: 'once' | 'deny') => Promise<Answered>
  reply: (text: string) => Promise<Answered>
  /** What became of an answer that did not count; also of one that failed. */
  onLate: (result: Answered | Error) => void
}

const Asked = ({ question }: { question: Question }) =>
  question.kind === 'clarify' ? (
    <p class="asked" dir="auto">
      {visibleText(question.question)}
    </p>
  ) : (
    <>
      <p class="why" dir="auto">
        {translateStakes(visibleText(question.description))}
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
  const { question, href, allows, decide, reply, onLate } = props
  const isSent = useSignal(false)
  const text = useSignal('')
  const send = async (request: () => Promise<Answered>): Promise<void> => {
    if (isSent.value) return
    isSent.value = true
    try {
      const result = await request()
      if (!result.accepted) onLate(result)
    } catch (error) {
      onLate(error instanceof Error ? error : new Error(String(error)))
    }
    isSent.value = false
  }
  const isDecided = isAnswerable(question, { allows, maxChars: MAX_CHARS, showsChange: true })
  const isDenied = question.kind === 'approval' && allows('POST /api/approval/respond')
  const mayReply = question.kind === 'clarify' && allows('POST /api/clarify/respond')
  /** Read and answered in its chat. */
  const isPlan = mayReply && question.plan === true
  const isReplied = mayReply && !isPlan
  const answer = (given: string): void => {
    if (given.trim()) void send(() => reply(given.trim()))
  }
  return (
    <>
      <Asked question={question} />
      {isReplied && question.choices_offered.length > 0 && (
        <div class="buttons">
          {question.choices_offered.map(choice => (
            <button
              key={choice}
              type="button"
              disabled={isSent.value}
              onClick={() => answer(choice)}
            >
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
            answer(text.value)
          }}
        >
          <input
            aria-label={shared('waiting.reply')}
            placeholder={shared('waiting.reply')}
            value={text.value}
            disabled={isSent.value}
            onInput={event => {
              text.value = event.currentTarget.value
            }}
          />
          <button type="submit" class="main" disabled={isSent.value || !text.value.trim()}>
            {shared('waiting.send')}
          </button>
        </form>
      )}
      <div class="buttons">
        {isDecided && (
          <button
            type="button"
            class="main"
            disabled={isSent.value}
            onClick={() => void send(() => decide('once'))}
          >
            {shared('waiting.once')}
          </button>
        )}
        {isDenied && (
          <button
            type="button"
            disabled={isSent.value}
            onClick={() => void send(() => decide('deny'))}
          >
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
