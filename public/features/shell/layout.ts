/** Open state of the sidebar, drawer, palette, dialogs and pickers. */
import type { ComponentType } from 'preact'
import { computed, signal } from '@preact/signals'
import type { VNode } from 'preact'
import type { Platform } from '../../platform.ts'

export type Confirmation = {
  title: string
  text: string
  confirm: string
  danger?: boolean
  /** Shown below the text. */
  detail?: ComponentType
  run: () => void | Promise<void>
}
export type Picker = 'model' | 'workspace' | 'personality' | 'effort'

export const SIDEBAR_MIN = 220
export const SIDEBAR_MAX = 440
const SIDEBAR_DEFAULT = 272

const clamp = (px: number): number => Math.round(Math.min(SIDEBAR_MAX, Math.max(SIDEBAR_MIN, px)))

export const createLayout = ({ device }: Platform, mac = false) => {
  const sidebar = signal(device.read('sidebar', true))
  const width = signal(clamp(device.read('sidebar-width', SIDEBAR_DEFAULT)))
  const drawer = signal(false)
  const narrow = signal(false)
  const tight = signal(false)

  const open = (): void => {
    if (narrow.value) drawer.value = true
    else sidebar.value = true
  }
  /** The terminal dock below the page. `asked`: a shell is opened where there is none; merely being open starts none. */
  const dock = signal<'closed' | 'open' | 'asked'>(device.read('dock', false) ? 'open' : 'closed')
  /** Incremented to focus the search field. */
  const searchFocus = signal(0)

  return {
    /** Shortcuts are shown with ⌘. */
    mac,
    sidebar,
    width,
    /** Whether the sidebar of a narrow page covers the chat. */
    drawer,
    narrow,
    /** The page is too narrow for two chats side by side. */
    tight,
    /** Whether the sidebar, or the drawer of a narrow page, is shown. */
    sidebarShown: computed(() => (narrow.value ? drawer.value : sidebar.value)),
    paletteOpen: signal(false),
    shortcutsOpen: signal(false),
    /** Whether the find bar is open. */
    findOpen: signal(false),
    dock,
    setDock(next: typeof dock.value): void {
      dock.value = next
      device.write('dock', next !== 'closed')
    },
    /** A dialog of a lazily loaded feature. */
    overlay: signal<VNode | null>(null),
    picker: signal<Picker | null>(null),
    confirmation: signal<Confirmation | null>(null),
    /** Session whose title is being edited in the list. */
    renamingRow: signal<string | null>(null),
    /** Session that gets the focus back after its title was edited. */
    refocusRow: signal<string | null>(null),
    /** Views with unsaved changes, which leaving the page would discard. */
    unsaved: new Set<string>(),
    composerId: 'composer',
    /** Closes this chat while another one is beside it. */
    closeSide: signal<(() => void) | null>(null),
    /** Incremented to focus the composer. */
    composerFocus: signal(0),
    searchFocus,
    focusSearch(): void {
      open()
      searchFocus.value += 1
    },
    toggleSidebar(): void {
      if (narrow.value) {
        drawer.value = !drawer.value
        return
      }
      sidebar.value = !sidebar.value
      device.write('sidebar', sidebar.value)
    },
    resize(px: number): void {
      width.value = clamp(px)
      device.write('sidebar-width', width.value)
    },
    resetWidth(): void {
      width.value = SIDEBAR_DEFAULT
      device.write('sidebar-width', SIDEBAR_DEFAULT)
    },
  }
}

export type Layout = ReturnType<typeof createLayout>
