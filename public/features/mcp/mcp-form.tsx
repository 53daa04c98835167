/** The form that adds an MCP server or changes one. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Select } from '../../parts/field.tsx'
import { Field, FormActions, TextField } from '../../parts/form.tsx'
import type { McpDraft, McpState } from './mcp.ts'
import { t } from './strings.ts'
import { useShell } from '../../contexts.ts'

type Name = 'name' | 'line' | 'env' | 'url' | 'headers'

const HINTS = {
  name: 'form.name.hint',
  line: 'form.line.hint',
  env: 'form.env.hint',
  url: null,
  headers: 'form.headers.hint',
} as const

/** The syntax of a variable reference in config.yaml. */
const REFERENCE = `\${NAME}`

type FieldProps = { mcp: McpState; draft: McpDraft; field: Name; lines?: boolean }

const FormField = ({ mcp, draft, field, lines = false }: FieldProps) => {
  const hint = HINTS[field]
  const isSecret = field === 'env' || field === 'headers'
  const set = (text: string) => mcp.set({ [field]: text })
  const shared = {
    label: t(`form.${field}`),
    hint:
      hint &&
      joinSentences(
        t(hint, { reference: REFERENCE }),
        !draft.isNew && isSecret && t('form.hidden'),
      ),
  }
  if (!lines) return <TextField {...shared} value={draft[field]} onInput={set} />
  return (
    <Field
      {...shared}
      control={({ id, describedBy }) => (
        <textarea
          id={id}
          class="mono-area"
          rows={3}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          aria-describedby={describedBy}
          value={draft[field]}
          onInput={event => set(event.currentTarget.value)}
        />
      )}
    />
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
      class="form mcp-form"
      aria-labelledby={`${id}-title`}
      onSubmit={event => void save(event)}
    >
      <h3 id={`${id}-title`}>
        {draft.isNew ? t('form.new') : t('form.edit', { name: draft.name })}
      </h3>
      {draft.isNew && <FormField mcp={mcp} draft={draft} field="name" />}
      <Field
        label={t('form.kind')}
        control={ids => (
          <Select
            id={ids.id}
            describedBy={undefined}
            value={draft.kind}
            options={(['stdio', 'http'] as const).map(
              kind => [kind, t(`form.kind.${kind}`)] as const,
            )}
            onChange={value => mcp.set({ kind: value === 'http' ? 'http' : 'stdio' })}
          />
        )}
      />
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
      <FormActions>
        <Button
          onClick={() => {
            mcp.draft.value = null
          }}
        >
          {t('app.cancel')}
        </Button>
        <Button kind="primary" type="submit" disabled={blank || busy.value}>
          {t(busy.value ? 'form.saving' : 'form.save')}
        </Button>
      </FormActions>
    </form>
  )
}
