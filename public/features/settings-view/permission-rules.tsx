/** Settings → Permissions: the permission rules of the profile by list, and what they would do to a command, path, or address. */
import { useLoaded } from '../shell/use-loaded.ts'
import { useSignal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { ApiError } from '../../api.ts'
import { Button } from '../../parts/button.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { useShell } from '../../contexts.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from '../settings/permission-strings.ts'

type Permissions = Api['GET /api/permissions']['output']
type Outcome = Api['POST /api/permissions/check']['output']
type RuleChange = Api['POST /api/permissions']['input']

const lists = ['deny', 'ask', 'allow'] as const
type List = (typeof lists)[number]
const kinds = ['command', 'read', 'edit', 'url', 'tool'] as const
type RuleKind = (typeof kinds)[number]

/** Resolves to the message when the change was rejected, else to null. */
type Save = (change: RuleChange) => Promise<string | null>

type RuleFormProps = {
  label: string
  placeholder?: string
  initial: string
  confirm: string
  save: (rule: string) => Promise<string | null>
  cancel?: () => void
}

const RuleForm = ({ label, placeholder, initial, confirm, save, cancel }: RuleFormProps) => {
  const text = useSignal(initial)
  const error = useSignal('')
  const submit = async (event: Event) => {
    event.preventDefault()
    if (text.value.trim() === '') {
      error.value = t('rules.empty')
      return
    }
    error.value = (await save(text.value.trim())) ?? ''
    if (error.value === '') text.value = initial
  }
  return (
    <form class="form-line" onSubmit={event => void submit(event)}>
      <TextField
        label={label}
        bare
        dir="ltr"
        {...(placeholder && { placeholder })}
        error={error.value}
        text={text}
      />
      <Button type="submit">{confirm}</Button>
      {cancel && (
        <Button kind="quiet" onClick={cancel}>
          {t('app.cancel')}
        </Button>
      )}
    </form>
  )
}

type RuleListProps = { list: List; entries: Permissions['lists'][List]; save: Save }

const RuleList = ({ list, entries, save }: RuleListProps) => {
  const { layout } = useShell()
  const editing = useSignal<string | null>(null)
  const remove = (rule: string) => {
    const run = async () => {
      await save({ list, remove: rule })
    }
    // Removing an `allow` rule only makes the agent ask again.
    if (list === 'allow') void run()
    else
      layout.confirmation.value = {
        title: t('rules.remove.title'),
        text: t(`rules.remove.${list}`, { rule }),
        confirm: t('rules.remove'),
        danger: true,
        run,
      }
  }
  return (
    <section class="rule-list" aria-label={t(`rules.${list}`)}>
      <h4 class="rule-head">{t(`rules.${list}`)}</h4>
      <p class="field-hint">{t(`rules.${list}.hint`)}</p>
      <ul class="rule-rows">
        {entries.map(({ rule, problem, sentences }) => (
          <li key={rule} class="rule-row">
            {editing.value === rule ? (
              <RuleForm
                label={t('rules.edit.what', { rule })}
                initial={rule}
                confirm={t('rules.save')}
                cancel={() => {
                  editing.value = null
                }}
                save={async next => {
                  const error = await save({ list, remove: rule, add: next })
                  if (error === null) editing.value = null
                  return error
                }}
              />
            ) : (
              <>
                <code dir="ltr" class="rule-text">
                  {rule}
                </code>
                <Button
                  kind="quiet"
                  aria-label={t('rules.edit.what', { rule })}
                  onClick={() => {
                    editing.value = rule
                  }}
                >
                  {t('rules.edit')}
                </Button>
                <Button
                  kind="quiet"
                  aria-label={t('rules.remove.what', { rule })}
                  onClick={() => remove(rule)}
                >
                  {t('rules.remove')}
                </Button>
                {problem !== null && (
                  <p class="form-error rule-error">
                    {t('rules.invalid', { problem: causeText(problem, sentences?.problem) })}
                  </p>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
      <RuleForm
        label={t(`rules.add.${list}`)}
        placeholder={t(`rules.placeholder.${list}`)}
        initial=""
        confirm={t('rules.add')}
        save={rule => save({ list, add: rule })}
      />
    </section>
  )
}

const outcomeText = ({ outcome, rule, reasons }: Outcome): string => {
  const text = t(`rules.outcome.${outcome}`, { rule: rule ?? '' })
  const because = rule !== null && !text.includes(rule) ? [rule] : []
  return [text, [...reasons, ...because].join('; ')].filter(part => part !== '').join(' ')
}

const TryRules = () => {
  const { api, attempt } = useShell()
  const kind = useSignal<RuleKind>('command')
  const value = useSignal('')
  const outcome = useSignal<Outcome | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    if (value.value.trim() === '') return
    void attempt(async () => {
      outcome.value = await api('POST /api/permissions/check', {
        kind: kind.value,
        value: value.value,
      })
    })
  }
  const change = (run: () => void) => {
    run()
    outcome.value = null
  }
  return (
    <section class="rule-list" aria-label={t('rules.try')}>
      <h4 class="rule-head">{t('rules.try')}</h4>
      <p class="field-hint">{t('rules.try.hint')}</p>
      <form class="form-line" onSubmit={submit}>
        <SelectField
          label={t('rules.try.kind')}
          bare
          value={kind.value}
          options={kinds.map(each => [each, t(`rules.kind.${each}`)] as const)}
          onChange={next =>
            change(() => {
              kind.value = next as RuleKind
            })
          }
        />
        <TextField
          label={t(`rules.kind.${kind.value}`)}
          bare
          dir="ltr"
          placeholder={t(`rules.example.${kind.value}`)}
          value={value.value}
          onInput={next =>
            change(() => {
              value.value = next
            })
          }
        />
        <Button type="submit">{t('rules.try.run')}</Button>
      </form>
      <p class="rule-outcome" role="status">
        {outcome.value && outcomeText(outcome.value)}
      </p>
    </section>
  )
}

export const PermissionRules = () => {
  const { api, configProblems } = useShell()
  const [permissions] = useLoaded(() => api('GET /api/permissions'))
  const save: Save = async change => {
    try {
      permissions.value = await api('POST /api/permissions', change)
      // A corrected rule ends a restriction that is shown elsewhere.
      await configProblems.load()
      return null
    } catch (error) {
      // The sentence belongs beside the field.
      if (error instanceof ApiError) return error.message
      throw error
    }
  }
  const { value } = permissions
  if (value === null) return null
  return (
    <section class="view-part" aria-label={t('rules.title')}>
      <h3>{t('rules.title')}</h3>
      <p class="field-hint">{t('rules.text')}</p>
      {lists.map(list => (
        <RuleList key={list} list={list} entries={value.lists[list]} save={save} />
      ))}
      <TryRules />
    </section>
  )
}
