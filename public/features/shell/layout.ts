/** What lies open on the page: sidebar, drawer, palette, sheets, pickers, the one question to the person. */
import { signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'

export type Confirmation = {
  title: string
  text: string
  confirm: string
  danger?: boolean
  run: () => void | Promise<void>
}
export type Picker = 'model' | 'workspace' | 'personality' | 'effort'

export const SIDEBAR_MIN = 220
export const SIDEBAR_MAX = 440
const SIDEBAR_DEFAULT = 272

const clamp = (px: number): number => Math.round(Math.min(SIDEBAR_MAX, Math.max(SIDEBAR_MIN, px)))

export const createLayout = ({ device }: Pick<Platform, 'device'>, mac = false) => {
  const sidebar = signal(device.read('sidebar', true))
  const width = signal(clamp(device.read('sidebar-width', SIDEBAR_DEFAULT)))
  const drawer = signal(false)
  const narrow = signal(false)

  const open = (): void => {
    if (narrow.value) drawer.value = true
    else sidebar.value = true
  }
  /** Counts up: the search field takes the focus. */
  const searchFocus = signal(0)

  return {
    /** Shortcuts are written with ⌘. */
    mac,
    sidebar,
    width,
    /** The sidebar of a narrow page, which lies over the conversation. */
    drawer,
    narrow,
    paletteOpen: signal(false),
    shortcutsOpen: signal(false),
    /** Words are looked for in the conversation that is open. */
    findOpen: signal(false),
    picker: signal<Picker | null>(null),
    confirmation: signal<Confirmation | null>(null),
    /** The conversation whose title is being edited in the list. */
    renamingRow: signal<string | null>(null),
    /** The conversation that gets the focus back when its title has been edited. */
    refocusRow: signal<string | null>(null),
    /** What is being edited in a view and would be lost with the page. */
    unsaved: new Set<string>(),
    /** Counts up: whoever shows the message box takes the focus. */
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
