/** Errors and warnings that an edit caused, below the line of the call. */
import { visibleText } from '../../../lib/base/visible.ts'
import { t } from './edit-diagnostics-strings.ts'
import { parseFields } from './outcome.ts'

type Problem = {
  /** Blank for a line that names no place. */
  path: string
  line: number
  kind: 'error' | 'warning' | null
  text: string
}

const toProblem = (raw: string): Problem => {
  const [, path = '', line = '', kind, text] =
    /^(.+?):(\d+):\d+ (error|warning): (.*)$/s.exec(raw) ?? []
  return text === undefined
    ? { path: '', line: 0, kind: null, text: raw }
    : { path, line: Number(line), kind: kind === 'error' ? 'error' : 'warning', text }
}

export const parseDiagnostics = (content: string): { problems: Problem[]; note: string } => {
  const { diagnostics, diagnostics_note: note } = parseFields(content) ?? {}
  return {
    problems: Array.isArray(diagnostics) ? diagnostics.map(String).map(toProblem) : [],
    note: typeof note === 'string' ? note : '',
  }
}

type Props = {
  content: string
  openFile: ((path: string, line?: number) => void) | undefined
}

export function EditDiagnostics({ content, openFile }: Props) {
  const { problems, note } = parseDiagnostics(content)
  if (problems.length === 0 && note === '') return null
  return (
    <ul class="hook-notes edit-diagnostics" aria-label={t('diagnostics.list')}>
      {problems.map(({ path, line, kind, text }, index) => (
        <li key={index}>
          {kind && <b class={`problem-${kind}`}>{t(`diagnostics.${kind}`)}</b>}{' '}
          {path && openFile && (
            <button type="button" class="tx-link" onClick={() => openFile(path, line)}>
              {visibleText(path)}:{line}
            </button>
          )}
          {path && !openFile && `${visibleText(path)}:${line}`}{' '}
          <span dir="auto">{visibleText(text)}</span>
        </li>
      ))}
      {note && <li dir="auto">{visibleText(note)}</li>}
    </ul>
  )
}
