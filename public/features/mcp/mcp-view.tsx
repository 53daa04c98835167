/** MCP servers: which there are and how they are, their tools one by one, adding, testing, changing and removing. */
import { useEffect, useId } from 'preact/hooks'
import type { McpServerRow, McpTool } from '../../../lib/schema/mcp.ts'
import { Button } from '../../parts/button.tsx'
import { Switch } from '../../parts/field.tsx'
import { type McpRoom, mcpOf } from './mcp.ts'
import { tm } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { McpForm } from './mcp-form.tsx'
import { Verdict } from '../models/models-view.tsx'

/** A server that is starting changes by itself; nothing else does. */
const LOOK_AGAIN_MS = 1_500

const stateWords = (row: McpServerRow): string =>
  row.state === 'ready'
    ? tm('state.ready', { count: row.tools.filter(tool => tool.enabled).length })
    : tm(`state.${row.state}`)

const placeOf = (row: McpServerRow): string => row.url || [row.command, ...row.args].join(' ')

const ToolRow = ({ tool, room }: { tool: McpTool; room: McpRoom }) => {
  const app = useApp()
  const id = useId()
  return (
    <li class="mcp-tool">
      <div class="field-text">
        <label for={id} class="mcp-tool-name">
          <span>{tool.tool}</span>
          {tool.read_only && <span class="key-mark">{tm('tool.reads')}</span>}
          {tool.destructive && <span class="key-mark">{tm('tool.asks')}</span>}
        </label>
        <p id={`${id}-hint`} class="field-hint mcp-tool-text">
          {tool.description}
        </p>
      </div>
      <Switch
        id={id}
        describedBy={`${id}-hint`}
        checked={tool.enabled}
        onChange={on => void app.attempt(() => room.enableTool(tool, on))}
      />
    </li>
  )
}

const Details = ({ row, room }: { row: McpServerRow; room: McpRoom }) => {
  const on = row.tools.filter(tool => tool.enabled).length
  const count = row.tools.length
  return (
    <>
      {count > 0 && (
        <details class="mcp-more">
          <summary>
            {on === count ? tm('tools', { count }) : tm('tools.of', { on, count })}
            {row.version && <span class="mcp-version">{row.version}</span>}
          </summary>
          <ul class="mcp-tools">
            {row.tools.map(tool => (
              <ToolRow key={tool.name} tool={tool} room={room} />
            ))}
          </ul>
        </details>
      )}
      {row.stderr.trim() !== '' && (
        <details class="mcp-more">
          <summary>{tm('output')}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <pre class="mcp-output" tabIndex={0}>
            {row.stderr.trim()}
          </pre>
        </details>
      )}
    </>
  )
}

const Server = ({ row, room }: { row: McpServerRow; room: McpRoom }) => {
  const app = useApp()
  const id = useId()
  const { name } = row
  const said = room.tests.value[name]
  const askRemove = () => {
    app.layout.confirmation.value = {
      title: tm('remove.title', { name }),
      text: tm('remove.text'),
      confirm: tm('remove'),
      danger: true,
      run: () => room.remove(name),
    }
  }
  return (
    <li class="key-row">
      <div class="mcp-head">
        <div class="field-text">
          <p class="key-name">
            <label for={id}>
              {name}
              <span class="sr-only"> – {tm('use', { name })}</span>
            </label>
            <span class={`mcp-state mcp-${row.state}`}>{stateWords(row)}</span>
          </p>
          <p class="field-hint mcp-place">{placeOf(row)}</p>
        </div>
        <Switch
          id={id}
          describedBy={undefined}
          checked={row.enabled}
          onChange={on => void app.attempt(() => room.enable(name, on))}
        />
      </div>
      <div class="key-actions mcp-actions">
        <Button
          aria-label={tm('test.of', { name })}
          disabled={said?.busy === true}
          onClick={() => void room.test(name)}
        >
          {tm('test')}
        </Button>
        <Button aria-label={tm('edit.of', { name })} onClick={() => room.edit(row)}>
          {tm('edit')}
        </Button>
        <Button aria-label={tm('remove.of', { name })} onClick={askRemove}>
          {tm('remove')}
        </Button>
      </div>
      <Verdict said={said ?? errorOf(row)} />
      <Details row={row} room={room} />
    </li>
  )
}

/** What went wrong last, where nobody has just tried it. */
const errorOf = ({ error, state }: McpServerRow) =>
  error && state !== 'disabled' && state !== 'starting'
    ? { busy: false as const, ok: state === 'ready', message: error }
    : undefined

const List = ({ room }: { room: McpRoom }) => {
  const rows = room.rows.value
  const draft = room.draft.value
  return (
    <>
      {room.problem.value !== null && (
        <p class="key-none" role="alert">
          {tm('problem', { problem: room.problem.value })}
        </p>
      )}
      {rows.length === 0 && !draft && <p class="key-none">{tm('none')}</p>}
      {rows.length > 0 && (
        <ul class="key-list">
          {rows.map(row => (
            <Server key={row.name} row={row} room={room} />
          ))}
        </ul>
      )}
      {draft ? (
        <McpForm key={draft.isNew ? '' : draft.name} room={room} draft={draft} />
      ) : (
        <div class="form-actions form-actions-start">
          <Button
            icon="plus"
            disabled={room.problem.value !== null}
            onClick={() => room.edit(null)}
          >
            {tm('add')}
          </Button>
        </div>
      )}
    </>
  )
}

export const McpSettings = () => {
  const app = useApp()
  const room = mcpOf(app)
  useEffect(() => void room.load(), [])
  const starting = room.starting.value
  useEffect(() => {
    if (!starting) return
    const clock = setInterval(() => void room.load(), LOOK_AGAIN_MS)
    return () => clearInterval(clock)
  }, [starting])
  const state = room.state.value
  return (
    <>
      <p class="field-hint">{tm('lead')}</p>
      {state === 'loading' && <p class="key-none">{tm('loading')}</p>}
      {state === 'failed' && (
        <div class="key-none" role="alert">
          <p>{tm('failed')}</p>
          <Button icon="refresh" onClick={() => void room.load()}>
            {tm('retry')}
          </Button>
        </div>
      )}
      {state === 'ready' && <List room={room} />}
    </>
  )
}
