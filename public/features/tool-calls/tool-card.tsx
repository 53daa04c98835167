/** Tool card: a one-line description, and its arguments and result. */
import type { RunsIn } from '../../../lib/schema/command-place.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { useMemo, useState } from 'preact/hooks'
import type { ComponentChild } from 'preact'
import { grammarOf } from '../../markdown/highlight.ts'
import { CodeText } from '../../markdown/code.tsx'
import { t } from '../../strings/t.ts'
import { diffOfEdit } from '../../parts/diff.ts'
import type { FileDiff } from '../../parts/diff.ts'
import { DiffCounts } from '../../parts/diff-view.tsx'
import { Elapsed, formatSeconds } from '../../parts/elapsed.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { TerminalText } from './terminal-text.tsx'
import { FileName, ToolBody } from './tool-body.tsx'
import { parseResult } from './tool-result.ts'
import type { ToolResult } from './tool-result.ts'
import { parseArgs, describeToolCall } from './describe-tool-call.ts'
import type { Args } from './describe-tool-call.ts'

export type Whole = { content: string; colored: string | null }
type Cut = { chars: number; lines: number }

export type ToolCardProps = {
  name: string
  /** Arguments as JSON text. */
  written: string
  short: Args | null
  /** Text of the result; null while there is none. */
  content: string | null
  /** Output with color sequences, if it had any. */
  colored: string | null
  /** Stored size when `content` is truncated. */
  cut: Cut | null
  loadWhole: () => Promise<Whole>
  state: 'running' | 'queued' | 'ended'
  startedAt: number | null
  duration: number | null
  isError: boolean
  /** Where the command ran, if that is not the same for all. */
  ranIn?: RunsIn | undefined
  /** Live output; a component, so that only it re-renders. */
  running: ComponentChild
  /** Images of the result, shown whether the card is open or not. */
  images?: ComponentChild
  /** Replaces arguments and output. */
  body?: ComponentChild
  open: boolean
  onToggle: () => void
  openFile: ((path: string, line?: number) => void) | undefined
}

export function ToolCard(props: ToolCardProps) {
  const { name, written, content, open } = props
  const [whole, setWhole] = useState<Whole | null>(null)
  const text = whole ? whole.content : content
  const colored = whole ? whole.colored : props.colored
  const args = useMemo(() => props.short ?? parseArgs(written), [written, props.short])
  const result = useMemo(() => (text === null ? null : parseResult(text, colored)), [text, colored])
  const said = describeToolCall(name, args)
  const rest =
    props.cut && !whole
      ? { lines: props.cut.lines, load: async () => setWhole(await props.loadWhole()) }
      : null
  const isText = result?.body.kind === 'output' || result?.body.kind === 'text'
  const busy = props.state !== 'ended'
  const failed = props.isError || (result?.failed ?? false)
  const edit = useMemo(() => editOf(name, args, result), [name, args, result])
  return (
    <div class={`tool tool-${busy ? props.state : failed ? 'failed' : 'ok'}`}>
      <button type="button" class="tool-head" aria-expanded={open} onClick={props.onToggle}>
        <Icon name={said.icon} />
        <span class="tool-words">
          {busy ? said.does : said.did}{' '}
          {said.object &&
            (said.code ? (
              <code>{said.object}</code>
            ) : (
              <span class="tool-object">{said.object}</span>
            ))}
        </span>
        {edit.length > 0 && !failed && <DiffCounts {...total(edit)} />}
        <Outcome {...props} result={result} failed={failed} />
      </button>
      {props.images}
      {open && props.body}
      {open && !props.body && (
        <div class="tool-body">
          {said.path && edit.length === 0 && (
            <FileName path={said.path} line={firstLine(args)} openFile={props.openFile} />
          )}
          <Input name={name} args={args} shown={edit.length > 0} named={said.path !== undefined} />
          {busy ? (
            props.running
          ) : (
            <ToolBody
              result={result}
              files={edit}
              openFile={props.openFile}
              rest={isText ? rest : null}
            />
          )}
          {rest && !isText && props.cut && !busy && (
            <LoadWhole chars={props.cut.chars} load={rest.load} />
          )}
        </div>
      )}
    </div>
  )
}

type OutcomeProps = Pick<ToolCardProps, 'state' | 'startedAt' | 'duration' | 'ranIn'> & {
  result: ToolResult | null
  failed: boolean
}

/** Status for screen readers, icon, and duration if known. */
function Outcome({ state, startedAt, duration, ranIn, result, failed }: OutcomeProps) {
  if (state !== 'ended') {
    return (
      <span class="tool-outcome">
        {startedAt !== null && <Elapsed since={startedAt} />}
        <span class="tx-sr">{t('tool.running')}</span>
        {state === 'running' ? <Icon name="spinner" size={14} /> : <Icon name="clock" size={14} />}
      </span>
    )
  }
  const body = result?.body
  const exit = result?.exitCode
  const isInBackground = !failed && result?.isInBackground === true
  return (
    <span class="tool-outcome">
      {ranIn && <span class={`tool-in tool-in-${ranIn}`}>{t(`tool.in.${ranIn}`)}</span>}
      {body?.kind === 'matches' && <span>{t('tool.matches', { count: body.total })}</span>}
      {failed && typeof exit === 'number' && exit !== 0 && (
        <span>{t('tool.exit', { code: `${exit}` })}</span>
      )}
      {isInBackground && <span>{t('tool.background')}</span>}
      {duration !== null && duration >= 0.1 && <span>{formatSeconds(duration)}</span>}
      {!isInBackground && (
        <span class="tx-sr">
          {failed ? t('tool.failed') : result ? t('tool.ok') : t('tool.waiting')}
        </span>
      )}
      {(failed || result) && (
        <Icon name={failed ? 'close' : isInBackground ? 'clock' : 'check'} size={14} />
      )}
    </span>
  )
}

/** Diff of the changed files, from the result or else from the arguments. */
const editOf = (name: string, args: Args, result: ToolResult | null): FileDiff[] => {
  if (result?.body.kind === 'diff') return result.body.files
  const { path, old_string: old, new_string: fresh } = args
  const edited = name === 'patch' && typeof old === 'string' && typeof fresh === 'string'
  return edited && result && !result.failed ? [diffOfEdit(`${path ?? ''}`, old, fresh)] : []
}

const total = (files: readonly FileDiff[]) => ({
  added: files.reduce((sum, file) => sum + file.added, 0),
  removed: files.reduce((sum, file) => sum + file.removed, 0),
})

/** First line that was read, if not the first line of the file. */
const firstLine = ({ offset }: Args): number | undefined =>
  typeof offset === 'number' && offset > 1 ? offset : undefined

/** Arguments already visible in a diff. */
const inDiff = new Set(['mode', 'path', 'patch', 'old_string', 'new_string'])

type InputProps = {
  name: string
  args: Args
  /** As a diff. */
  shown: boolean
  /** The file name is already shown above. */
  named: boolean
}

/** Arguments of the call, without those shown in the heading. */
function Input({ name, args, shown, named }: InputProps) {
  const code = name === 'terminal' ? args.command : name === 'execute_code' ? args.code : null
  if (typeof code === 'string') {
    return (
      <ScrollBox
        class={name === 'terminal' ? 'tool-code tool-command' : 'tool-code tool-tall'}
        label={t('tool.arguments')}
      >
        <pre dir="ltr">
          <CodeText text={visibleText(code)} grammar={name === 'terminal' ? 'bash' : 'python'} />
        </pre>
      </ScrollBox>
    )
  }
  if (name === 'write_file' && typeof args.content === 'string') {
    const extension = `${args.path ?? ''}`.split('.').at(-1) ?? ''
    return (
      <ScrollBox class="tool-code tool-tall" label={t('tool.arguments')}>
        <pre dir="ltr">
          <CodeText
            text={visibleText(args.content.slice(0, 20_000))}
            grammar={grammarOf(extension)}
          />
        </pre>
      </ScrollBox>
    )
  }
  const said = (key: string) => (shown && inDiff.has(key)) || (named && key === 'path')
  const rest = Object.entries(args).filter(([key]) => !said(key))
  if (rest.length === 0 || name === 'todo') return null
  return (
    <dl class="tool-args">
      {rest.slice(0, 12).map(([key, value]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            {visibleText(typeof value === 'string' ? value.slice(0, 4000) : JSON.stringify(value))}
          </dd>
        </div>
      ))}
    </dl>
  )
}

type LoadProps = { chars: number; load: () => Promise<void> }

function LoadWhole({ chars, load }: LoadProps) {
  const [state, setState] = useState<'idle' | 'loading' | 'failed'>('idle')
  const begin = () => {
    setState('loading')
    load().catch(() => setState('failed'))
  }
  return (
    <button type="button" class="tx-more" onClick={begin} disabled={state === 'loading'}>
      {state === 'idle'
        ? t('tool.fetch', { count: chars })
        : state === 'loading'
          ? t('tx.loading')
          : t('tool.fetch.failed')}
    </button>
  )
}

/** Output of a running call. */
export function RunningOutput({ text }: { text: string }) {
  return text ? <TerminalText text={text} label={t('tool.output.label')} /> : null
}
