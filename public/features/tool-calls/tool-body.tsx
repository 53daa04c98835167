/** Result of a tool call by kind: terminal output, diff, to-do list, matches, JSON or text. */
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { useShowMore } from '../../markdown/show-more.tsx'
import { CodeText } from '../../markdown/code.tsx'
import { t } from '../../strings/t.ts'
import type { FileDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import { type Rest, TerminalText } from './terminal-text.tsx'
import type { Match, Todo, ToolResult } from './tool-result.ts'

type OpenFile = ((path: string, line?: number) => void) | undefined

export type ToolBodyProps = {
  result: ToolResult | null
  files: readonly FileDiff[]
  openFile: OpenFile
  /** Present when the output is truncated. */
  rest: Rest | null
}

export function ToolBody({ result, files, openFile, rest }: ToolBodyProps) {
  if (!result) return <p class="tool-note">{t('tool.waiting')}</p>
  const { body, error } = result
  return (
    <>
      {error && <p class="tool-error">{error}</p>}
      {files.map(file => (
        <section key={file.path} class="tool-file">
          {file.path && <FileName path={file.path} openFile={openFile} />}
          <Diff file={file} />
        </section>
      ))}
      {files.length === 0 && <Body body={body} openFile={openFile} rest={rest} />}
    </>
  )
}

type BodyProps = { body: ToolResult['body']; openFile: OpenFile; rest: Rest | null }

function Body({ body, openFile, rest }: BodyProps) {
  switch (body.kind) {
    case 'output':
    case 'text':
      return <TerminalText text={body.text} label={t('tool.output')} rest={rest} />
    case 'json':
      return (
        <ScrollBox class="tool-code tool-tall" label={t('tool.output')}>
          <pre dir="ltr">
            <CodeText text={body.text} grammar="json" />
          </pre>
        </ScrollBox>
      )
    case 'todo':
      return <Plan todos={body.todos} />
    case 'matches':
      return <Matches matches={body.matches} openFile={openFile} />
    case 'diff':
    case 'nothing':
      return null
  }
}

export function FileName(props: { path: string; line?: number | undefined; openFile: OpenFile }) {
  const { path, line, openFile } = props
  const name = visibleName(path)
  const place = line === undefined ? name : `${name}:${line}`
  if (!openFile) return <p class="tool-path">{place}</p>
  return (
    <button type="button" class="tool-path tx-link" onClick={() => openFile(path, line)}>
      {place}
    </button>
  )
}

const todoIcons = {
  pending: 'todo',
  in_progress: 'in-progress',
  completed: 'check',
  cancelled: 'close',
} as const

export function Plan({ todos }: { todos: readonly Todo[] }) {
  return (
    <ul class="plan">
      {todos.map(({ content, status }, index) => (
        <li key={index} class={`plan-${status}`}>
          <Icon name={todoIcons[status]} />
          <span class="tx-sr">{t(`tool.todo.${status}`)}</span>
          <span>{content}</span>
        </li>
      ))}
    </ul>
  )
}

function Matches({ matches, openFile }: { matches: readonly Match[]; openFile: OpenFile }) {
  const more = useShowMore(matches, 25)
  if (matches.length === 0) return null
  return (
    <>
      <ul class="hits">
        {more.shown.map(({ path, line, text }, index) => {
          const name = visibleName(path)
          const place = line === null ? name : `${name}:${line}`
          return (
            <li key={index}>
              {openFile ? (
                <button
                  type="button"
                  class="tx-link"
                  onClick={() => openFile(path, line ?? undefined)}
                >
                  {place}
                </button>
              ) : (
                <span class="hits-place">{place}</span>
              )}
              {text && <code>{visibleText(text)}</code>}
            </li>
          )
        })}
      </ul>
      {more.button}
    </>
  )
}
