/** Global keyboard shortcuts. The shortcut sheet renders the same table. */
import type { App } from '../../app.ts'
import { may } from '../../parts/may.ts'
import { openOutline, stepRequest } from '../outline/open-outline.ts'
import { chordOf, type KeyLike } from '../shell/keys.ts'
import type { ShortcutKey } from '../shell/shortcut-strings.ts'

export type Shortcut = {
  /** `mod` is ⌘ on a Mac and Ctrl elsewhere. */
  keys: string
  label: ShortcutKey
  /** Absent when the focused view handles it. `'pass'` leaves the event to the browser. */
  run?: (app: App) => unknown
}
export type ShortcutGroup = { label: ShortcutKey; shortcuts: readonly Shortcut[] }

/** The first press opens the find bar, which searches the whole chat; the second opens the browser's own search. */
const find = ({
  chat: { transcript: chat },
  shell: { layout, route },
}: App): 'pass' | undefined => {
  const isOurs = route.current.value.view === 'chat' && chat.chat.value.messages.length > 0
  layout.findOpen.value = isOurs && !layout.findOpen.value
  return layout.findOpen.value ? undefined : 'pass'
}

const late =
  (name: 'reviewChanges' | 'toggleTerminal' | 'openFileDialog') =>
  async (app: App): Promise<void> =>
    (await import('./late-frame.ts')).workspaceKeys[name](app)

export const shortcuts: readonly ShortcutGroup[] = [
  {
    label: 'keys.general',
    shortcuts: [
      {
        keys: 'mod+k',
        label: 'keys.palette',
        run: ({ shell: { layout } }) => (layout.paletteOpen.value = !layout.paletteOpen.value),
      },
      {
        keys: 'mod+shift+o',
        label: 'keys.new',
        run: app => may('POST /api/session/new') && app.pane.newChat(),
      },
      {
        keys: 'mod+b',
        label: 'keys.sidebar',
        run: ({ shell: { layout } }) => layout.toggleSidebar(),
      },
      { keys: 'mod+shift+e', label: 'keys.panel', run: ({ panel }) => panel.toggle() },
      {
        keys: 'mod+shift+g',
        label: 'keys.changes',
        run: late('reviewChanges'),
      },
      {
        keys: 'ctrl+`',
        label: 'keys.terminal',
        run: late('toggleTerminal'),
      },
      {
        keys: 'mod+p',
        label: 'keys.file',
        run: late('openFileDialog'),
      },
      {
        keys: 'mod+,',
        label: 'keys.settings',
        run: ({ shell: { route } }) => route.go({ view: 'settings', section: 'general' }),
      },
      {
        keys: '?',
        label: 'keys.sheet',
        run: ({ shell: { layout } }) => (layout.shortcutsOpen.value = true),
      },
    ],
  },
  {
    label: 'keys.chat',
    shortcuts: [
      {
        keys: 'shift+escape',
        label: 'keys.focus',
        run: ({ shell: { layout } }) => (layout.composerFocus.value += 1),
      },
      {
        keys: 'mod+.',
        label: 'keys.stop',
        run: app => void (may('POST /api/chat/cancel') && app.chat.turns.stop()),
      },
      { keys: 'mod+f', label: 'keys.find', run: app => find(app) },
      { keys: 'mod+j', label: 'keys.outline', run: app => openOutline(app) },
      { keys: 'alt+arrowup', label: 'keys.previous', run: app => stepRequest(app, -1) },
      { keys: 'alt+arrowdown', label: 'keys.next', run: app => stepRequest(app, 1) },
      { keys: 'up', label: 'keys.recall' },
      { keys: '/', label: 'keys.commands' },
      { keys: '@', label: 'keys.mention' },
    ],
  },
  {
    label: 'keys.list',
    shortcuts: [
      {
        keys: 'mod+shift+f',
        label: 'keys.search',
        run: ({ shell: { layout } }) => layout.focusSearch(),
      },
      { keys: 'up / down', label: 'keys.move' },
      // A browser keeps them for its tabs, and leaves them to an installed app.
      { keys: 'mod+1 … 9', label: 'keys.nth' },
      { keys: 'f2', label: 'keys.rename' },
      { keys: 'delete', label: 'keys.delete' },
    ],
  },
]

const findShortcut = (chord: string): Shortcut | undefined =>
  shortcuts.flatMap(group => group.shortcuts).find(({ keys, run }) => run && keys === chord)

/** A chat by its place in the list. */
const openNth = ({ sessions, shell: { route } }: App, nth: number): boolean => {
  const row = sessions.items.value.filter(item => item.kind === 'row')[nth - 1]
  if (row) route.openSession(row.key)
  return row !== undefined
}

/** Runs the shortcut of an event; true when there was one. Shortcuts without a modifier are ignored in text fields. */
export const runShortcut = (
  app: App,
  event: KeyLike,
  { mac, typing }: { mac: boolean; typing: boolean },
): boolean => {
  const chord = chordOf(event, mac)
  const nth = /^mod\+([1-9])$/.exec(chord)?.[1]
  if (nth) return openNth(app, Number(nth))
  const shortcut = findShortcut(chord)
  if (!shortcut?.run || (typing && chord.length === 1)) return false
  return shortcut.run(app) !== 'pass'
}
