/** Form of an "always allow" rule: its pattern and scope. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { RuleScope } from '../../../lib/schema/question.ts'
import type { RuleFormProps } from './approval-card.tsx'
import { writeAnswer, writtenAnswer } from './answer.ts'
import { t } from './strings.ts'

const SCOPES: readonly RuleScope[] = ['session', 'workspace', 'profile']

/** The prefix of a rule; null for the exact command, undefined when the text is no valid rule for it. */
const wordsOf = (text: string, command: string, suggested: string): string | null | undefined => {
  const pattern = text.trim()
  if (pattern === command.trim()) return null
  if (!pattern.endsWith(' *')) return undefined
  const [words, shortest] = [pattern, suggested].map(each => each.slice(0, -2).trim())
  return `${words} `.startsWith(`${shortest} `) && `${command.trim()} `.startsWith(`${words} `)
    ? words
    : undefined
}

export function RuleForm({ approval, disabled, onAllow, onBack }: RuleFormProps) {
  const { command, suggested_rule: suggested } = approval
  const text = useSignal(writtenAnswer(approval) || command)
  const setText = (next: string) => {
    text.value = next
    writeAnswer(approval, next === command ? '' : next)
  }
  const scope = useSignal<RuleScope>('workspace')
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector('input')?.focus(), [])

  const words = suggested ? wordsOf(text.value, command, suggested) : null
  const isWrong = words === undefined
  return (
    <form
      ref={form}
      class="rule"
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        event.stopPropagation()
        onBack()
      }}
      onSubmit={event => {
        event.preventDefault()
        if (!isWrong && !disabled)
          onAllow({ scope: scope.value, ...(words !== null && { rule: text.value.trim() }) })
      }}
    >
      {suggested && (
        <>
          <label for={id}>{t('rule.label')}</label>
          <div class="rule-field">
            <input
              id={id}
              class="ask-input"
              dir="ltr"
              spellcheck={false}
              autocomplete="off"
              autocapitalize="off"
              value={text.value}
              aria-invalid={isWrong}
              aria-describedby={`${id}-covers`}
              onInput={event => setText(event.currentTarget.value)}
            />
            <button
              type="button"
              class="ask-button"
              onClick={() => setText(words === null ? suggested : command)}
            >
              {words === null ? t('rule.shorter', { rule: suggested }) : t('rule.exact')}
            </button>
          </div>
        </>
      )}
      <fieldset class="rule-scopes">
        <legend>{t('rule.scope')}</legend>
        {SCOPES.map(each => (
          <label key={each}>
            <input
              type="radio"
              name={`${id}-scope`}
              checked={scope.value === each}
              onChange={() => {
                scope.value = each
              }}
            />
            {t(`rule.scope.${each}`)}
          </label>
        ))}
      </fieldset>
      <p id={`${id}-covers`} class="ask-covers" role="status">
        {isWrong
          ? t('rule.invalid', { rule: suggested ?? '' })
          : words === null
            ? t(`rule.exact.${scope.value}`)
            : `${t(`rule.first.${scope.value}`, { words })} ${t('rule.limits')}`}
      </p>
      <div class="ask-buttons">
        <button type="submit" class="ask-button ask-main" disabled={disabled || isWrong}>
          {t('rule.allow')}
        </button>
        <button type="button" class="ask-button" onClick={onBack}>
          {t('rule.back')}
        </button>
      </div>
    </form>
  )
}
