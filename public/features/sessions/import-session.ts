/** Imports a session from an exported JSON file; loaded on first use. */
import { isObject } from '../../../lib/base/json.ts'
import { t } from './import-strings.ts'
import type { SessionActionsOptions } from './actions.ts'
import { titleOf } from './sessions.ts'

export type ImportOptions = Pick<SessionActionsOptions, 'shell' | 'sessions' | 'follow'>

/** Throws the server's error. */
export const importSession = async (options: ImportOptions, file: File): Promise<void> => {
  const { shell, sessions } = options
  let body: unknown
  try {
    body = JSON.parse(await file.text())
  } catch {
    // An image, a Markdown export, a truncated file.
    body = null
  }
  if (!isObject(body) || !('messages' in body)) {
    const run = () => shell.route.go({ view: 'settings', section: 'import' })
    return void shell.toasts.show(t('import.failed', { name: file.name }), {
      kind: 'error',
      action: { label: t('import.others'), run },
    })
  }
  const { session } = await shell.api('POST /api/session/import', body)
  sessions.upsert(session)
  options.follow(session.session_id)
  shell.toasts.show(t('import.done', { title: titleOf(session) }))
}
