/** The layout of the workspace panel: visibility, width, tab, and the file requested by a link or the URL. */
import { computed, signal } from '@preact/signals'
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
export const createChatPanel = () => ({
  /** Set by a link, consumed by the panel's contents. */
  target: signal<Target | null>(null),
  /** The earlier step whose files are shown instead of a tab. */
  past: signal<Past | null>(null),
  /** The turn `/rollback` should undo, 1 being the newest; 0 for none. */
  rollback: signal(0),
  /** Created when it is first needed, by the panel or by a summary in the transcript. */
  turns: signal<TurnChanges | null>(null),
  /** Created when it is first shown, with a session, and kept, so that leaving the chat loses nothing. */
  contents: signal<WorkspacePanel | null>(null),
})

export type ChatPanel = ReturnType<typeof createChatPanel>

/** The panel of a pane. */
export const createPanelFrame = ({ device }: Pick<Platform, 'device'>, href: string) => {
  const isNamed = targetOf(href) !== null
  const open = signal(device.read('panel', false) || isNamed)
  /** Under 1100 px the panel is an overlay and never opens by itself. */
  const overlay = signal(false)
  const sheet = signal(isNamed)
  const width = signal(clamp(device.read('panel-width', PANEL_DEFAULT)))
  // A file that the URL names is shown whatever tab was open last.
  const tab = signal<Tab>(isNamed ? 'files' : device.read<Tab>('panel-tab', 'files'))

  const show = (): void => {
    if (overlay.value) sheet.value = true
    else {
      open.value = true
      device.write('panel', true)
    }
  }
  const hide = (): void => {
    sheet.value = false
    if (overlay.value) return
    open.value = false
    device.write('panel', false)
  }
  const shown = computed(() => (overlay.value ? sheet.value : open.value))

  return {
    shown,
    overlay,
    width,
    tab,
    show,
    hide,
    choose(wanted: Tab): void {
      tab.value = wanted
      device.write('panel-tab', wanted)
    },
    toggle: (): void => (shown.value ? hide() : show()),
    /** The open file covers the page. */
    full: signal(false),
    resize(px: number): void {
      width.value = clamp(px)
      device.write('panel-width', width.value)
    },
    /** Half of the window, or the usual width again. Not remembered. */
    widen(windowPx: number): void {
      const wide = clamp(windowPx / 2)
      width.value = width.value < wide ? wide : clamp(device.read('panel-width', PANEL_DEFAULT))
    },
    resetWidth(): void {
      width.value = PANEL_DEFAULT
      device.write('panel-width', PANEL_DEFAULT)
    },
  }
}

export type PanelFrame = ReturnType<typeof createPanelFrame>

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
