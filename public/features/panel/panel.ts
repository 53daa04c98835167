/** The layout of the workspace panel: visibility, width, tab, and the file requested by a link or the URL. */
import { computed, signal, type Signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'
import type { Past } from '../time-travel/points.ts'
import { type Target, targetOf } from '../../parts/target.ts'
import type { TurnChanges } from '../workspace/turn-changes.ts'
import type { WorkspacePanel } from './workspace-panel.ts'

export type Tab = 'files' | 'changes'
export const PANEL_MIN = 280
export const PANEL_MAX = 960
const PANEL_DEFAULT = 360

const clamp = (px: number): number => Math.round(Math.min(PANEL_MAX, Math.max(PANEL_MIN, px)))

/** What the panel holds of one chat. */
export class ChatPanel {
  /** Set by a link, consumed by the panel's contents. */
  readonly target = signal<Target | null>(null)
  /** The earlier step whose files are shown instead of a tab. */
  readonly past = signal<Past | null>(null)
  /** The turn `/rollback` should undo, 1 being the newest; 0 for none. */
  readonly rollback = signal(0)
  /** Created when it is first needed, by the panel or by a summary in the transcript. */
  readonly turns = signal<TurnChanges | null>(null)
  /** Created when it is first shown, with a session, and kept, so that leaving the chat loses nothing. */
  readonly contents = signal<WorkspacePanel | null>(null)
}

/** The panel of a pane. */
export class PanelFrame {
  readonly #platform: Platform
  readonly #isNamed: boolean
  readonly #open: Signal<boolean>
  /** Under 1100 px the panel is an overlay and never opens by itself. */
  readonly overlay = signal(false)
  readonly #sheet: Signal<boolean>
  readonly width: Signal<number>
  // A file that the URL names is shown whatever tab was open last.
  readonly tab: Signal<Tab>
  readonly isShown = computed(() => (this.overlay.value ? this.#sheet.value : this.#open.value))
  /** The sheet takes the place of the chat. Not remembered. */
  readonly full = signal(false)
  /** What had the focus before the sheet covered the page, which takes it away before the sheet is loaded. */
  readonly opener = signal<Element | null>(null)
  /** The message of the commit is to get the cursor. */
  readonly commitFocus = signal(0)

  constructor(platform: Platform, href: string) {
    const { device } = platform
    this.#platform = platform
    this.#isNamed = targetOf(href) !== null
    this.#open = signal(device.read('panel', false) || this.#isNamed)
    this.#sheet = signal(this.#isNamed)
    this.width = signal(clamp(device.read('panel-width', PANEL_DEFAULT)))
    const last = device.read<string>('panel-tab', 'files')
    this.tab = signal<Tab>(!this.#isNamed && last === 'changes' ? 'changes' : 'files')
  }

  readonly show = (): void => {
    if (this.overlay.value) {
      this.opener.value = globalThis.document?.activeElement ?? null
      this.#sheet.value = true
    } else {
      this.#open.value = true
      this.#platform.device.write('panel', true)
    }
  }

  readonly hide = (): void => {
    this.#sheet.value = false
    this.full.value = false
    if (this.overlay.value) return
    this.#open.value = false
    this.#platform.device.write('panel', false)
  }

  readonly choose = (tab: Tab): void => {
    this.tab.value = tab
    this.#platform.device.write('panel-tab', tab)
  }

  readonly toggle = (): void => (this.isShown.value ? this.hide() : this.show())

  readonly resize = (px: number): void => {
    this.width.value = clamp(px)
    this.#platform.device.write('panel-width', this.width.value)
  }

  readonly resetWidth = (): void => {
    this.width.value = PANEL_DEFAULT
    this.#platform.device.write('panel-width', PANEL_DEFAULT)
  }
}

/** The panel of a pane as one chat uses it. */
export const panelOf = (frame: PanelFrame, chat: ChatPanel) => {
  const choose = (tab: Tab): void => {
    frame.choose(tab)
    chat.past.value = null
  }
  const openTarget = (target: Target): void => {
    chat.target.value = target
    choose('files')
    frame.show()
  }
  return {
    ...frame,
    ...chat,
    choose,
    openTarget,
    openFile: (path: string, line: number | null = null): void => openTarget({ path, line }),
    /** The address names a file, on a load, or after back or forward. */
    arrive(at: string): void {
      const target = targetOf(at)
      if (target) chat.target.value = target
      if (target && !frame.overlay.value) frame.show()
    },
  }
}

export type Panel = ReturnType<typeof panelOf>
