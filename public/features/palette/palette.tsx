/** Command palette (⌘K): chats, files, settings, actions and everything else that has a name. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { takeHeldKeys } from '../shell/held-keys.tsx'
import { Picker } from '../../parts/picker.tsx'
import type { App } from '../../app.ts'
import { useApp } from '../shell/context.ts'
import { localEntries } from './local-entries.ts'
import { loadEntries, searchServer } from './remote-entries.ts'
import { PaletteSearch, type PaletteEntry } from './search-palette.ts'
import { t } from './strings.ts'

/** Enter goes back to the chat that was open before; the open one needs no entry. */
const chatBefore = ({ sessions, shell: { route } }: App) => {
  const open = route.sessionId.value
  const id =
    route.previous.value ??
    sessions.profileRows.value.find(row => row.session_id !== open && !row.archived)?.session_id
  return { id: id ? `chat:${id}` : null, without: open ? `chat:${open}` : null }
}

export const Palette = () => {
  const app = useApp()
  const search = useMemo(() => {
    const list = signal<readonly PaletteEntry[]>([])
    void loadEntries(app).then(entries => {
      list.value = entries
    })
    return new PaletteSearch({
      platform: app.shell.platform,
      local: () => [...localEntries(app), ...list.value],
      remote: (query, signal) => searchServer(app, query, signal),
      recentLabel: t('palette.recent'),
      first: () => chatBefore(app),
    })
  }, [])
  useEffect(() => {
    const typed = takeHeldKeys()
    if (typed) search.set(typed)
    return search.close
  }, [])
  const close = () => {
    app.shell.layout.paletteOpen.value = false
  }
  const query = search.query.value
  const note = search.busy.value ? 'palette.searching' : search.hasFailed.value && 'palette.failed'
  return (
    <Dialog title={t('palette.label')} kind="palette" bare onClose={close}>
      <Picker
        label={t('palette.label')}
        placeholder={t('palette.placeholder')}
        groups={search.sections.value.map(({ label, entries }) => ({ label, options: entries }))}
        empty={search.busy.value ? '' : t('palette.none', { query: query.trim() })}
        note={note ? t(note) : ''}
        query={search.query}
        onQuery={search.set}
        onPick={(id, isAside) => {
          close()
          void app.shell.attempt(async () => search.pick(id, isAside))
        }}
      />
    </Dialog>
  )
}
