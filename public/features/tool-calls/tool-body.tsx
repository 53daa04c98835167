/** Result of a tool call by kind: terminal output, lines of a file, diff, to-do list, matches, a list, fields, or text. */
import { listOf } from '../../strings/t.ts'
import { useMemo } from 'preact/hooks'
import { isObjectOrArray } from '../../../lib/base/json.ts'
import { visibleName, visibleText } from '../../../lib/base/visible.ts'
import { CodeText } from '../../markdown/code.tsx'
import { useShowMore } from '../../markdown/show-more.tsx'
import type { FileDiff } from '../../parts/diff.ts'
import { Diff } from '../../parts/diff-view.tsx'
import { Icon } from '../../parts/icon.tsx'
import { ScrollBox } from '../../parts/scroll-box.tsx'
import type { Body, Field, Item, Match } from './result-body.ts'
import { t } from './strings.ts'
import { type Rest, TerminalText } from './terminal-text.tsx'
import type { Todo } from './todo.ts'

export type OpenFile = ((path: string, line?: number) => void) | undefined

type BodyProps = {
  body: Body
  /** Diff of the edit, from the result or else from the arguments; it replaces the body. */
  files: readonly FileDiff[]
  /** Grammar of the file that was read. */
  language: string | null
  exitCode: number | null
  openFile: OpenFile
  /** Present when the output is truncated. */
  rest: Rest | null
}

export function ToolBody({ body, files, language, exitCode, openFile, rest }: BodyProps) {
  if (files.length > 0)
    return files.map((file, at) => (
      <section key={at} class="tool-file">
        {file.path && <FileName path={file.path} openFile={openFile} />}
        <Diff file={file} />
      </section>
    ))
  switch (body.kind) {
    case 'output':
      return (
        <TerminalText text={body.text} label={t('tool.output')} rest={rest} exitCode={exitCode} />
      )
    case 'text':
      return <TerminalText text={body.text} label={t('tool.output')} rest={rest} />
    case 'code':
      return <Lines lines={body.lines} language={language} />
    case 'todo':
      return <Plan todos={body.todos} />
    case 'matches':
      return <Matches matches={body.matches} openFile={openFile} />
    case 'items':
      return <Items items={body.items} />
    case 'fields':
      return <Fields fields={body.fields} />
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

type OutputLine = { number: number | null; text: string }

/** Lines of a file: the numbers are drawn by the style sheet, so that they are not copied. */
function Lines({ lines, language }: { lines: readonly OutputLine[]; language: string | null }) {
  const parts = useMemo(() => splitAtGaps(lines), [lines])
  return (
    <ScrollBox class="tool-code tool-tall" label={t('code.label')}>
      <div class="read">
        {parts.map((part, at) =>
          part.from === null ? (
            <p key={at} class="read-gap">
              {visibleText(part.text)}
            </p>
          ) : (
            <div key={at} class="read-part">
              <pre dir="ltr" class="read-numbers" aria-hidden="true">
                {part.numbers}
              </pre>
              <pre dir="ltr" class="read-text">
                <CodeText text={visibleText(part.text)} label={language} />
              </pre>
            </div>
          ),
        )}
      </div>
    </ScrollBox>
  )
}

type OutputPart = { from: number | null; numbers: string; text: string }

/** Groups lines with consecutive numbers, so that each group is highlighted as one text. */
const splitAtGaps = (lines: readonly OutputLine[]): OutputPart[] => {
  const parts: OutputPart[] = []
  let next: number | null = null
  for (const { number, text } of lines) {
    const last = parts.at(-1)
    if (last && number !== null && number === next) {
      last.numbers += `\n${number}`
      last.text += `\n${text}`
    } else if (number !== null || text.trim()) {
      parts.push({ from: number, numbers: `${number ?? ''}`, text })
    }
    next = number === null ? null : number + 1
  }
  return parts
}

const todoIcons = {
  pending: 'todo',
  in_progress: 'in-progress',
  completed: 'check',
  cancelled: 'close',
} as const

export function Plan({ todos }: { todos: readonly Todo[] }) {
  if (todos.length === 0) return null
  return (
    <ul class="plan">
      {todos.map(({ content, status }, index) => (
        <li key={index} class={`plan-${status}`}>
          <Icon name={todoIcons[status]} />
          <span class="tx-sr">{t(`tool.todo.${status}`)}</span>
          <span dir="auto">{visibleText(content)}</span>
        </li>
      ))}
    </ul>
  )
}

function Matches({ matches, openFile }: { matches: readonly Match[]; openFile: OpenFile }) {
  const more = useShowMore(matches, 25)
  if (matches.length === 0) return <p class="tool-note">{t('note.nothing')}</p>
  return (
    <>
      <ul class="hits">
        {more.visible.map(({ path, line, text }, index) => {
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

/** Text of an entry beyond this is folded. */
const LONG_TEXT = 300

function Items({ items }: { items: readonly Item[] }) {
  const more = useShowMore(items, 12)
  if (items.length === 0) return null
  return (
    <>
      <ul class="result-list">
        {more.visible.map((one, index) => (
          <li key={index}>
            {(one.title || one.note) && (
              <p class="result-name">
                {/^https?:/.test(one.url) ? (
                  <a href={one.url} target="_blank" rel="noopener noreferrer" dir="auto">
                    {visibleText(one.title)}
                  </a>
                ) : (
                  <b dir="auto">{visibleText(one.title)}</b>
                )}{' '}
                {one.note && <span class="result-note">{visibleText(one.note)}</span>}
              </p>
            )}
            {one.text.length > LONG_TEXT ? (
              <details>
                <summary dir="auto">{visibleText(one.text.slice(0, LONG_TEXT).trimEnd())}…</summary>
                <p class="result-text" dir="auto">
                  {visibleText(one.text)}
                </p>
              </details>
            ) : (
              one.text && (
                <p class="result-text" dir="auto">
                  {visibleText(one.text)}
                </p>
              )
            )}
          </li>
        ))}
      </ul>
      {more.button}
    </>
  )
}

const MAX_FIELDS = 40

/** Fields of a result without words of its own; what is nested is folded. */
function Fields({ fields }: { fields: readonly Field[] }) {
  const more = useShowMore(fields, MAX_FIELDS)
  return (
    <>
      <dl class="tool-args">
        {more.visible.map(({ label, value }, index) => (
          <div key={index}>
            <dt>{visibleText(label)}</dt>
            <dd>{isObjectOrArray(value) ? <Nested value={value} /> : scalar(value)}</dd>
          </div>
        ))}
      </dl>
      {more.button}
    </>
  )
}

const scalar = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return t('field.none')
  if (value === true) return t('field.yes')
  if (value === false) return t('field.no')
  return visibleText(`${value as string | number}`)
}

function Nested({ value }: { value: object }) {
  const count = Object.keys(value).length
  if (count === 0) return t('field.none')
  // Names, numbers: a list of them reads like a sentence.
  if (Array.isArray(value) && value.every(one => !isObjectOrArray(one)))
    return listOf(value.map(scalar))
  return (
    <details>
      <summary>{t('field.items', { count })}</summary>
      <pre dir="ltr">
        <CodeText text={visibleText(JSON.stringify(value, null, 2))} label="json" />
      </pre>
    </details>
  )
}
