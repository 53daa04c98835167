/** The opened part of a tool card: its arguments, its result in words, and output on demand. */
import { LinkedText } from '../../markdown/linked-text.tsx'
import { useMemo } from 'preact/hooks'
import { type ReadonlySignal, useSignal } from '@preact/signals'
import type { ComponentChild } from 'preact'
import type { RunsIn } from '../../../lib/schema/command-place.ts'
import { shownCall } from '../../../lib/base/tools.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import { CodeText } from '../../markdown/code.tsx'
import { diffOfEdit } from '../../parts/diff.ts'
import type { FileDiff } from '../../parts/diff.ts'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { usePerFrame } from '../messages/transcript-context.ts'
import type { Args } from './describe-tool-call.ts'
import { type ParsedResult, parseResult } from './result-body.ts'
import { t } from './strings.ts'
import { TerminalText } from './terminal-text.tsx'
import { FileName, type OpenFile, ToolBody } from './tool-body.tsx'

export type Whole = { content: string; colored: string | null }
export type Cut = { chars: number; lines: number }

export type CardBodyProps = {
  name: string
  args: Args
  /** Text of the result; null while there is none. */
  content: string | null
  /** Output with color sequences, if it had any. */
  colored: string | null
  /** Stored size when `content` is truncated. */
  cut: Cut | null
  loadWhole: () => Promise<Whole>
  /** The whole text of a result that was too long for the model. */
  loadStored: (path: string) => Promise<string>
  exitCode: number | null
  /** Where the command ran; on a narrow screen the line of the call has no space for it. */
  ranIn: RunsIn | undefined
  /** False when the line of the call says why it did not run. */
  isErrorShown: boolean
  /** Live output; absent when the call has ended. */
  running?: ComponentChild
  path: string | undefined
  openFile: OpenFile
}

export function CardBody(props: CardBodyProps) {
  const { name, args, path, openFile } = props
  const whole = useSignal<Whole | null>(null)
  const fullText = useSignal<string | null>(null)
  const content = whole.value ? whole.value.content : props.content
  const colored = whole.value ? whole.value.colored : props.colored
  const result = useMemo(
    () => (content === null ? null : parseResult(name, content, colored)),
    [name, content, colored],
  )
  const files = useMemo(() => (result ? editOf(name, args, result) : []), [name, args, result])
  const load = async () => {
    whole.value = await props.loadWhole()
  }
  const isText = result?.body.kind === 'output' || result?.body.kind === 'text'
  const rest = props.cut && !whole.value ? { lines: props.cut.lines, load } : null
  const place = result?.storedAt
  return (
    <div class="tool-body">
      {path && files.length === 0 && (
        <FileName path={path} line={firstLine(args)} openFile={openFile} />
      )}
      <Input name={name} args={args} hasDiff={files.length > 0} isNamed={path !== undefined} />
      {props.ranIn && <p class="tool-note tool-place">{t(`tool.in.${props.ranIn}`)}</p>}
      {props.running}
      {!props.running && !result && <p class="tool-note">{t('tool.waiting')}</p>}
      {result && (
        <>
          {result.error && props.isErrorShown && (
            <p class="tool-error" dir="auto">
              <LinkedText text={visibleText(result.error)} />
            </p>
          )}
          {result.notes.map(note => (
            <p key={note} class="tool-note" dir="auto">
              {visibleText(note)}
            </p>
          ))}
          <ToolBody
            body={fullText.value === null ? result.body : { kind: 'text', text: fullText.value }}
            files={files}
            language={extensionOf(path)}
            exitCode={props.exitCode}
            openFile={openFile}
            rest={isText && fullText.value === null ? rest : null}
          />
          {rest && !isText && (
            <LoadButton label={t('tool.fetch', { count: props.cut?.chars ?? 0 })} load={load} />
          )}
          {place && fullText.value === null && !rest && (
            <LoadButton
              label={t('output.stored')}
              failure={t('output.stored.gone')}
              load={async () => {
                fullText.value = await props.loadStored(place)
              }}
            />
          )}
        </>
      )}
    </div>
  )
}

const extensionOf = (path = ''): string => path.split('.').at(-1) ?? ''

/** Diff of the changed files, from the result or else from the arguments. */
const editOf = (name: string, args: Args, result: ParsedResult): FileDiff[] => {
  if (result.body.kind === 'diff') return result.body.files
  const { path, old_string: old, new_string: fresh } = args
  const edited = name === 'patch' && typeof old === 'string' && typeof fresh === 'string'
  return edited && !result.error ? [diffOfEdit(`${path ?? ''}`, old, fresh)] : []
}

/** First line that was read, if not the first line of the file. */
const firstLine = ({ offset }: Args): number | undefined =>
  typeof offset === 'number' && offset > 1 ? offset : undefined

/** Arguments already visible in a diff. */
const IN_DIFF = new Set(['mode', 'path', 'patch', 'old_string', 'new_string'])
type InputProps = {
  name: string
  args: Args
  /** As a diff. */
  hasDiff: boolean
  /** The file name is already shown above. */
  isNamed: boolean
}

/** Arguments of the call, without those shown elsewhere. */
function Input({ name, args, hasDiff, isNamed }: InputProps) {
  const code = name === 'terminal' ? args.command : name === 'execute_code' ? args.code : null
  if (typeof code === 'string') {
    return (
      <ScrollBox
        class={name === 'terminal' ? 'tool-code tool-command' : 'tool-code tool-tall'}
        label={t('tool.arguments')}
      >
        <pre dir="ltr">
          <CodeText text={visibleText(code)} label={name === 'terminal' ? 'bash' : 'python'} />
        </pre>
      </ScrollBox>
    )
  }
  if (name === 'write_file' && typeof args.content === 'string') {
    return (
      <ScrollBox class="tool-code tool-tall" label={t('tool.arguments')}>
        <pre dir="ltr">
          <CodeText
            text={visibleText(args.content.slice(0, 20_000))}
            label={extensionOf(`${args.path ?? ''}`)}
          />
        </pre>
      </ScrollBox>
    )
  }
  const { about = [], implied = [] } = shownCall(name) ?? {}
  const keys = new Set([...about.filter(key => key !== 'path'), ...implied])
  const isSaid = (key: string) =>
    (hasDiff && IN_DIFF.has(key)) || (isNamed && key === 'path') || keys.has(key)
  const rest = Object.entries(args).filter(([key]) => !isSaid(key))
  if (rest.length === 0 || name === 'todo') return null
  return (
    <dl class="tool-args">
      {rest.slice(0, 12).map(([key, value]) => (
        <div key={key}>
          <dt>{visibleText(key)}</dt>
          <dd>
            {visibleText(typeof value === 'string' ? value.slice(0, 4000) : JSON.stringify(value))}
          </dd>
        </div>
      ))}
    </dl>
  )
}

type LoadProps = { label: string; failure?: string; load: () => Promise<void> }

function LoadButton({ label, failure = t('tool.fetch.failed'), load }: LoadProps) {
  const state = useSignal<'idle' | 'loading' | 'failed'>('idle')
  const begin = () => {
    state.value = 'loading'
    load().catch(() => {
      state.value = 'failed'
    })
  }
  return (
    <button type="button" class="tx-more" onClick={begin} disabled={state.value === 'loading'}>
      {state.value === 'idle' ? label : state.value === 'loading' ? t('tx.loading') : failure}
    </button>
  )
}

/** Output of a running call. */
export function RunningOutput({ output }: { output: ReadonlySignal<string> }) {
  const text = usePerFrame(output, '')
  return text ? <TerminalText text={text} label={t('tool.output.label')} live /> : null
}
