/** Command palette (⌘K): chats, files, settings, actions and everything else that has a name. */
import { signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { takeHeldKeys } from '../shell/held-keys.tsx'
import { Picker } from '../../parts/picker.tsx'
import { useApp } from '../shell/context.ts'
import { localEntries } from './local-entries.ts'
import { loadEntries, searchServer } from './remote-entries.ts'
import { PaletteSearch, type Entry } from './search-palette.ts'
import { t } from './strings.ts'

export const Palette = () => {
  const app = useApp()
  const search = useMemo(() => {
    const loaded = signal<readonly Entry[]>([])
    void loadEntries(app).then(entries => {
      loaded.value = entries
    })
    return new PaletteSearch({
      platform: app.shell.platform,
      local: () => [...localEntries(app), ...loaded.value],
      remote: (query, wanted) => searchServer(app, query, wanted),
      recentLabel: t('palette.recent'),
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
  const note = search.busy.value ? 'palette.searching' : search.failed.value && 'palette.failed'
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
