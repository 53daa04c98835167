/** The dialog that goes to a file of the workspace by parts of its path. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import type { App } from '../../app.ts'
import type { Api } from '../../../router.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { loadLazyCss } from '../../parts/lazy-css.ts'
import { Picker } from '../../parts/picker.tsx'
import { createResponseOrder } from '../../parts/response-order.ts'
import { t } from '../workspace/strings.ts'

type FileMatches = Api['GET /api/files/search']['output']['files']

const MAX_FILES = 30

const FileDialog = ({ app, onClose }: { app: App; onClose: () => void }) => {
  const { query, results, search } = useMemo(() => {
    const results = signal<FileMatches | null>(null)
    const newest = createResponseOrder()
    const search = (q: string) =>
      app.shell.attempt(async () => {
        const isNewest = newest('')
        const session_id = await app.chat.choices.ensureSession()
        const { files } = await app.shell.api('GET /api/files/search', {
          session_id,
          q,
          limit: MAX_FILES,
        })
        if (isNewest()) results.value = files
      })
    return { query: signal(''), results, search }
  }, [])
  useEffect(() => void search(''), [])
  const options = (results.value ?? []).map(({ path, type, ranges }) => ({
    id: path,
    label: path,
    ranges,
    icon: type === 'dir' ? ('folder' as const) : ('file' as const),
  }))
  return (
    <Dialog title={t('file.go')} kind="palette" bare onClose={onClose}>
      <Picker
        label={t('file.go')}
        placeholder={t('file.go')}
        groups={options.length > 0 ? [{ label: t('panel.files'), options }] : []}
        empty={results.value ? t('file.none') : ''}
        query={query}
        onQuery={q => void search(q)}
        onPick={path => {
          onClose()
          const isDirectory = results.value?.some(one => one.path === path && one.type === 'dir')
          app.shell.route.backToChat()
          app.panel.openTarget({ path, line: null, ...(isDirectory && { isDirectory }) })
        }}
      />
    </Dialog>
  )
}

export const openFileDialog = async (app: App): Promise<void> => {
  await loadLazyCss()
  const { overlay } = app.shell.layout
  const close = () => {
    overlay.value = null
  }
  overlay.value = <FileDialog app={app} onClose={close} />
}
