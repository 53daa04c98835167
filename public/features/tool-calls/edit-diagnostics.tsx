/** Errors and warnings that an edit caused, below the line of the call. */
import { visibleText } from '../../../lib/base/visible.ts'
import { t } from './edit-diagnostics-strings.ts'
import { parseDiagnostics } from './parse-diagnostics.ts'

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
