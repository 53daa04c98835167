/** The form that adds an MCP server or changes one. */
import { joinSentences } from '../../strings/join-sentences.ts'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Field, Form, SelectField, TextField } from '../../parts/form.tsx'
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

/** What the README of a server shows: it fills the other fields. */
const Snippet = ({ mcp }: { mcp: McpState }) => {
  const text = useSignal('')
  const isWrong = text.value.trim() !== ''
  return (
    <Field
      label={t('form.snippet')}
      hint={t('form.snippet.hint')}
      error={isWrong ? t('form.snippet.bad') : undefined}
      control={({ id, describedBy }) => (
        <textarea
          id={id}
          class="mono-area"
          rows={3}
          dir="ltr"
          spellcheck={false}
          autocomplete="off"
          placeholder={'{ "mcpServers": { … } }'}
          aria-describedby={describedBy}
          value={text.value}
          onInput={({ currentTarget: area }) => {
            // What it said is in the fields now.
            if (mcp.paste(area.value)) area.value = ''
            text.value = area.value
          }}
        />
      )}
    />
  )
}

export const McpForm = ({ mcp, draft }: { mcp: McpState; draft: McpDraft }) => {
  const { attempt } = useShell()
  const form = useRef<HTMLElement>(null)
  // The form is below the list and may be out of view.
  useEffect(() => {
    form.current?.scrollIntoView({ block: 'nearest' })
    form.current?.querySelector<HTMLElement>('textarea, input:not(:disabled)')?.focus()
  }, [])
  const title = draft.isNew ? t('form.new') : t('form.edit', { name: draft.name })
  const isProgram = draft.kind === 'stdio'
  const blank = draft.name.trim() === '' || (isProgram ? draft.line : draft.url).trim() === ''
  return (
    <section ref={form} class="mcp-form" aria-label={title}>
      <Form
        submit={t('form.save')}
        sending={t('form.saving')}
        isIncomplete={blank}
        onSubmit={() => attempt(() => mcp.save())}
        onCancel={() => {
          mcp.draft.value = null
        }}
      >
        <h3>{title}</h3>
        {draft.isNew && <Snippet mcp={mcp} />}
        {draft.isNew && <FormField mcp={mcp} draft={draft} field="name" />}
        <SelectField
          label={t('form.kind')}
          value={draft.kind}
          options={(['stdio', 'http'] as const).map(
            kind => [kind, t(`form.kind.${kind}`)] as const,
          )}
          onChange={kind => mcp.set({ kind })}
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
      </Form>
    </section>
  )
}
