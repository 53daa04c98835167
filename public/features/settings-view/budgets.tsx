/** Budgets: six limits, each saved when its field loses focus. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useSignal } from '@preact/signals'
import { Row } from '../../parts/field.tsx'
import { Field } from '../../parts/form.tsx'
import { LoadingNote } from '../../parts/view-state.tsx'
import { formatCost } from '../../parts/amounts.ts'
import { t } from '../settings/strings.ts'
import { useShell } from '../../contexts.ts'

const scopes = ['turn', 'session', 'day'] as const
const measures = ['tokens', 'usd'] as const
type Scope = (typeof scopes)[number]
type Measure = (typeof measures)[number]

export const BudgetSettings = () => {
  const { attempt, api, toasts } = useShell()
  const [budgets] = useLoaded(() => api('GET /api/budgets', {}))
  const save = (scope: Scope, measure: Measure, value: number | null) =>
    attempt(async () => {
      budgets.value = await api('POST /api/budgets', { [scope]: { [measure]: value } })
      toasts.show(t('budget.saved'))
    })
  const saveSteps = (steps: number | null) =>
    void attempt(async () => {
      budgets.value = await api('POST /api/budgets', { steps })
      toasts.show(t('budget.saved'))
    })
  const { value } = budgets
  if (!value) return <LoadingNote />
  const { tokens, usd } = value.today
  return (
    <>
      <p class="view-lead">{t('budget.text')}</p>
      <div class="rows">
        {scopes.map(scope => (
          <Row
            key={scope}
            group
            label={t(`budget.${scope}`)}
            hint={
              scope === 'day'
                ? t('budget.day.hint', { tokens, usd: formatCost(usd) })
                : t(`budget.${scope}.hint`)
            }
            control={ids => (
              <fieldset class="budget-fields" aria-labelledby={ids.label}>
                {measures.map(measure => (
                  <LimitField
                    key={measure}
                    measure={measure}
                    limit={value.budgets[scope][measure]}
                    onSave={limit => void save(scope, measure, limit)}
                  />
                ))}
              </fieldset>
            )}
          />
        ))}
        <Row
          label={t('budget.steps')}
          hint={t('budget.steps.hint')}
          control={ids => (
            // Empty restores the default.
            <input
              id={ids.control}
              key={value.steps}
              class="input"
              type="number"
              inputMode="numeric"
              min="1"
              max="10000"
              step="1"
              defaultValue={String(value.steps)}
              aria-describedby={ids.hint}
              onChange={event => {
                const { value: text, validity } = event.currentTarget
                if (validity.valid) saveSteps(text === '' ? null : Number(text))
              }}
            />
          )}
        />
      </div>
      <p class="field-hint">{t('budget.prices')}</p>
    </>
  )
}

type LimitProps = {
  measure: Measure
  limit: number | undefined
  onSave: (limit: number | null) => void
}

const LimitField = ({ measure, limit, onSave }: LimitProps) => {
  const bad = useSignal(false)
  const isMoney = measure === 'usd'
  const leave = (field: HTMLInputElement) => {
    const text = field.value.trim()
    const number = text === '' ? null : Number(text)
    bad.value = !field.validity.valid || (number !== null && !(number > 0))
    if (!bad.value && (number ?? undefined) !== limit) onSave(number)
  }
  return (
    <Field
      label={t(`budget.${measure}`)}
      error={bad.value ? t('budget.bad') : undefined}
      control={({ id, describedBy, isInvalid }) => (
        <input
          id={id}
          class="input"
          type="number"
          inputMode={isMoney ? 'decimal' : 'numeric'}
          min={isMoney ? '0.01' : '1'}
          step={isMoney ? '0.01' : '1'}
          placeholder={t('budget.none')}
          defaultValue={limit === undefined ? '' : String(limit)}
          aria-invalid={isInvalid}
          aria-describedby={describedBy}
          onChange={event => leave(event.currentTarget)}
        />
      )}
    />
  )
}
