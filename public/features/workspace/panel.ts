/** The panel on the right: whether it shows, how wide, which tab, and which file the address or a link asked for. */
import { computed, signal } from '@preact/signals'
import type { Platform } from '../../platform.ts'
import type { WorkspacePanel } from './workspace-panel.ts'

export type Tab = 'files' | 'changes'
/** A file of the workspace, and the line that is meant. */
export type Target = { path: string; line: number | null }

export const PANEL_MIN = 280
export const PANEL_MAX = 960
const PANEL_DEFAULT = 360

const clamp = (px: number): number => Math.round(Math.min(PANEL_MAX, Math.max(PANEL_MIN, px)))

/** `src/app.ts:12` as it stands in links and in what tools print. */
export const parseTarget = (text: string): Target => {
  const match = /^(.+?):(\d{1,7})(?::\d+)?$/.exec(text)
  return match ? { path: match[1]!, line: Number(match[2]) } : { path: text, line: null }
}

export const formatTarget = ({ path, line }: Target): string => (line ? `${path}:${line}` : path)

/** The file an address of the page names: `…/session/<id>?file=src/app.ts:12`. */
export const targetOf = (href: string): Target | null => {
  const text = URL.parse(href)?.searchParams.get('file')
  return text ? parseTarget(text) : null
}

/** A path as a tool may write it, as one of the workspace; null when it lies elsewhere. */
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

export const createPanel = ({ device }: Pick<Platform, 'device'>, href: string) => {
  const target = signal<Target | null>(targetOf(href))
  const open = signal(device.read('panel', false) || target.value !== null)
  /** Under 1100 px the panel lies over the conversation, and never opens by itself. */
  const overlay = signal(false)
  const sheet = signal(target.value !== null)
  const width = signal(clamp(device.read('panel-width', PANEL_DEFAULT)))
  const tab = signal<Tab>(device.read<Tab>('panel-tab', 'files'))

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
  const choose = (wanted: Tab): void => {
    tab.value = wanted
    device.write('panel-tab', wanted)
  }
  const shown = computed(() => (overlay.value ? sheet.value : open.value))

  return {
    shown,
    overlay,
    width,
    tab,
    /** The turn that `/rollback` wants undone, the newest being 1. */
    rollback: signal(0),
    /** Set by a link, taken by the preview. */
    target,
    /** Built with the first drawing of the panel, and kept: closing it must not lose what is being edited. */
    contents: signal<WorkspacePanel | null>(null),
    show,
    hide,
    choose,
    toggle: (): void => (shown.value ? hide() : show()),
    openFile(path: string, line: number | null = null): void {
      target.value = { path, line }
      choose('files')
      show()
    },
    /** After back or forward. */
    arrive(at: string): void {
      const found = targetOf(at)
      if (found) target.value = found
      if (found && !overlay.value) open.value = true
    },
    resize(px: number): void {
      width.value = clamp(px)
      device.write('panel-width', width.value)
    },
    resetWidth(): void {
      width.value = PANEL_DEFAULT
      device.write('panel-width', PANEL_DEFAULT)
    },
  }
}

export type Panel = ReturnType<typeof createPanel>
