/** The form that adds an MCP server or changes one. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import type { McpDraft, McpState } from './mcp.ts'
import { t } from './strings.ts'
import { useShell } from '../../contexts.ts'

type Field = 'name' | 'line' | 'env' | 'url' | 'headers'

const HINTS = {
  name: 'form.name.hint',
  line: 'form.line.hint',
  env: 'form.env.hint',
  url: null,
  headers: 'form.headers.hint',
} as const

/** The syntax of a variable reference in config.yaml. */
const REFERENCE = `\${NAME}`

type FieldProps = { mcp: McpState; draft: McpDraft; field: Field; lines?: boolean }

const FormField = ({ mcp, draft, field, lines = false }: FieldProps) => {
  const id = useId()
  const hint = HINTS[field]
  const shared = {
    id,
    spellcheck: false,
    autocomplete: 'off' as const,
    autocapitalize: 'off' as const,
    value: draft[field],
    ...(hint ? { 'aria-describedby': `${id}-hint` } : {}),
  }
  return (
    <>
      <label for={id}>{t(`form.${field}`)}</label>
      {lines ? (
        <textarea
          {...shared}
          class="input mcp-lines"
          rows={3}
          onInput={event => mcp.set({ [field]: event.currentTarget.value })}
        />
      ) : (
        <input
          {...shared}
          class="input"
          disabled={field === 'name' && !draft.isNew}
          onInput={event => mcp.set({ [field]: event.currentTarget.value })}
        />
      )}
      {hint && (
        <p id={`${id}-hint`} class="field-hint">
          {t(hint, { reference: REFERENCE })}
          {!draft.isNew && (field === 'env' || field === 'headers') && ` ${t('form.hidden')}`}
        </p>
      )}
    </>
  )
}

export const McpForm = ({ mcp, draft }: { mcp: McpState; draft: McpDraft }) => {
  const { attempt } = useShell()
  const busy = useSignal(false)
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  // The form is below the list and may be out of view.
  useEffect(() => {
    form.current?.scrollIntoView({ block: 'nearest' })
    form.current?.querySelector<HTMLElement>('input:not(:disabled)')?.focus()
  }, [])
  const isProgram = draft.kind === 'stdio'
  const blank = draft.name.trim() === '' || (isProgram ? draft.line : draft.url).trim() === ''
  const save = async (event: Event) => {
    event.preventDefault()
    if (blank || busy.value) return
    busy.value = true
    await attempt(() => mcp.save())
    busy.value = false
  }
  return (
    <form
      ref={form}
      class="form key-form mcp-form"
      aria-labelledby={`${id}-title`}
      onSubmit={event => void save(event)}
    >
      <h3 id={`${id}-title`}>
        {draft.isNew ? t('form.new') : t('form.edit', { name: draft.name })}
      </h3>
      {draft.isNew && <FormField mcp={mcp} draft={draft} field="name" />}
      <label for={`${id}-kind`}>{t('form.kind')}</label>
      <select
        id={`${id}-kind`}
        class="select"
        value={draft.kind}
        onChange={event =>
          mcp.set({ kind: event.currentTarget.value === 'http' ? 'http' : 'stdio' })
        }
      >
        {(['stdio', 'http'] as const).map(kind => (
          <option key={kind} value={kind} selected={kind === draft.kind}>
            {t(`form.kind.${kind}`)}
          </option>
        ))}
      </select>
      {isProgram ? (
        <>
          <FormField mcp={mcp} draft={draft} field="line" />
          <FormField mcp={mcp} draft={draft} field="env" lines />
        </>
      ) : (
        <>
          <FormField mcp={mcp} draft={draft} field="url" />
          <FormField mcp={mcp} draft={draft} field="headers" lines />
        </>
      )}
      <div class="form-actions form-actions-start">
        <Button kind="primary" type="submit" disabled={blank || busy.value}>
          {t(busy.value ? 'form.saving' : 'form.save')}
        </Button>
        <Button
          onClick={() => {
            mcp.draft.value = null
          }}
        >
          {t('form.cancel')}
        </Button>
      </div>
    </form>
  )
}
