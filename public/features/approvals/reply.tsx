/** The answer to a question of the agent, wherever it is shown: its choices as buttons, and a field for another one. */
import { visibleText } from '../../../lib/base/visible.ts'
import type { Clarify } from '../../../lib/schema/question.ts'
import { answerState, writeAnswer, writtenAnswer } from './answer.ts'

/** Class names of the place. */
export type ReplyLook = {
  choices: string
  form: string
  input: string
  button: string
  main: string
}

export type ReplyProps = {
  question: Clarify
  look: ReplyLook
  label: string
  /** In the field beside choices. */
  hint: string
  send: string
  /** The key that leads to the field in the inbox. */
  keyName?: string
  onAnswer: (text: string) => void
}

export const Reply = ({ question, look, label, hint, send, keyName, onAnswer }: ReplyProps) => {
  const { isSent } = answerState(question)
  const { choices_offered: choices } = question
  const text = writtenAnswer(question)
  const answer = (reply: string) => {
    if (reply.trim()) onAnswer(reply.trim())
  }
  return (
    <>
      {choices.length > 0 && (
        <div class={look.choices}>
          {choices.map(choice => (
            <button
              key={choice}
              type="button"
              class={look.button}
              disabled={isSent}
              onClick={() => answer(choice)}
            >
              {visibleText(choice)}
            </button>
          ))}
        </div>
      )}
      <form
        class={look.form}
        onSubmit={event => {
          event.preventDefault()
          answer(text)
        }}
      >
        <input
          class={look.input}
          data-key={keyName}
          aria-label={label}
          placeholder={choices.length > 0 ? hint : label}
          value={text}
          disabled={isSent}
          onInput={event => writeAnswer(question, event.currentTarget.value)}
        />
        <button type="submit" class={look.main} disabled={isSent || !text.trim()}>
          {send}
        </button>
      </form>
    </>
  )
}
