/** The layout of the workspace panel: visibility, width, tab, and the file requested by a link or the URL. */
import { computed, signal, type Signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'
import type { Past } from '../time-travel/points.ts'
import type { TurnChanges } from './turn-changes.ts'
import type { WorkspacePanel } from './workspace-panel.ts'

export type Tab = 'files' | 'changes' | 'terminal'
/** A path in the workspace, and a line or lines to mark. */
export type Target = {
  path: string
  line: number | null
  endLine?: number | null
  /** It is shown in the tree. */
  isDirectory?: boolean
  /** Text of an answer to show under this name, instead of a file. */
  text?: string
}

export const PANEL_MIN = 280
export const PANEL_MAX = 960
const PANEL_DEFAULT = 360

const clamp = (px: number): number => Math.round(Math.min(PANEL_MAX, Math.max(PANEL_MIN, px)))

/** Parses `src/app.ts:12` and `src/app.ts:12-20`, also with a column. */
export const parseTarget = (text: string): Target => {
  const match = /^(.+?):(\d{1,7})(?:-(\d{1,7})|:\d+)?$/.exec(text)
  if (!match) return { path: text, line: null }
  const place = { path: match[1]!, line: Number(match[2]) }
  return match[3] === undefined ? place : { ...place, endLine: Number(match[3]) }
}

export const formatTarget = ({ path, line, endLine }: Target): string =>
  line ? `${path}:${line}${endLine ? `-${endLine}` : ''}` : path

/** The file named by a URL of the page: `…/session/<id>?file=src/app.ts:12`. */
export const targetOf = (href: string): Target | null => {
  const text = URL.parse(href)?.searchParams.get('file')
  return text ? parseTarget(text) : null
}

/** A tool's path relative to the workspace; null when it is outside. */
export const insideWorkspace = (workspace: string, path: string): string | null => {
  const root = workspace.replace(/\/+$/, '')
  const rest = path.startsWith('/')
    ? path === root
      ? ''
      : path.startsWith(`${root}/`)
        ? path.slice(root.length + 1)
        : null
    : path
  if (rest === null || rest.startsWith('~')) return null
  const parts = rest.split('/').filter(part => part && part !== '.')
  return parts.includes('..') ? null : parts.join('/')
}

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
  readonly #platform: Pick<Platform, 'device'>
  readonly #isNamed: boolean
  readonly #open: Signal<boolean>
  /** Under 1100 px the panel is an overlay and never opens by itself. */
  readonly overlay = signal(false)
  readonly #sheet: Signal<boolean>
  readonly width: Signal<number>
  // A file that the URL names is shown whatever tab was open last.
  readonly tab: Signal<Tab>
  readonly shown = computed(() => (this.overlay.value ? this.#sheet.value : this.#open.value))
  /** The open file covers the page. */
  readonly full = signal(false)

  constructor(platform: Pick<Platform, 'device'>, href: string) {
    const { device } = platform
    this.#platform = platform
    this.#isNamed = targetOf(href) !== null
    this.#open = signal(device.read('panel', false) || this.#isNamed)
    this.#sheet = signal(this.#isNamed)
    this.width = signal(clamp(device.read('panel-width', PANEL_DEFAULT)))
    this.tab = signal<Tab>(this.#isNamed ? 'files' : device.read<Tab>('panel-tab', 'files'))
  }

  readonly show = (): void => {
    if (this.overlay.value) this.#sheet.value = true
    else {
      this.#open.value = true
      this.#platform.device.write('panel', true)
    }
  }

  readonly hide = (): void => {
    this.#sheet.value = false
    if (this.overlay.value) return
    this.#open.value = false
    this.#platform.device.write('panel', false)
  }

  readonly choose = (wanted: Tab): void => {
    this.tab.value = wanted
    this.#platform.device.write('panel-tab', wanted)
  }

  readonly toggle = (): void => (this.shown.value ? this.hide() : this.show())

  readonly resize = (px: number): void => {
    this.width.value = clamp(px)
    this.#platform.device.write('panel-width', this.width.value)
  }

  /** Half of the window, or the usual width again. Not remembered. */
  readonly widen = (windowPx: number): void => {
    const wide = clamp(windowPx / 2)
    this.width.value =
      this.width.value < wide
        ? wide
        : clamp(this.#platform.device.read('panel-width', PANEL_DEFAULT))
  }

  readonly resetWidth = (): void => {
    this.width.value = PANEL_DEFAULT
    this.#platform.device.write('panel-width', PANEL_DEFAULT)
  }
}

/** The panel of a pane as one chat uses it. */
export const panelOf = (frame: PanelFrame, chat: ChatPanel) => {
  const choose = (wanted: Tab): void => {
    frame.choose(wanted)
    chat.past.value = null
  }
  const openTarget = (wanted: Target): void => {
    chat.target.value = wanted
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
      const found = targetOf(at)
      if (found) chat.target.value = found
      if (found && !frame.overlay.value) frame.show()
    },
  }
}

export type Panel = ReturnType<typeof panelOf>
