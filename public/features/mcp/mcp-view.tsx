/** Settings → Tools: their state and tools; adding, testing, editing, and removing them. */
import { every } from '../../../lib/base/clock.ts'
import { useEffect, useId, useMemo } from 'preact/hooks'
import type { McpServerRow, McpTool } from '../../../lib/schema/mcp.ts'
import { Button } from '../../parts/button.tsx'
import { Switch } from '../../parts/field.tsx'
import { type McpState, mcpOf } from './mcp.ts'
import { causeText } from '../../strings/server-text.ts'
import { t } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { McpForm } from './mcp-form.tsx'
import { returnFromSignIn, SignIn } from './sign-in.tsx'
import { TestResult } from '../models/models-view.tsx'
import { useShell } from '../../contexts.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { EmptyNote, LoadNote } from '../../parts/view-state.tsx'

/** Polled only while a server is starting or a sign-in waits for the browser. */
const POLL_MS = 1_500

const needsSignIn = ({ enabled, sign_in: { state } }: McpServerRow): boolean =>
  enabled && (state === 'needed' || state === 'pending')

const stateWords = (row: McpServerRow): string =>
  needsSignIn(row)
    ? t(row.sign_in.state === 'pending' ? 'state.signingIn' : 'state.signIn')
    : row.state === 'ready'
      ? t('state.ready', { count: row.tools.filter(tool => tool.enabled).length })
      : t(`state.${row.state}`)

const addressOf = (row: McpServerRow): string => row.url || [row.command, ...row.args].join(' ')

const ToolRow = ({ tool, mcp }: { tool: McpTool; mcp: McpState }) => {
  const { attempt } = useShell()
  const id = useId()
  return (
    <li class="mcp-tool">
      <div class="field-text">
        <label for={id} class="mcp-tool-name">
          <span>{tool.tool}</span>
          {tool.read_only && <span class="key-mark">{t('tool.reads')}</span>}
          {tool.destructive && <span class="key-mark">{t('tool.asks')}</span>}
        </label>
        <p id={`${id}-hint`} class="field-hint mcp-tool-text">
          {tool.description}
        </p>
      </div>
      <Switch
        id={id}
        describedBy={`${id}-hint`}
        checked={tool.enabled}
        onChange={on => void attempt(() => mcp.enableTool(tool, on))}
      />
    </li>
  )
}

const Details = ({ row, mcp }: { row: McpServerRow; mcp: McpState }) => {
  const on = row.tools.filter(tool => tool.enabled).length
  const count = row.tools.length
  return (
    <>
      {count > 0 && (
        <details class="mcp-more">
          <summary>
            {on === count ? t('tools', { count }) : t('tools.of', { on, count })}
            {row.version && <span class="mcp-version">{row.version}</span>}
          </summary>
          <ul class="mcp-tools">
            {row.tools.map(tool => (
              <ToolRow key={tool.name} tool={tool} mcp={mcp} />
            ))}
          </ul>
        </details>
      )}
      {row.stderr.trim() !== '' && (
        <details class="mcp-more">
          <summary>{t('output')}</summary>
          <ScrollBox class="mcp-output" label={t('output')}>
            {row.stderr.trim()}
          </ScrollBox>
        </details>
      )}
    </>
  )
}

const Server = ({ row, mcp }: { row: McpServerRow; mcp: McpState }) => {
  const { layout, attempt } = useShell()
  const id = useId()
  const { name } = row
  const status = mcp.tests.value[name]
  const askRemove = () => {
    layout.confirmation.value = {
      title: t('remove.title', { name }),
      text: t('remove.text'),
      confirm: t('remove'),
      danger: true,
      run: () => mcp.remove(name),
    }
  }
  return (
    <li class="key-row">
      <div class="mcp-head">
        <div class="field-text">
          <p class="key-name">
            <label for={id}>
              {name}
              <span class="sr-only"> – {t('use', { name })}</span>
            </label>
            <span class={`mcp-state mcp-${needsSignIn(row) ? 'sign-in-needed' : row.state}`}>
              {stateWords(row)}
            </span>
          </p>
          <p class="field-hint mcp-place">{addressOf(row)}</p>
        </div>
        <Switch
          id={id}
          describedBy={undefined}
          checked={row.enabled}
          onChange={on => void attempt(() => mcp.enable(name, on))}
        />
      </div>
      <SignIn row={row} mcp={mcp} />
      <div class="key-actions mcp-actions">
        <Button
          aria-label={t('test.of', { name })}
          disabled={status?.busy === true}
          onClick={() => void mcp.test(name)}
        >
          {t('test')}
        </Button>
        <Button aria-label={t('edit.of', { name })} onClick={() => mcp.edit(row)}>
          {t('edit')}
        </Button>
        <Button aria-label={t('remove.of', { name })} onClick={askRemove}>
          {t('remove')}
        </Button>
      </div>
      <TestResult status={(needsSignIn(row) ? undefined : status) ?? errorOf(row)} />
      <Details row={row} mcp={mcp} />
    </li>
  )
}

/** The server's last error, shown until a test replaces it. */
const errorOf = (row: McpServerRow) => {
  const { error, state, sentences } = row
  return error && state !== 'disabled' && state !== 'starting' && !needsSignIn(row)
    ? {
        busy: false as const,
        ok: state === 'ready',
        message: error,
        ...(sentences?.error && { sentences: { message: sentences.error } }),
      }
    : undefined
}

const List = ({ mcp }: { mcp: McpState }) => {
  const rows = mcp.rows.value
  const draft = mcp.draft.value
  const problem = mcp.problem.value
  return (
    <>
      {problem && (
        <p class="view-note" role="alert">
          {t('problem', { problem: causeText(problem.words, problem.coded) })}
        </p>
      )}
      {rows.length === 0 && !draft && <EmptyNote title={t('none')} text={t('none.text')} />}
      {rows.length > 0 && (
        <ul class="key-list">
          {rows.map(row => (
            <Server key={row.name} row={row} mcp={mcp} />
          ))}
        </ul>
      )}
      {draft ? (
        <McpForm key={draft.isNew ? '' : draft.name} mcp={mcp} draft={draft} />
      ) : (
        <div class="button-row">
          <Button icon="plus" disabled={mcp.problem.value !== null} onClick={() => mcp.edit(null)}>
            {t('add')}
          </Button>
        </div>
      )}
    </>
  )
}

export const McpSettings = () => {
  const app = useApp()
  const mcp = mcpOf(app)
  useEffect(() => void mcp.load(), [])
  const isExpired = useMemo(returnFromSignIn, [])
  const isWaiting = mcp.waiting.value
  useEffect(() => {
    if (!isWaiting) return
    return every(app.shell.platform.clock, POLL_MS, () => void mcp.load())
  }, [isWaiting])
  const state = mcp.state.value
  return (
    <>
      <p class="view-lead">{t('lead')}</p>
      {isExpired && (
        <TestResult status={{ busy: false, ok: false, message: t('signIn.expired') }} />
      )}
      {state === 'ready' ? (
        <List mcp={mcp} />
      ) : (
        <LoadNote state={state} failed={t('failed')} onRetry={() => void mcp.load()} />
      )}
    </>
  )
}
